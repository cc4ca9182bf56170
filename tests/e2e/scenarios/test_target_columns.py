"""Columns that a target has under other names, unreadable or not at all, by kind of source."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping
from typing import Any

import pytest

from tests.e2e.scenarios.test_schema_changes import FAMILIES
from tests.support.altered import AlteredTable, Row
from tests.support.altered_stream import begin, opened, send
from tests.support.records import canal_message, ticdc_watermark
from tests.support.stack import Stream
from tidemark.errors import TableStoppedError
from tidemark.runs.world import World

RULES = {
    "exclude": ["secret"],
    "rename": {"id": "item_id", "name": "title", "secret2": "name"},
    "hash": ["mail", "visits"],
    "redact": ["note"],
}
TABLES = ("items", "orders")
JOINED = {
    "secret": ("varchar(20)", "s"),
    "secret2": ("varchar(20)", "t"),
    "mail": ("varchar(20)", "m@n"),
    "visits": ("int", 7),
    "note": ("varchar(20)", "x"),
}


def ruled(row: Row) -> dict[str, Any]:
    """What the target has of a row of the source."""

    def digest(value: object) -> str | None:
        return None if value is None else hashlib.sha256(str(value).encode()).hexdigest()

    seen = {name: value for name, value in row.items() if name != "secret"}
    seen |= {name: digest(row[name]) for name in ("mail", "visits") if name in row}
    seen |= {"note": None} if "note" in row else {}
    names = RULES["rename"]
    assert isinstance(names, dict)
    return {names.get(name, name): value for name, value in seen.items()}


def expected(table: AlteredTable) -> dict[int, Row]:
    return {number: ruled(row) for number, row in table.rows.items()}


def published(stream: Stream) -> dict[int, Row]:
    return {
        row["item_id"]: {n: v for n, v in row.items() if not n.startswith("_tidemark_")}
        for row in stream.published()
    }


def with_columns(world: World, family: str) -> tuple[Stream, AlteredTable]:
    """A table with a column for each rule, and rows older and younger than the columns."""
    stream, table = opened(world, family)
    begin(table)
    for name, (kind, backfill) in JOINED.items():
        literal = f"'{backfill}'" if isinstance(backfill, str) else backfill
        table.alter(
            f"ADD COLUMN {name} {kind} NOT NULL DEFAULT {literal}", added={name: (kind, backfill)}
        )
        table.put(len(table.rows) + 1, name="later")
    stream.table = {"target-columns": RULES}
    return stream, table


def change(table: AlteredTable, rng: random.Random) -> None:
    number = rng.randint(1, 12)
    if number in table.rows and rng.random() < 0.25:
        table.delete(number)
        return
    texts = {name: rng.choice(("", "é", "it's", None)) for name in table.columns}
    numbers = {"visits": rng.choice((0, -5, None))}
    values = texts | numbers | ({"joined": rng.randint(1, 9)} if "joined" in texts else {})
    table.put(number, **{name: v for name, v in values.items() if name != "id"})


def test_random_histories(world: World, seed: int) -> None:
    """Rules hold for rows of all ages, in cuts anywhere, also for records that were sent again."""
    rng = random.Random(f"target columns {seed}")  # noqa: S311  repeatable, not secret
    stream, table = with_columns(world, FAMILIES[(seed + 1) % len(FAMILIES)])
    start = 0
    for number in range(24):
        if number == 12:
            table.alter("ADD COLUMN joined int", added={"joined": ("int", None)})
        change(table, rng)
        if number % 6 < 5:
            continue
        again = table.sent[-3:] if rng.random() < 0.5 else []
        send(stream, [*table.sent[start:], *again], table)
        start = len(table.sent)
        stream.cut()
        assert published(stream) == expected(table), f"change {number}"


@pytest.mark.smoke
def test_what_a_rule_hides_never_comes_out_by_another_name(world: World) -> None:
    """SCHEMA-30: a source column that moves stops its table until the file knows its new name."""
    stream, table = with_columns(world, "ticdc")
    send(stream, table.sent, table)
    stream.cut()
    start = len(table.sent)
    table.alter("RENAME COLUMN secret TO hidden", renamed={"secret": "hidden"})
    table.put(1, hidden="never", name="now")
    send(stream, table.sent[start:], table)
    with pytest.raises(TableStoppedError, match="secret, which the file names, is called hidden"):
        stream.cut()
    stream.table = {"target-columns": {**RULES, "exclude": ["hidden"]}}
    stream.cut()
    assert published(stream)[1]["title"] == "now"
    assert not {"hidden", "secret"} & published(stream)[1].keys()


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ({"hash": ["emial"]}, "no column emial, for which there is a rule"),
        ({"redact": ["id"]}, "column id is part of its key"),
        ({"rename": {"note": "MAIL"}}, "columns mail and note are both called MAIL"),
    ],
)
def test_a_rule_that_cannot_be_kept_stops_its_table(
    world: World, rules: dict[str, Any], why: str
) -> None:
    stream, table = with_columns(world, "debezium with schemas")
    stream.table = {"target-columns": rules}
    send(stream, table.sent, table)
    with pytest.raises(TableStoppedError, match=why):
        stream.cut()
    assert not world.catalog.table_exists((stream.name, "items"))


def test_rules_that_change(world: World) -> None:
    """A name and a column that goes are followed; values that are not there are not made up."""
    stream, table = with_columns(world, "canal")
    send(stream, table.sent, table)
    stream.cut()
    before = published(stream)
    for rules, why in (
        ({**RULES, "exclude": []}, "secret was left out so far"),
        ({**RULES, "hash": ["mail"]}, "visits is to be hashed or redacted otherwise"),
    ):
        stream.table = {"target-columns": rules}
        table.put(1, name=why)
        send(stream, table.sent[-1:], table)
        with pytest.raises(TableStoppedError, match=why):
            stream.cut()
        assert published(stream) == before
    stream.table = {
        "target-columns": {
            **RULES,
            "exclude": ["secret", "note"],
            "redact": [],
            "rename": {"id": "item_id", "name": "caption"},
        }
    }
    stream.cut()
    row = published(stream)[1]
    assert row["caption"] == table.rows[1]["name"]
    assert row["secret2"] == table.rows[1]["secret2"]
    assert not {"note", "title", "name"} & row.keys()


@pytest.mark.parametrize("rules", [{"exclude": ["{}"]}, {"rename": {"{}": "place"}}])
@pytest.mark.parametrize("name", ["_pos", "_FILE"])
def test_a_column_called_as_one_of_iceberg_stops_its_table_alone(
    world: World, name: str, rules: Mapping[str, Any]
) -> None:
    """Until the file leaves it out or gives it another name; rows without it came before."""
    items, orders = ({"source": f"shop.{of}", "expectations": "none"} for of in TABLES)
    by_table = {"publish": {"consistency": "table"}}
    stream = Stream(world, options={"tables": [items, orders], **by_table}).create()

    def send_rows(number: int, *columns: str) -> None:
        for table in TABLES:
            more = columns if table == "items" else ()
            row = canal_message(
                "INSERT",
                tidb={"commitTs": number * 100},
                table=table,
                pkNames=["id"],
                sqlType={"id": -5, **dict.fromkeys(more, 12)},
                mysqlType={"id": "bigint", **dict.fromkeys(more, "text")},
                data=[{"id": str(number), **dict.fromkeys(more, "x")}],
            )
            stream.send([row])
        stream.send([ticdc_watermark(number * 100 + 50)])

    def places(table: str) -> dict[int, str | None]:
        rows = world.catalog.load_table((stream.name, table)).scan().to_arrow().to_pylist()
        return {row["id"]: row.get("place") for row in rows}

    send_rows(1)
    assert stream.cut().stopped == {}
    for number in (2, 3):
        send_rows(number, name)
        result = stream.cut()
        assert list(result.stopped) == ["shop.items"]
        why = result.stopped["shop.items"]
        assert f"the column {name} is called as Iceberg calls one" in why
        assert "give it another name, or leave it out: target-columns: of the table" in why
        assert places("items") == {1: None}
        assert places("orders") == dict.fromkeys(range(1, number + 1))

    ruled = {**items, "target-columns": json.loads(json.dumps(rules).replace("{}", name))}
    stream.options = {"tables": [ruled, orders], **by_table}
    assert stream.cut().stopped == {}
    value = "x" if "rename" in rules else None
    assert places("items") == {1: None, 2: value, 3: value}
