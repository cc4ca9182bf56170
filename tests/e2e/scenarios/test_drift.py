"""PostgreSQL's columns that change without a statement, through whole cuts."""

from __future__ import annotations

import base64
import json
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from tests.support.records import Record, postgres_row
from tests.support.stack import Stream
from tidemark.errors import TableStoppedError
from tidemark.model.names import quote
from tidemark.model.result import CutStatus
from tidemark.runs.status import pipeline_status
from tidemark.runs.world import World

MOMENT = datetime(2026, 4, 1, 12, 30, 15, 250_000)  # noqa: DTZ001  a wall-clock time
MILLIS = 1_775_046_615_250
FEW, MANY = 5, 12
SMALL, LARGE = Decimal("-999.99"), Decimal("9999999999.99")
NEW = [(2, LARGE), (3, Decimal("-0.01"))]
FORMS: dict[str, Any] = {
    "MicroTimestamp": MILLIS * 1000,
    "Timestamp": MILLIS,
    "MicroDuration": 3_600_000_000,
    "Interval": "PT1H",
}


def with_schema(plain: Record, *fields: dict[str, Any]) -> Record:
    """``plain`` with the schema that tells its columns; fields: of those beside id and name."""
    every = [
        {"type": "int32", "optional": False, "field": "id"},
        {"type": "string", "optional": True, "field": "name"},
        *fields,
    ]
    images = [
        {"type": "struct", "fields": every, "optional": True, "field": image}
        for image in ("before", "after")
    ]
    value = {
        "schema": {"type": "struct", "fields": images, "optional": False},
        "payload": json.loads(plain.value or b""),
    }
    return Record(json.dumps(value).encode(), plain.key)


def priced(op: str, number: int, lsn: int, precision: int, price: Decimal) -> Record:
    """A row with a ``numeric(precision,2)``, and an array of such beside an array of integers.

    The integers are an ``integer[]`` as long as the numbers have five digits.
    """
    unscaled = int(price.scaleb(2))
    raw = unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
    cents = base64.b64encode(raw).decode()
    values: dict[str, Any] = {"price": cents, "prices": [cents, None], "counts": [unscaled]}
    numeric = {
        "type": "bytes",
        "optional": True,
        "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": "2", "connect.decimal.precision": str(precision)},
    }
    whole = {"type": "int32" if precision == FEW else "int64", "optional": True}
    return with_schema(
        postgres_row(op, number, (lsn, lsn + 1), **values),
        numeric | {"field": "price"},
        {"type": "array", "items": numeric, "optional": True, "field": "prices"},
        {"type": "array", "items": whole, "optional": True, "field": "counts"},
    )


def stamped(op: str, number: int, lsn: int, form: str) -> Record:
    """A row with its schema, and a time in the column ``at``, written as ``form`` is."""
    plain = postgres_row(op, number, (lsn, lsn + 1), at=FORMS[form])
    kind = "string" if isinstance(FORMS[form], str) else "int64"
    at = {"type": kind, "optional": True, "name": f"io.debezium.time.{form}", "field": "at"}
    return with_schema(plain, at)


def times(stream: Stream, target: str = "items") -> dict[int, Any]:
    rows = stream.world.catalog.load_table((stream.name, target)).scan().to_arrow().to_pylist()
    return {row["id"]: row["at"] for row in rows}


MILLIS_BY_SETTING = {"modes": {"time": "connect"}}
"""By the file the connector writes all times in milliseconds from some record on."""


@pytest.mark.smoke
def test_a_time_is_read_in_the_form_of_its_records(world: World) -> None:
    """SCHEMA-4, SCHEMA-5: also where a delete comes with an older schema behind it."""
    stream = Stream(
        world, format="debezium-postgres", gate="none", source=MILLIS_BY_SETTING
    ).create()
    stream.send([stamped("c", number, 100 * number, "MicroTimestamp") for number in (1, 2)])
    stream.cut()
    stream.send([stamped("c", 3, 300, "Timestamp"), stamped("d", 1, 400, "MicroTimestamp")])
    stream.cut()
    assert times(stream) == {2: MOMENT, 3: MOMENT}


def test_each_record_of_a_cut_is_read_by_its_own_schema(world: World) -> None:
    """SCHEMA-4: also where the older form comes again, and rows are found by such a key."""
    for key in (["id"], ["id", "at"]):
        stream = Stream(
            *(world, 1, "debezium-postgres", "none"),
            table={"key": key},
            source=MILLIS_BY_SETTING,
        ).create()
        micros, millis = "MicroTimestamp", "Timestamp"
        stream.send(
            [
                stamped("c", 1, 100, micros),
                stamped("c", 2, 200, millis),
                stamped("c", 3, 300, micros),
                stamped("d", 3, 400, millis),
            ]
        )
        stream.cut()
        assert times(stream) == {1: MOMENT, 2: MOMENT}
        stream.send(
            [
                stamped("c", 4, 500, micros),
                stamped("d", 2, 600, micros),
                stamped("u", 1, 700, millis),
            ]
        )
        stream.cut()
        assert times(stream) == {1: MOMENT, 4: MOMENT}


