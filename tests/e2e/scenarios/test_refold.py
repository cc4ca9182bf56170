"""Tables that are folded again from the changelog, into a new target (REFOLD-1).

What comes out is compared with what was published before, as pyiceberg reads both.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import pytest

from tests.support.records import (
    TABLE,
    Record,
    boundary,
    debezium_row,
    postgres_row,
    ticdc_row,
    ticdc_watermark,
)
from tests.support.stack import Stream
from tidemark.errors import ActionRefusedError, SupersededError, TableStoppedError
from tidemark.lake.catalog import SystemTables
from tidemark.lake.ledger import read_progress
from tidemark.model.names import TableName, quote
from tidemark.model.result import CutResult, CutStatus
from tidemark.runs.cut import stage_cut
from tidemark.runs.orders import begin_resync, skip_transaction
from tidemark.runs.plan import plan_cut
from tidemark.runs.publish import publish_cut, read_verdicts
from tidemark.runs.refold import begin_refold, cancel_refold
from tidemark.runs.run import CutRequest
from tidemark.runs.status import pipeline_status
from tidemark.runs.world import World

ITEMS = TableName.parse(TABLE)
FIRST = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
TYPED = {"columns": {"id": "integer", "name": "text"}}
SOURCES = {
    "watermark": ("ticdc-canal-json", {}),
    "transaction": ("debezium-mysql", TYPED),
    "none": ("debezium-postgres", TYPED),
}
Change = tuple[str, int, str]
OTHER = {"source": "shop.others", "expectations": "none", **TYPED}


def records(gate: str, first: int, changes: Sequence[Change]) -> Sequence[Record]:
    if gate == "watermark":
        ops = {"c": "INSERT", "u": "UPDATE", "d": "DELETE"}
        rows = [
            ticdc_row(ops[op], key, first + at, name=name)
            for at, (op, key, name) in enumerate(changes)
        ]
        return [*rows, ticdc_watermark(first + len(changes) + 1)]
    if gate == "none":
        return [
            postgres_row(op, key, (first, first + at), name=name)
            for at, (op, key, name) in enumerate(changes)
        ]
    return [
        debezium_row(op, key, first + at, name=name, transaction=(f"{FIRST}:{first}", at + 1))
        for at, (op, key, name) in enumerate(changes)
    ]


def send(stream: Stream, first: int, *changes: Change) -> None:
    if stream.gate == "transaction":
        name = f"{FIRST}:{first}"
        bounds = [boundary("BEGIN", name), boundary("END", name, len(changes))]
        stream.send(bounds, stream.transactions)
    stream.send(records(stream.gate, first, changes))


def opened(world: World, gate: str, **table: Any) -> Stream:
    source, typed = SOURCES[gate]
    return Stream(world, 1, source, gate, {**typed, **table}).create()


def read(stream: Stream, table: str) -> dict[int, str]:
    rows = stream.world.catalog.load_table((stream.name, table)).scan().to_arrow().to_pylist()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row["name"] for row in rows}


def tables(stream: Stream) -> set[str]:
    return {name for _, name in stream.world.catalog.list_tables(stream.name)}


@pytest.mark.parametrize("gate", SOURCES)
def test_a_new_target_takes_the_place_of_the_old_one(world: World, gate: str) -> None:
    """REFOLD-1: it holds what was published; what came meanwhile is folded behind it."""
    stream = opened(world, gate)
    send(stream, 100, ("c", 1, "a"), ("c", 2, "b"))
    stream.cut()
    send(stream, 200, ("d", 1, "a"), ("u", 2, "c"), ("c", 3, "d"))
    stream.cut()
    before = world.catalog.load_table((stream.name, "items")).metadata
    begin_refold(stream.pipeline, world, ITEMS)
    send(stream, 300, ("u", 3, "e"), ("c", 4, "f"))
    assert plan_cut(stream.pipeline, world).has_work
    result = stream.cut()
    (table,) = result.tables
    assert (table.table, table.target) == (TABLE, f"{stream.name}.items")
    assert (table.inserted, table.outcome) == (2, "pass")
    assert stream.rows() == {2: "c", 3: "d"}
    after = world.catalog.load_table((stream.name, "items")).metadata
    assert after.table_uuid != before.table_uuid
    assert tables(stream) == {"items", f"items__until_cut_{result.cut}"}
    assert read(stream, f"items__until_cut_{result.cut}") == {2: "c", 3: "d"}
    assert plan_cut(stream.pipeline, world).has_work
    stream.cut()
    assert stream.rows() == {2: "c", 3: "e", 4: "f"}
    assert not plan_cut(stream.pipeline, world).has_work
    progress = read_progress(world.catalog, SystemTables.of(stream.pipeline.name))
    assert (progress.refolds, progress.behind) == ({}, {})


def refolded(stream: Stream, **asked: Any) -> list[CutResult]:
    """Order a refold, and run until nothing is left to do."""
    begin_refold(stream.pipeline, stream.world, ITEMS, **asked)
    results = []
    while plan_cut(stream.pipeline, stream.world).has_work:
        results.append(stream.cut())
        assert len(results) < 5
    return results


def test_what_the_file_declares_now_counts(world: World) -> None:
    """REFOLD-1: another mask, key and mode stop a table; folded again it has them."""
    stream = opened(world, "none")
    send(stream, 100, ("c", 1, "a"), ("c", 2, "b"), ("u", 1, "c"))
    stream.cut()
    stream.table = {**TYPED, "target-columns": {"hash": ["name"]}}
    send(stream, 200, ("u", 2, "d"))
    with pytest.raises(TableStoppedError, match=r"(?s)hashed or redacted.*tidemark refold"):
        stream.cut()
    refolded(stream)
    assert stream.rows() == {1: sha256(b"c").hexdigest(), 2: sha256(b"d").hexdigest()}
    stream.table = {**TYPED, "key": ["name"]}
    send(stream, 300, ("u", 2, "e"))
    with pytest.raises(TableStoppedError, match=r"(?s)the key changed from.*tidemark refold"):
        stream.cut()
    refolded(stream)
    rows = sorted((row["id"], row["name"]) for row in stream.published())
    named = [(1, "a"), (1, "c"), (2, "b"), (2, "d"), (2, "e")]
    assert rows == named, "no update says which name it left"
    stream.table = {**TYPED, "mode": "history"}
    send(stream, 400, ("d", 2, "e"))
    with pytest.raises(TableStoppedError, match=r"(?s)mode.*tidemark refold"):
        stream.cut()
    refolded(stream)
    versions = sorted((row["id"], row["name"]) for row in stream.published())
    assert versions == named


def test_what_somebody_else_changed_or_dropped_comes_back(world: World) -> None:
    """REFOLD-1, PUB-11: the difference is told, and what was there is kept."""
    stream = opened(world, "transaction")
    send(stream, 100, ("c", 1, "a"), ("c", 2, "b"))
    stream.cut()
    name = quote(world.catalog.name, stream.name, "items")
    world.spark.sql(f"DELETE FROM {name} WHERE id = 1")  # noqa: S608  our own name, quoted
    send(stream, 200, ("c", 3, "c"))
    with pytest.raises(TableStoppedError, match=rf"tidemark refold {stream.name} shop.items"):
        stream.cut()
    first, *_ = refolded(stream)
    (verdict,) = read_verdicts(stream.pipeline, world, first.attempt, first.cut)
    assert [check.observed for check in verdict.failures] == [
        "1 rows before and 2 now, in 2 columns: 0 only before, 1 only now"
    ]
    assert stream.rows() == {1: "a", 2: "b", 3: "c"}
    assert read(stream, f"items__until_cut_{first.cut}") == {2: "b"}
    world.catalog.drop_table((stream.name, "items"))
    send(stream, 300, ("u", 3, "d"))
    with pytest.raises(TableStoppedError, match=r"(?s)is not there any more.*tidemark refold"):
        stream.cut()
    refolded(stream)
    assert stream.rows() == {1: "a", 2: "b", 3: "d"}


@pytest.mark.parametrize("gate", SOURCES)
def test_each_cut_comes_out_again_beside_the_target(world: World, gate: str) -> None:
    """REFOLD-1: as of a cut, a table is what that cut published, and the target is not touched."""
    stream = opened(world, gate)
    published = {}
    for number, changes in enumerate(
        ([("c", 1, "a"), ("c", 2, "b")], [("d", 1, "a"), ("u", 2, "c")], [("c", 3, "d")]), start=1
    ):
        send(stream, 100 * number, *changes)
        cut = stream.cut().cut
        published[cut] = stream.rows()
    head = world.catalog.load_table((stream.name, "items")).metadata.current_snapshot_id
    for cut, rows in published.items():
        refolded(stream, into=f"as_of_{cut}", as_of=cut)
        assert read(stream, f"as_of_{cut}") == rows
    after = world.catalog.load_table((stream.name, "items")).metadata
    assert after.current_snapshot_id == head
    send(stream, 900, ("u", 3, "e"))
    stream.cut()
    assert stream.rows() == {2: "c", 3: "e"}
    with pytest.raises(ActionRefusedError, match="has a table of that name"):
        begin_refold(stream.pipeline, world, ITEMS, into="as_of_1")
    with pytest.raises(ActionRefusedError, match="how far cut 77 went is not known"):
        begin_refold(stream.pipeline, world, ITEMS, into="as_of_77", as_of=77)


def test_a_refold_can_be_given_up(world: World) -> None:
    """REFOLD-1: the target goes on as it was, also where a run had staged the new one."""
    stream = opened(world, "none")
    send(stream, 100, ("c", 1, "a"))
    stream.cut()
    begin_refold(stream.pipeline, world, ITEMS)
    send(stream, 200, ("c", 2, "b"))
    attempt = stream.attempt()
    assert stage_cut(stream.pipeline, world, CutRequest(attempt)).status is CutStatus.STAGED
    cancel_refold(stream.pipeline, world, ITEMS)
    with pytest.raises(SupersededError):
        publish_cut(stream.pipeline, world, attempt)
    assert tables(stream) == {"items"}
    stream.cut()
    assert stream.rows() == {1: "a", 2: "b"}
    with pytest.raises(ActionRefusedError, match="is not refolded"):
        cancel_refold(stream.pipeline, world, ITEMS)


def test_a_refold_that_is_given_up_by_somebody_who_dies_leaves_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REFOLD-1, PUB-8: the next run removes what it had made."""
    stream = opened(world, "none")
    send(stream, 100, ("c", 1, "a"))
    stream.cut()
    begin_refold(stream.pipeline, world, ITEMS)
    stage_cut(stream.pipeline, world, CutRequest(stream.attempt()))

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr("tidemark.runs.refold._remove", killed)
        with pytest.raises(KeyboardInterrupt):
            cancel_refold(stream.pipeline, world, ITEMS)
    assert len(tables(stream)) == 2
    send(stream, 200, ("c", 2, "b"))
    stream.cut()
    assert tables(stream) == {"items"}
    assert stream.rows() == {1: "a", 2: "b"}


