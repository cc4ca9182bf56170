"""MASK-1: what a target does not show stands nowhere, and the target is the one of raw records.

What is left is sought in every file that the warehouse has of the pipeline, whatever names it.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator

import pytest

from tests.e2e.scenarios.test_refold import refolded
from tests.e2e.scenarios.test_schema_changes import FAMILIES
from tests.e2e.scenarios.test_target_columns import (
    RULES,
    expected,
    published,
    with_columns,
)
from tests.support.altered import AlteredTable
from tests.support.altered_stream import send
from tests.support.canaries import files, leaked
from tests.support.named_files import path_of
from tests.support.records import Record, postgres_row
from tests.support.smoke import first_in_smoke
from tests.support.stack import Stream
from tidemark.errors import ActionRefusedError, PreflightError, TableStoppedError
from tidemark.formats.special import PLACEHOLDER
from tidemark.lake.catalog import SystemTables, folder_of
from tidemark.lake.landing import read_landed
from tidemark.model.names import TableName
from tidemark.model.progress import LandingMark
from tidemark.runs.landing import land
from tidemark.runs.refold import begin_refold
from tidemark.runs.world import World

MASKED = {"changelog": {"payload": "masked"}}
ITEMS = TableName("shop", "items")


def opened(world: World, family: str) -> tuple[Stream, AlteredTable]:
    stream, table = with_columns(world, family)
    stream.options = MASKED
    return stream, table


def put_canaries(table: AlteredTable, rng: random.Random) -> Iterator[str]:
    """Rows that come, change and go, with values that nobody else has in columns with a rule."""
    for number in (1, 2, 3, 2, 20):
        canaries = {name: f"{name} {rng.getrandbits(64):x}" for name in ("secret", "mail", "note")}
        table.put(number, **canaries, visits=rng.choice((0, -5, 7, None)))
        yield from canaries.values()
    table.delete(3)


def left(stream: Stream, canaries: list[str]) -> set[str]:
    """Those of ``canaries`` that a file holds."""
    warehouse = path_of(folder_of(stream.world.catalog))
    own = SystemTables.of(stream.pipeline.name).ledger.namespace
    return {
        canary
        for name in (stream.name, own)
        for canary in leaked(canaries, files(warehouse / name))
    }


@pytest.mark.parametrize("family", first_in_smoke(*FAMILIES))
@pytest.mark.parametrize("by_tasks", [True, False])
def test_no_file_has_a_value_that_the_target_does_not_show(
    world: World, family: str, *, by_tasks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables equal those of raw records, also where they are folded again (REFOLD-1)."""
    if not by_tasks:
        monkeypatch.setattr(land, "can_land_by_tasks", lambda *_: False)
    rng = random.Random(f"masked {family}")  # noqa: S311  repeatable, not secret
    stream, table = opened(world, family)
    canaries, start = list[str](), 0
    for _ in range(2):
        canaries += put_canaries(table, rng)
        send(stream, table.sent[start:], table)
        start = len(table.sent)
        stream.cut()
        assert published(stream) == expected(table)
    send(stream, table.sent[-4:], table)
    stream.cut()
    refolded(stream)
    assert published(stream) == expected(table)
    assert not left(stream, canaries)


def test_the_search_finds_values_of_raw_records(world: World) -> None:
    stream, table = with_columns(world, "debezium")
    canaries = list(put_canaries(table, random.Random(1)))  # noqa: S311  repeatable, not secret
    send(stream, table.sent, table)
    stream.cut()
    assert left(stream, canaries) == set(canaries)


def test_a_changelog_that_has_raw_records_goes_on_masked_and_raw_again(world: World) -> None:
    """Each record is read as it was landed."""
    rng = random.Random(2)  # noqa: S311  repeatable, not secret
    stream, table = with_columns(world, "debezium with schemas")
    start = 0
    for options in ({}, MASKED, {}):
        stream.options = options
        list(put_canaries(table, rng))
        send(stream, table.sent[start:], table)
        start = len(table.sent)
        stream.cut()
        assert published(stream) == expected(table)
    refolded(stream)
    assert published(stream) == expected(table)