def test_a_time_with_fewer_digits_stops_its_table(world: World) -> None:
    """SCHEMA-16: the source rounded its rows, unless the file says who writes it so."""
    stream = Stream(world, format="debezium-postgres", gate="none").create()
    stream.send([stamped("c", number, 100 * number, "MicroTimestamp") for number in (1, 2)])
    stream.cut()
    stream.send([stamped("c", 3, 300, "Timestamp")])
    for _ in range(2):
        with pytest.raises(TableStoppedError, match="may have rounded the rows that are there"):
            stream.cut()
    assert times(stream) == {1: MOMENT, 2: MOMENT}
    stream.source = MILLIS_BY_SETTING
    stream.cut()
    assert times(stream) == {1: MOMENT, 2: MOMENT, 3: MOMENT}


def test_a_form_that_no_type_of_the_target_fits_has_a_way_out(world: World) -> None:
    """SCHEMA-4, SCHEMA-1: both forms wait, and are read as text in another target."""
    stream = Stream(world, format="debezium-postgres", gate="none").create()
    stream.send([stamped("c", 1, 100, "MicroDuration")])
    stream.cut()
    stream.send([stamped("c", 2, 200, "MicroDuration"), stamped("c", 3, 300, "Interval")])
    with pytest.raises(TableStoppedError, match="declare at: text in columns: of shop.items"):
        stream.cut()
    assert list(times(stream)) == [1]
    stream.table = {"columns": {"at": "text"}, "target": "things"}
    stream.cut()
    assert times(stream, "things") == {2: "3600000000", 3: "PT1H"}


def test_a_declared_type_that_records_do_not_hold_stops_the_table(world: World) -> None:
    """SCHEMA-1: nothing of it is published; the right one is."""
    table = {"columns": {"at": "date"}}
    stream = Stream(world, format="debezium-postgres", gate="none", table=table).create()
    stream.send([stamped("c", 1, 100, "Timestamp")])
    with pytest.raises(TableStoppedError, match="declares at as date, and the stream tells io"):
        stream.cut()
    assert not world.catalog.table_exists((stream.name, "items"))
    stream.table = {"columns": {"at": "timestamp", "id": "bigint"}}
    stream.cut()
    assert times(stream) == {1: MOMENT}
    found = world.catalog.load_table((stream.name, "items")).schema()
    assert str(found.find_type("id")) == "long"


@pytest.mark.parametrize("cuts", [1, 2])
@pytest.mark.parametrize("key", [["id"], ["id", "price"]])
def test_numbers_get_more_digits(world: World, cuts: int, key: list[str]) -> None:
    """SCHEMA-13, SCHEMA-5: of one cut and of a later one, also where older ones come again."""
    stream = Stream(world, format="debezium-postgres", gate="none", table={"key": key}).create()
    older = [priced("c", 1, 100, FEW, SMALL), priced("c", 4, 150, FEW, SMALL)]
    newer = [priced("c", number, 100 * number, MANY, price) for number, price in NEW]
    last = [priced("d", 4, 500, FEW, SMALL), priced("c", 5, 600, FEW, SMALL)]
    for records in [[*older, *newer, *last]] if cuts == 1 else [older, newer, last]:
        stream.send(records)
        result = stream.cut()
        assert result.buckets["quarantined"] == 0
    wanted = dict([(1, SMALL), *NEW, (5, SMALL)])
    table = world.catalog.load_table((stream.name, "items"))
    rows = {row["id"]: row for row in table.scan().to_arrow().to_pylist()}
    assert {number: row["price"] for number, row in rows.items()} == wanted
    assert {number: row["prices"] for number, row in rows.items()} == {
        number: [price, None] for number, price in wanted.items()
    }
    assert {number: row["counts"] for number, row in rows.items()} == {
        number: [int(price.scaleb(2))] for number, price in wanted.items()
    }
    types = {name: str(table.schema().find_type(name)) for name in ("price", "prices", "counts")}
    assert types == {"price": "decimal(12, 2)", "prices": "list<decimal(12, 2)>"} | {
        "counts": "list<long>"
    }
    by_spark = world.spark.table(quote(world.catalog.name, stream.name, "items")).collect()
    assert {row["id"]: row["price"] for row in by_spark} == wanted
    assert {row["id"]: row["prices"] for row in by_spark} == {
        number: [price, None] for number, price in wanted.items()
    }