def test_a_refold_survives_attempts_that_die(world: World) -> None:
    """REFOLD-1, PUB-8: one that was staged and never published leaves nothing of its rows."""
    stream = opened(world, "watermark")
    send(stream, 100, ("c", 1, "a"), ("c", 2, "b"))
    stream.cut()
    begin_refold(stream.pipeline, world, ITEMS)
    stage_cut(stream.pipeline, world, CutRequest(stream.attempt()))
    send(stream, 200, ("d", 1, "a"))
    begin_refold(stream.pipeline, world, ITEMS)
    stage_cut(stream.pipeline, world, CutRequest(stream.attempt()))
    result = stream.cut()
    assert tables(stream) == {"items", f"items__until_cut_{result.cut}"}
    stream.cut()
    assert stream.rows() == {2: "b"}
    assert not plan_cut(stream.pipeline, world).has_work


def test_what_no_record_tells_refuses_a_refold(world: World) -> None:
    """REFOLD-1, SNAP-8: rows that end because a snapshot lacks them."""
    stream = opened(world, "none")
    with pytest.raises(ActionRefusedError, match=r"nothing of shop.items was published"):
        begin_refold(stream.pipeline, world, ITEMS)
    send(stream, 100, ("c", 1, "a"))
    stream.cut()
    begin_resync(stream.pipeline, world, ITEMS)
    with pytest.raises(ActionRefusedError, match=r"a snapshot of shop.items is awaited"):
        begin_refold(stream.pipeline, world, ITEMS)