def test_what_was_masked_cannot_be_shown(world: World) -> None:
    """REFOLD-1: no order begins what the changelog cannot tell."""
    stream, table = opened(world, "debezium")
    send(stream, table.sent, table)
    stream.cut()
    stream.table = {"target-columns": {**RULES, "redact": []}}
    with pytest.raises(ActionRefusedError, match="does not have the values of column note"):
        begin_refold(stream.pipeline, world, ITEMS)


@pytest.mark.parametrize("by_tasks", [True, False])
def test_a_slip_in_a_rule_lands_nothing(
    world: World, *, by_tasks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not by_tasks:
        monkeypatch.setattr(land, "can_land_by_tasks", lambda *_: False)
    stream, table = opened(world, "debezium")
    stream.table = {"target-columns": {**RULES, "redact": ["notes"]}}
    send(stream, table.sent, table)
    with pytest.raises(PreflightError, match="have no column notes, for which there is a rule"):
        stream.cut()
    system = SystemTables.of(stream.pipeline.name)
    assert read_landed(world.catalog, system).mark == LandingMark()
    changelog = path_of(world.catalog.load_table(system.changelog.parts).location())
    assert not list(changelog.rglob("*.parquet")), "the column that was meant is in clear in it"
    stream.table = {"target-columns": RULES}
    stream.cut()
    assert published(stream) == expected(table)


def test_a_hash_that_is_none_of_the_target_stops_its_table(world: World) -> None:
    stream, table = opened(world, "canal")
    added = {"price": ("decimal(10,2)", "1.50")}
    table.alter("ADD COLUMN price decimal(10,2) NOT NULL DEFAULT 1.50", added=added)
    table.put(1, price="2.50")
    stream.table = {"target-columns": {**RULES, "hash": ["mail", "visits", "price"]}}
    send(stream, table.sent, table)
    with pytest.raises(TableStoppedError, match=r"price \(decimal\(10,2\)\) is hashed"):
        stream.cut()
    stream.table = {"target-columns": {**RULES, "redact": ["note", "price"]}}
    stream.cut()
    assert {row["price"] for row in published(stream).values()} == {None}


def test_a_record_that_cannot_be_read_leaves_its_hash(world: World) -> None:
    """POISON-3: where it stands is known, and what it said is not."""
    stream, table = opened(world, "debezium")
    stream.options = {**MASKED, "limits": {"max-unreadable": 5}}
    send(stream, table.sent, table)
    stream.send([Record(b"a secret of nobody", b"another secret")])
    stream.cut()
    assert published(stream) == expected(table)
    assert not left(stream, ["a secret of nobody", "another secret"])


def test_a_value_that_was_not_sent_is_found_by_its_hash(world: World) -> None:
    """UNAV-1: PostgreSQL sends no large value that did not change."""
    columns = {"columns": {"id": "integer", "name": "text"}}
    masked = {"target-columns": {"hash": ["name"]}}
    stream = Stream(world, 1, "debezium-postgres", "none", columns | masked, MASKED).create()
    canary = "canary of PostgreSQL"
    stream.send(
        [
            postgres_row("c", 1, (None, 100), name=canary),
            postgres_row("c", 2, (None, 200), name="b"),
        ]
    )
    stream.cut()
    stream.send(
        [
            postgres_row("u", 1, (None, 300), name=PLACEHOLDER),
            postgres_row("u", 2, (None, 400), name="c"),
        ]
    )
    stream.cut()
    hashed = {1: canary, 2: "c"}
    want = {key: hashlib.sha256(text.encode()).hexdigest() for key, text in hashed.items()}
    assert {row["id"]: row["name"] for row in stream.published()} == want
    refolded(stream)
    assert {row["id"]: row["name"] for row in stream.published()} == want
    assert not left(stream, [canary])