def test_more_digits_than_a_number_of_the_target_can_have_stop_the_table(world: World) -> None:
    """SCHEMA-16: nothing is quarantined, and rows wait."""
    stream = Stream(world, format="debezium-postgres", gate="none").create()
    stream.send([priced("c", 1, 100, FEW, SMALL)])
    stream.cut()
    stream.send([priced("c", 2, 200, 50, LARGE)])
    with pytest.raises(TableStoppedError, match="prices changed from .* cannot promote"):
        stream.cut()
    assert stream.rows() == {1: "x"}


@pytest.mark.parametrize("cuts", [1, 2])
def test_older_rows_get_the_default_of_a_column_that_joins(world: World, cuts: int) -> None:
    """SCHEMA-14: as the schema of the records tells it, whether they come together or apart."""
    stream = Stream(world, format="debezium-postgres", gate="none").create()
    seven = {"type": "int32", "optional": False, "default": 7, "field": "size"}
    older = [
        with_schema(postgres_row("c", number, (100 * number, 101 * number))) for number in (1, 2)
    ]
    newer = [with_schema(postgres_row("c", 3, (300, 303), size=9), seven)]
    for records in [[*older, *newer]] if cuts == 1 else [older, newer, older]:
        stream.send(records)
        stream.cut()
    rows = world.catalog.load_table((stream.name, "items")).scan().to_arrow().to_pylist()
    assert {row["id"]: row["size"] for row in rows} == {1: 7, 2: 7, 3: 9}


def doubled(op: str, number: int, lsn: int, a: int, *, is_read: bool = False) -> Record:
    """A row with ``a``, and, where it ``is_read``, with its column ``g`` generated from it."""
    columns: dict[str, Any] = {"a": a, "g": 2 * a} if is_read else {"a": a}
    fields = [{"type": "int32", "optional": True, "field": name} for name in columns]
    return with_schema(postgres_row(op, number, (lsn, lsn + 1), **columns), *fields)


def test_a_generated_column_is_withheld_and_goes_when_it_is_excluded(world: World) -> None:
    """SCHEMA-5, SCHEMA-38: pgoutput sends no stored generated columns, and snapshots read them."""
    stream = Stream(world, format="debezium-postgres", gate="none").create()
    stream.send([doubled("r", number, 100, number, is_read=True) for number in (1, 2)])
    stream.cut()

    def rows() -> dict[int, Any]:
        found = world.catalog.load_table((stream.name, "items")).scan().to_arrow().to_pylist()
        names = ("a", "g", "_tidemark_withheld_g")
        return {row["id"]: {n: row[n] for n in names if n in row} for row in found}

    assert rows() == {1: {"a": 1, "g": 2}, 2: {"a": 2, "g": 4}}
    stream.send([doubled("u", 1, 300, 10), doubled("c", 3, 400, 3)])
    stream.cut()
    hidden = "_tidemark_withheld_g"
    assert rows() == {
        1: {"a": 10, hidden: None},
        2: {"a": 2, hidden: 4},
        3: {"a": 3, hidden: None},
    }
    assert stream.cut().status is CutStatus.IDLE, "nothing to come can release it"
    (named,) = pipeline_status(stream.pipeline, world).withheld.values()
    assert "until target-columns: excludes it" in named
    stream.table = {"target-columns": {"exclude": ["g"]}}
    stream.send([doubled("c", 4, 500, 4)])
    stream.cut()
    assert rows() == {1: {"a": 10}, 2: {"a": 2}, 3: {"a": 3}, 4: {"a": 4}}
    assert not pipeline_status(stream.pipeline, world).withheld


def noted(op: str, number: int, lsn: int, note: str) -> Record:
    """A row with a text that the connector truncates to 10 characters."""
    field = {"type": "string", "optional": True, "parameters": {"truncateLength": "10"}}
    return with_schema(
        postgres_row(op, number, (lsn, lsn + 1), note=note), field | {"field": "note"}
    )


def test_a_truncated_placeholder_is_no_value(world: World) -> None:
    """UNAV-1, UNAV-2: column.truncate.to.10.chars, in the cut and in the target."""
    stream = Stream(world, format="debezium-postgres", gate="none").create()
    stream.send([noted("c", 1, 100, "abcdefghij"), noted("c", 2, 200, "__debeziu")])
    stream.cut()
    stream.send([noted("u", 1, 300, "__debezium"), noted("u", 2, 400, "__debezium")])
    stream.cut()
    rows = world.catalog.load_table((stream.name, "items")).scan().to_arrow().to_pylist()
    assert {row["id"]: row["note"] for row in rows} == {1: "abcdefghij", 2: "__debeziu"}