def broken_off_and_taken_again() -> list[Record]:
    """Row 1 was read by a snapshot that broke off, and was gone as the next one was taken."""
    return [
        debezium_row("r", 1, 100, name="gone", mark="first"),
        debezium_row("r", 2, 100, name="old", mark="true"),
        debezium_row("r", 2, 200, name="new", mark="first"),
        debezium_row("r", 3, 200, name="c", mark="last"),
    ]


@pytest.mark.parametrize("way", ["refolded", "added"])
def test_a_snapshot_that_broke_off_stays_void(world: World, way: str) -> None:
    """TOP-7, REFOLD-1, SCHEMA-35: also for a table that is folded later from all records."""
    stream = opened(world, "transaction")
    stream.options = {} if way == "refolded" else {"tables": [OTHER]}
    stream.send(broken_off_and_taken_again())
    while plan_cut(stream.pipeline, world).has_work:
        stream.cut()
    progress = read_progress(world.catalog, SystemTables.of(stream.pipeline.name))
    assert len(progress.void) == 1
    stream.options = {}
    if way == "refolded":
        (first, *_) = refolded(stream)
        assert [table.outcome for table in first.tables] == ["pass"]
    stream.cut()
    assert stream.rows() == {2: "new", 3: "c"}


def named_others(record: Record) -> Record:
    assert record.value is not None
    return Record(record.value.replace(b'"items"', b'"others"'), record.key)


