"""Records that the changelog needs no more, as a base of their table stands for them (KEEP-1).

What is published is compared with what was put into the source, as pyiceberg reads it.
"""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.e2e.scenarios.test_refold import ITEMS, SOURCES, TYPED, read, refolded, send
from tests.support.maintenance import load, target
from tests.support.records import TABLE, Record, debezium_row, postgres_row
from tests.support.stack import Stream
from tidemark.errors import ActionRefusedError, SupersededError, TableStoppedError
from tidemark.lake import removed
from tidemark.lake.bases import BASES, bases_in, keep_bases
from tidemark.lake.catalog import SystemTables
from tidemark.lake.evolve import read_target
from tidemark.lake.landing import publish_landing
from tidemark.lake.removed import read_removed, say_removed
from tidemark.model import retention
from tidemark.model.maintenance import DAY_MS
from tidemark.runs.maintain import maintain, plan_maintenance
from tidemark.runs.orders import record
from tidemark.runs.plan import plan_cut
from tidemark.runs.refold import begin_refold, cancel_refold
from tidemark.runs.retention import keep_changelog, removable_rows
from tidemark.runs.world import World

NOW_MS = int(time.time() * 1000)
KEEP = {"changelog": {"keep": "30d"}}


@pytest.fixture(autouse=True)
def _all_are_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """The records of these tests all have nearly one source time."""
    monkeypatch.setattr(removed, "MARGIN_MS", -DAY_MS)


def opened(world: World, gate: str, options: Any = KEEP, **table: Any) -> Stream:
    source, typed = SOURCES[gate]
    return Stream(world, 1, source, gate, {**typed, **table}, options).create()


def based(world: World) -> Stream:
    """A stream whose two rows were published by cut 1, of which its table has a base."""
    stream = opened(world, "none")
    send(stream, 100, ("c", 1, "a"), ("c", 2, "b"))
    stream.cut()
    removed_after(stream, 0)
    return stream


def removed_after(stream: Stream, days: int) -> int:
    """How many records go so many days from now."""
    return keep_changelog(stream.pipeline, stream.world, NOW_MS + days * DAY_MS)


def landed(stream: Stream) -> list[tuple[str, int]]:
    """Kind and landing of the records in the changelog."""
    name = SystemTables.of(stream.pipeline.name).changelog
    rows = stream.world.catalog.load_table(name.parts).scan().to_arrow().to_pylist()
    return sorted((row["kind"], row["landing"]) for row in rows)


@pytest.mark.parametrize("gate", SOURCES)
def test_old_records_go_and_a_refold_begins_with_a_base(world: World, gate: str) -> None:
    """KEEP-1, REFOLD-1: every cut since the base comes out again; the pipeline never notices."""
    stream = opened(world, gate)
    send(stream, 100, ("c", 1, "a"), ("c", 2, "b"), ("c", 5, "e"))
    stream.cut()
    send(stream, 200, ("u", 2, "c"), ("d", 5, "e"))
    based = stream.cut()
    assert removed_after(stream, 0) == 0, "no base is old enough"
    (base,) = bases_in(load(stream, target(stream)))
    assert (base.cut, base.schema.key) == (based.cut, ("id",))
    published = {based.cut: stream.rows()}
    for number, changes in enumerate(
        ([("d", 1, "a"), ("c", 3, "d")], [("u", 3, "f"), ("c", 4, "g")]), start=3
    ):
        send(stream, 100 * number, *changes)
        result = stream.cut()
        published[result.cut] = stream.rows()
    before = landed(stream)
    rows = [one for one in before if one[0] == "row" and one[1] < base.landing]
    assert len(rows) == 5
    assert removable_rows(stream.pipeline, world, NOW_MS + 31 * DAY_MS) == len(rows)
    done = removed_after(stream, 31)
    stay = [one for one in before if one[1] >= base.landing or one[0] == "watermark"]
    assert stay == landed(stream)
    assert done == len(before) - len(stay)
    assert removed_after(stream, 31) == 0
    assert [one.cut for one in bases_in(load(stream, target(stream)))] == [base.cut, 4]
    for cut, rows_then in published.items():
        refolded(stream, into=f"as_of_{cut}", as_of=cut)
        assert read(stream, f"as_of_{cut}") == rows_then
    with pytest.raises(ActionRefusedError, match=rf"(?s)from cut {based.cut} on.*tidemark resync"):
        begin_refold(stream.pipeline, world, ITEMS, into="as_of_1", as_of=1)
    send(stream, 900, ("u", 4, "h"), ("c", 1, "again"))
    (first, *_) = refolded(stream)
    assert [(table.table, table.outcome) for table in first.tables] == [(TABLE, "pass")]
    while plan_cut(stream.pipeline, world).has_work:
        stream.cut()
    assert stream.rows() == {1: "again", 2: "c", 3: "f", 4: "h"}
    assert removed_after(stream, 47) == 0, "the new target has no base yet"
    send(stream, 950, ("d", 2, "c"))
    stream.cut()
    assert removed_after(stream, 80) > 0
    refolded(stream)
    assert stream.rows() == {1: "again", 3: "f", 4: "h"}


def test_a_soft_delete_target_begins_with_a_base(world: World) -> None:
    """KEEP-1, REFOLD-1: with the rows that stood; what was deleted before is not known any more."""
    stream = opened(world, "none")
    send(stream, 100, ("c", 1, "a"), ("c", 2, "b"), ("u", 1, "c"), ("c", 4, "d"))
    stream.cut()
    removed_after(stream, 0)
    send(stream, 200, ("d", 2, "b"))
    stream.cut()
    assert removed_after(stream, 31) == 4
    stream.table = {**TYPED, "mode": "soft-delete"}
    refolded(stream)
    rows = {row["id"]: row["_tidemark_deleted"] for row in stream.published()}
    assert rows == {1: False, 2: True, 4: False}


def test_modes_keys_and_masks_from_a_base(world: World) -> None:
    """KEEP-1: history begins with the base; what the base hid is not to be had."""
    stream = opened(world, "none")
    send(stream, 100, ("c", 1, "a"), ("u", 1, "b"), ("c", 2, "c"))
    stream.cut()
    removed_after(stream, 0)
    send(stream, 200, ("u", 2, "d"))
    stream.cut()
    assert removed_after(stream, 31) == 3
    stream.table = {**TYPED, "mode": "append"}
    with pytest.raises(ActionRefusedError, match=r"mode mirror, whose rows are not those of"):
        begin_refold(stream.pipeline, world, ITEMS)
    stream.table = {**TYPED, "key": ["name"], "mode": "history"}
    refolded(stream)
    versions = sorted((row["id"], row["name"]) for row in stream.published())
    assert versions == [(1, "b"), (2, "c"), (2, "d")], "no update says which name it left"
    stream.table = {**TYPED, "target-columns": {"redact": ["name"]}}
    with pytest.raises(ActionRefusedError, match="tells its rows in part"):
        begin_refold(stream.pipeline, world, ITEMS)


def truncated(lsn: int) -> Record:
    value = json.loads(postgres_row("c", 1, (lsn, lsn)).value or b"")
    return Record(json.dumps(value | {"op": "t", "after": None}).encode())


def test_a_truncate_since_the_base_ends_its_rows(world: World) -> None:
    """KEEP-1, TRUNC-3: of a mirror whose rows all came behind it the records tell everything."""
    stream = based(world)
    assert removed_after(stream, 31) == 2
    stream.send([truncated(150)])
    send(stream, 200, ("c", 2, "c"))
    stream.cut()
    assert begin_refold(stream.pipeline, world, ITEMS).base is None
    while plan_cut(stream.pipeline, world).has_work:
        stream.cut()
    assert stream.rows() == {2: "c"}
    removed_after(stream, 31)
    stream.table = {**TYPED, "mode": "soft-delete"}
    assert begin_refold(stream.pipeline, world, ITEMS).base == 3, "the new target has a base"
    while plan_cut(stream.pipeline, world).has_work:
        stream.cut()
    rows = {row["id"]: (row["name"], row["_tidemark_deleted"]) for row in stream.published()}
    assert rows == {2: ("c", False)}


def test_a_truncate_since_the_base_marks_its_rows(world: World) -> None:
    """KEEP-1, TRUNC-12: where the target keeps what is truncated, in the source's order."""
    stream = based(world)
    assert removed_after(stream, 31) == 2
    stream.send([truncated(150)])
    send(stream, 200, ("c", 2, "c"))
    stream.cut()
    stream.table = {**TYPED, "mode": "soft-delete"}
    assert begin_refold(stream.pipeline, world, ITEMS).base == 1
    while plan_cut(stream.pipeline, world).has_work:
        stream.cut()
    rows = {row["id"]: (row["name"], row["_tidemark_deleted"]) for row in stream.published()}
    assert rows == {1: ("a", True), 2: ("c", False)}