def test_a_new_snapshot_beside_a_refold_is_reconciled_with_all_tables(world: World) -> None:
    """REFOLD-1, SNAP-5, SNAP-6: of the refolded one its rows come with the cut behind its end."""
    stream = opened(world, "transaction", key=["id"])
    items = {"source": TABLE, "expectations": "none", **stream.table}
    stream.options = {"tables": [items, {**OTHER, "key": ["id"]}]}

    def send_snapshot(pos: int, *numbers: int) -> None:
        rows = [debezium_row("r", number, pos, mark="true") for number in numbers]
        stream.send([*rows, named_others(debezium_row("r", 1, pos, mark="last"))])

    send_snapshot(100, *range(10))
    send(stream, 110, ("u", 1, "b"))
    while plan_cut(stream.pipeline, world).has_work:
        stream.cut()
    assert stream.rows().keys() == set(range(10))
    send_snapshot(200, *range(9))
    send(stream, 210, ("c", 20, "c"))
    stream.cut()
    assert stream.rows().keys() == set(range(10)), "its end was not there before"
    refolded(stream)
    assert stream.rows().keys() == {*range(9), 20}
    assert not pipeline_status(stream.pipeline, world).snapshots


def test_a_transaction_that_was_skipped_stays_so(world: World) -> None:
    """GATE-T8, SCHEMA-35: also for a table that leaves the file and takes all records again."""
    stream = opened(world, "transaction")
    send(stream, 100, ("c", 1, "a"))
    stream.cut()
    lost = f"{FIRST}:200"
    stream.send([boundary("BEGIN", lost), boundary("END", lost, 2)], stream.transactions)
    stream.send([debezium_row("c", 2, 200, name="half", transaction=(lost, 1))])
    send(stream, 300, ("c", 3, "c"))
    stream.cut()
    skip_transaction(stream.pipeline, world, lost)
    while plan_cut(stream.pipeline, world).has_work:
        stream.cut()
    assert stream.rows() == {1: "a", 3: "c"}
    progress = read_progress(world.catalog, SystemTables.of(stream.pipeline.name))
    assert progress.given_up == {lost}
    stream.options = {"tables": [OTHER]}
    send(stream, 400, ("c", 4, "d"))
    stream.cut()
    stream.options = {}
    stream.cut()
    assert stream.rows() == {1: "a", 3: "c", 4: "d"}


def test_a_refold_goes_as_far_as_a_time_of_the_source(world: World) -> None:
    """REFOLD-1: with the newest cut that holds nothing from behind it."""
    stream = Stream(world, 1, "debezium-mysql", "none", {**TYPED, "key": ["id"]}).create()
    times = [datetime.fromtimestamp(1_700_000_000 + 60 * at, UTC) for at in range(1, 4)]
    for number, key in enumerate((1, 2, 3), start=1):
        stream.send([debezium_row("c", key, 100 * number, name="x", at=60_000 * number)])
        stream.cut()
    refolded(stream, into="then", as_of=times[1])
    assert read(stream, "then").keys() == {1, 2}
    refolded(stream, into="soon_after", as_of=times[1] + timedelta(seconds=59))
    assert read(stream, "soon_after").keys() == {1, 2}
    with pytest.raises(ActionRefusedError, match="every cut of pipeline .* goes further than"):
        begin_refold(
            stream.pipeline, world, ITEMS, into="early", as_of=times[0] - timedelta(days=1)
        )