@pytest.mark.parametrize("why", ["all is kept", "no key", "quarantined"])
def test_what_may_be_needed_stays(world: World, why: str) -> None:
    """KEEP-1: everything by default; rows without a key; what may be replayed."""
    options = {} if why == "all is kept" else KEEP
    columns = {"columns": {"id": "int", "name": "text"}}
    stream = Stream(world, 1, "debezium-mysql", "none", columns, options).create()
    has_key = why != "no key"
    rows = [
        debezium_row("c", 1, 100, with_key=has_key),
        debezium_row("c", 2, 200, with_key=has_key),
    ]
    if why == "quarantined":
        stream.table = {"columns": {"id": "int", "name": "date"}}
        rows = [debezium_row("c", 1, 100, name="1"), debezium_row("c", 2, 200, name="no day")]
    stream.send(rows)
    stream.cut()
    removed_after(stream, 0)
    has_bases = BASES in load(stream, target(stream)).properties
    assert has_bases == (why == "no key")
    assert removed_after(stream, 99) == 0
    assert removable_rows(stream.pipeline, world, NOW_MS + 99 * DAY_MS) == 0
    assert len(landed(stream)) == 2


def test_records_stay_of_the_newest_day_of_the_source(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KEEP-1, POS-17: they tell a log that starts over from changes that are sent again."""
    monkeypatch.setattr(removed, "MARGIN_MS", DAY_MS)
    columns = {"key": ["id"], "columns": {"id": "int", "name": "text"}}
    stream = Stream(world, 1, "debezium-mysql", "none", columns, KEEP).create()
    stream.send([debezium_row("c", 1, 100, at=0), debezium_row("c", 2, 200, at=2 * DAY_MS)])
    stream.cut()
    removed_after(stream, 0)
    assert removed_after(stream, 31) == 1
    stream.send(
        [debezium_row("c", 2, 200, at=2 * DAY_MS), debezium_row("c", 3, 300, at=3 * DAY_MS)]
    )
    stream.cut()
    assert stream.rows().keys() == {1, 2, 3}


def test_a_removal_beside_a_landing_harms_neither(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KEEP-1, PUB-12: the landing counts; what it put back goes with a later run."""
    stream = based(world)

    def meanwhile(*args: Any, **more: Any) -> Any:
        assert removed_after(stream, 31) == 2
        return publish_landing(*args, **more)

    monkeypatch.setattr("tidemark.runs.landing.land.publish_landing", meanwhile)
    send(stream, 200, ("u", 2, "c"))
    stream.cut()
    monkeypatch.undo()
    assert stream.rows() == {1: "a", 2: "c"}
    assert read_removed(world.catalog, SystemTables.of(stream.pipeline.name)) == {ITEMS: 2}
    refolded(stream)
    assert stream.rows() == {1: "a", 2: "c"}


def test_what_a_refold_is_to_read_stays(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """KEEP-1, REFOLD-1: whichever of the two comes first, and however close."""
    stream = based(world)
    begin_refold(stream.pipeline, world, ITEMS)
    assert removed_after(stream, 31) == 0
    cancel_refold(stream.pipeline, world, ITEMS)
    stream.cut()

    def ordered_meanwhile(*args: Any) -> None:
        begin_refold(stream.pipeline, world, ITEMS)
        say_removed(*args)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr("tidemark.runs.retention.say_removed", ordered_meanwhile)
        assert removed_after(stream, 31) == 0
    assert len(landed(stream)) == 2
    while plan_cut(stream.pipeline, world).has_work:
        stream.cut()
    assert stream.rows() == {1: "a", 2: "b"}


def test_a_removal_that_dies_halfway_is_ours_all_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KEEP-1, PUB-11: between the deletion and the mark of it the changelog is nobody else's."""
    stream = based(world)
    with monkeypatch.context() as dies:
        dies.setattr(removed, "mark_removal", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            removed_after(stream, 31)
    assert landed(stream) == []
    send(stream, 200, ("u", 2, "c"))
    stream.cut()
    assert stream.rows() == {1: "a", 2: "c"}


def test_a_target_that_was_half_made_from_a_base_is_made_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KEEP-1, PUB-8: rows of an attempt that died are in no target twice."""
    stream = based(world)
    assert removed_after(stream, 31) == 2
    begin_refold(stream.pipeline, world, ITEMS)
    with monkeypatch.context() as dies:
        dies.setattr("tidemark.lake.seed.update_mains", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            stream.cut()
    while plan_cut(stream.pipeline, world).has_work:
        stream.cut()
    assert read(stream, "items") == {1: "a", 2: "b"}


def test_a_target_that_another_run_made_meanwhile_is_not_removed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KEEP-1, PUB-8: a run that stood still wakes, and what it was about to remove is published."""
    stream = based(world)
    assert removed_after(stream, 31) == 2
    begin_refold(stream.pipeline, world, ITEMS, into="beside")
    with monkeypatch.context() as dies:
        dies.setattr("tidemark.lake.seed.update_mains", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            stream.cut()

    def stood_still(*args: Any, **more: Any) -> Any:
        head = read_target(*args, **more)
        monkeypatch.undo()
        while plan_cut(stream.pipeline, world).has_work:
            stream.cut()
        assert read(stream, "beside") == {1: "a", 2: "b"}
        return head

    monkeypatch.setattr("tidemark.runs.tables.seeded.read_target", stood_still)
    with pytest.raises(SupersededError):
        stream.cut()
    assert read(stream, "beside") == {1: "a", 2: "b"}


def test_a_refold_that_is_given_up_takes_no_table_of_another_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REFOLD-1, PUB-8: its name is free from then on, and somebody else may have taken it."""
    stream = based(world)
    begin_refold(stream.pipeline, world, ITEMS, into="beside")

    def recorded(*args: Any, **more: Any) -> Any:
        monkeypatch.undo()
        progress = record(*args, **more)
        begin_refold(stream.pipeline, world, ITEMS, into="beside")
        while plan_cut(stream.pipeline, world).has_work:
            stream.cut()
        return progress

    monkeypatch.setattr("tidemark.runs.refold.record", recorded)
    cancel_refold(stream.pipeline, world, ITEMS)
    assert read(stream, "beside") == {1: "a", 2: "b"}


def test_a_base_that_somebody_removed_is_none(world: World) -> None:
    """KEEP-1: the tag is what keeps it; a refold that was to begin with it stops its table."""
    stream = based(world)
    send(stream, 200, ("u", 2, "c"))
    stream.cut()
    removed_after(stream, 31)
    table = load(stream, target(stream))
    first, second = bases_in(table)
    begin_refold(stream.pipeline, world, ITEMS)
    table.manage_snapshots().remove_tag(f"tidemark_base_{first.cut}").commit()
    with pytest.raises(TableStoppedError, match=r"(?s)is not there as of cut 1 any more.*--cancel"):
        stream.cut()
    assert bases_in(load(stream, target(stream))) == (second,)


def with_two_bases(world: World) -> Stream:
    """The older one goes 90 days from now, and holds what the changelog has no more."""
    stream = based(world)
    send(stream, 200, ("u", 2, "c"))
    stream.cut()
    assert removed_after(stream, 31) == 2
    return stream


def test_a_refold_takes_another_base_where_maintenance_has_just_removed_its_own(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KEEP-1, REFOLD-1: the order looks once more, when it is recorded."""
    stream = with_two_bases(world)
    _, second = bases_in(load(stream, target(stream)))

    def removed_meanwhile(pipeline: Any, world: World, change: Any, words: str) -> Any:
        def changed(now: Any) -> Any:
            ordered = change(now)
            assert removed_after(stream, 90) == 0, "the base goes, and no record"
            return ordered

        monkeypatch.setattr("tidemark.runs.refold.record", record)
        monkeypatch.setattr(removed, "MARGIN_MS", 999 * DAY_MS)
        return record(pipeline, world, changed, words)

    monkeypatch.setattr("tidemark.runs.refold.record", removed_meanwhile)
    assert begin_refold(stream.pipeline, world, ITEMS).base == second.cut
    while plan_cut(stream.pipeline, world).has_work:
        stream.cut()
    assert stream.rows() == {1: "a", 2: "c"}


def test_maintenance_gives_back_a_base_that_a_refold_has_just_chosen(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KEEP-1, REFOLD-1: it had read that there is no refold."""
    stream = with_two_bases(world)
    first, _ = bases_in(load(stream, target(stream)))

    def ordered_meanwhile(*args: Any) -> None:
        monkeypatch.setattr("tidemark.runs.retention.keep_bases", keep_bases)
        assert begin_refold(stream.pipeline, world, ITEMS).base == first.cut
        keep_bases(*args)

    monkeypatch.setattr("tidemark.runs.retention.keep_bases", ordered_meanwhile)
    assert removed_after(stream, 90) == 0
    assert first in bases_in(load(stream, target(stream)))
    while plan_cut(stream.pipeline, world).has_work:
        stream.cut()
    assert stream.rows() == {1: "a", 2: "c"}


@pytest.mark.smoke
def test_maintenance_removes_records(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """KEEP-1: first with its dry run; snapshots of the changelog expire by its policy."""
    stream = opened(world, "none")
    send(stream, 100, ("c", 1, "a"), ("c", 2, "b"))
    stream.cut()
    list(maintain(stream.pipeline, world))
    monkeypatch.setattr(retention, "DAY_MS", 0)
    changelog = str(SystemTables.of(stream.pipeline.name).changelog)
    planned = {one.table: one for one in plan_maintenance(stream.pipeline, world)}
    assert planned[changelog].removed == 2
    done = {one.table: one for one in maintain(stream.pipeline, world)}
    assert done[changelog].removed == 2
    assert landed(stream) == []
    send(stream, 200, ("u", 2, "c"))
    stream.cut()
    assert stream.rows() == {1: "a", 2: "c"}
