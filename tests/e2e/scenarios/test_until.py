"""Runs that are capped at a position of the source: what stands at or behind it waits (GATE-O3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.records import (
    Record,
    boundary,
    debezium_row,
    postgres_row,
    ticdc_row,
    ticdc_watermark,
    unplaced_row,
)
from tests.support.stack import Stream
from tidemark.errors import ActionRefusedError, EpochSuspectError
from tidemark.lake.catalog import SystemTables
from tidemark.lake.landing import read_mark
from tidemark.model.cut import HoldCode
from tidemark.model.names import tag_name
from tidemark.model.position import commit_ts_of
from tidemark.model.result import CutResult, CutStatus
from tidemark.model.until import Until
from tidemark.runs.orders import hand_over
from tidemark.runs.plan import plan_cut
from tidemark.runs.preview import preview_cut
from tidemark.runs.world import World
from tidemark.spec.until import until_of

MYSQL = {"key": ["id"], "columns": {"id": "int", "name": "text"}}
POSTGRES = {"key": ["id"], "columns": {"id": "integer", "name": "text"}}
TSO = 458911423758336000
UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"

Change = tuple[int, str | None]
"""Key and new name; None deletes."""


def cap(stream: Stream, text: str) -> Until:
    until = until_of(stream.pipeline, text)
    assert until is not None
    return until


def after(changes: Iterable[Change]) -> dict[int, str]:
    """The rows that ``changes`` leave behind, in their order."""
    rows: dict[int, str | None] = {}
    rows.update(changes)
    return {key: name for key, name in rows.items() if name is not None}


def op_of(name: str | None) -> str:
    return "d" if name is None else "u"


@pytest.mark.smoke
def test_a_commit_caps_by_watermarks(world: World) -> None:
    log: Mapping[int, Change] = {
        10: (1, "a"),
        20: (2, "b"),
        30: (1, "c"),
        31: (2, None),
        40: (3, "d"),
    }
    stream = Stream(world, 2).create()
    stream.send(
        ticdc_row(
            "DELETE" if name is None else "INSERT",
            key,
            TSO + at,
            name=name or "",
            partition=key % 2,
        )
        for at, (key, name) in log.items()
    )
    stream.send(ticdc_watermark(TSO + 90, partition) for partition in (0, 1))
    until = cap(stream, str(TSO + 30))

    result = stream.cut(until=until)
    assert (result.hold_code, result.hold) == (HoldCode.UNTIL, f"the run is capped at {TSO + 30}")
    assert stream.rows() == after(change for at, change in log.items() if at < 30)

    again = plan_cut(stream.pipeline, world, until)
    assert not again.has_work
    assert again.sentence == f"everything before {TSO + 30} is published"
    assert plan_cut(stream.pipeline, world).has_work
    stream.cut()
    assert stream.rows() == after(log.values())


def test_a_place_in_the_binlog_caps_by_transactions(world: World) -> None:
    """A place inside a transaction leaves all of it out, in silence too (GATE-T2, GATE-T6)."""
    transactions: list[list[tuple[int, Change]]] = [
        [(100, (1, "a")), (110, (2, "b"))],
        [(200, (1, "c")), (210, (2, None)), (220, (3, "d"))],
        [(300, (3, "e"))],
    ]
    stream = Stream(world, 1, "debezium-mysql", "transaction", MYSQL).create()
    for number, changes in enumerate(transactions, 1):
        own = f"{UUID}:{number}"
        ends = [boundary("BEGIN", own), boundary("END", own, len(changes))]
        stream.send(ends, stream.transactions)
        stream.send(
            debezium_row(op_of(name), key, pos, name=name or "", transaction=(own, order))
            for order, (pos, (key, name)) in enumerate(changes, 1)
        )

    def whole_below(bound: int) -> dict[int, str]:
        taken = [t for t in transactions if all(pos < bound for pos, _ in t)]
        return after(change for t in taken for _, change in t)

    inside = cap(stream, "mysql-bin.000009:210")
    assert preview_cut(stream.pipeline, world, until=inside).hold == (
        "the run is capped at mysql-bin.000009:210"
    )
    for _ in range(3):
        assert stream.cut(until=inside).hold_code == HoldCode.UNTIL
        assert stream.rows() == whole_below(210)
    stream.cut(until=cap(stream, "mysql-bin.000009:300"))
    assert stream.rows() == whole_below(300)
    assert plan_cut(stream.pipeline, world).has_work
    stream.cut()
    assert stream.rows() == whole_below(10**6)


BEGUN = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
"""When a row of `debezium_row` at 0 was committed."""


def moment(at: int) -> datetime:
    return BEGUN + timedelta(milliseconds=at)


def tagged(stream: Stream, at: int) -> CutResult:
    """Run up to ``at``, as a run does that fills the interval which ends there."""
    return stream.cut(until=Until.at_time(moment(at)), tag=tag_name(f"asof_{at}"))


def rows_at(stream: Stream, at: int) -> dict[int, str] | None:
    """The rows that the tag of the interval shows; None where there is none."""
    table = stream.world.catalog.load_table((stream.name, "items"))
    ref = table.refs().get(f"asof_{at}")
    if ref is None:
        return None
    rows = table.scan(snapshot_id=ref.snapshot_id).to_arrow().to_pylist()
    return {row["id"]: row["name"] for row in rows}


def replay_of_intervals(stream: Stream) -> None:
    """Intervals of a hundred; the changes came at 10, 110 and 310."""
    world, pipeline = stream.world, stream.pipeline
    assert [tagged(stream, at).status for at in (100, 200)] == [CutStatus.PUBLISHED] * 2
    assert plan_cut(pipeline, world, Until.at_time(moment(300)), "asof_300").has_work
    assert tagged(stream, 300).status is CutStatus.PUBLISHED, "it changes nothing but tags"
    assert tagged(stream, 300).status is CutStatus.IDLE
    stream.cut()
    late = plan_cut(pipeline, world, Until.at_time(moment(250)), "asof_250")
    assert not late.has_work
    assert late.sentence.endswith(
        "; what came later is published too, so that no table gets the tag asof_250"
    )
    assert tagged(stream, 250).status is CutStatus.IDLE
    shown = {at: rows_at(stream, at) for at in (100, 200, 250, 300)}
    assert shown == {100: {1: "a"}, 200: {1: "a", 2: "b"}, 250: None, 300: {1: "a", 2: "b"}}
    assert stream.rows() == {1: "a", 2: "b", 3: "c"}


@pytest.mark.smoke
def test_each_interval_is_kept_by_watermarks(world: World) -> None:
    """PUB-14: one that no watermark has passed is not, until one has."""
    stream = Stream(world).create()
    for at, key, name in ((10, 1, "a"), (110, 2, "b"), (310, 3, "c")):
        commit_ts = commit_ts_of(int(moment(at).timestamp() * 1000))
        stream.send([ticdc_row("INSERT", key, commit_ts, name=name)])
        stream.send([ticdc_watermark(commit_ts + 1, 0)])
    replay_of_intervals(stream)
    assert tagged(stream, 400).status is CutStatus.IDLE
    assert rows_at(stream, 400) is None


def test_each_interval_is_kept_by_transactions(world: World) -> None:
    """PUB-14: a later change proves that no earlier one is still to come."""
    stream = Stream(world, 1, "debezium-mysql", "transaction", MYSQL).create()
    for number, (at, name) in enumerate(((10, "a"), (110, "b"), (310, "c")), start=1):
        own = f"{UUID}:{number}"
        stream.send([boundary("BEGIN", own), boundary("END", own, 1)], stream.transactions)
        stream.send([debezium_row("c", number, at, name=name, transaction=(own, 1))])
    replay_of_intervals(stream)


CAPS = ["bin.000009:40", "2023-11-14T22:13:20.040Z"]


@pytest.mark.parametrize("text", CAPS)
def test_a_cap_ends_a_first_backlog_of_several_partitions(world: World, text: str) -> None:
    """TOP-3: it may have grown before it was read; the clock steps back behind the cap."""
    limits = {"limits": {"max-records": 4}}
    stream = Stream(world, 2, "debezium-mysql", "none", MYSQL, limits).create()
    stream.send(
        replace(debezium_row(op, key, pos, at=at), partition=partition)
        for partition, op, key, pos, at in (
            (0, "c", 1, 10, 10),
            (0, "c", 2, 20, 20),
            (0, "c", 3, 40, 40),
            (0, "c", 4, 70, 70),
            (1, "c", 5, 30, 30),
            (1, "d", 3, 50, 35),
            (1, "d", 1, 60, 60),
        )
    )
    until = cap(stream, text)
    holds = [stream.cut(until=until).hold_code for _ in range(2)]
    assert holds == [HoldCode.PARTITIONS_ADDED, HoldCode.UNTIL]
    assert stream.rows() == dict.fromkeys((1, 2, 5), "x")
    stream.cut()
    assert stream.rows() == dict.fromkeys((2, 4, 5), "x")


def test_a_place_in_the_binlog_is_one_of_the_newest_log(world: World) -> None:
    """POS-17: a log that was handed over begins with low positions again."""
    stream = Stream(world, 1, "debezium-mysql", "none", MYSQL).create()
    stream.send(debezium_row("c", n, 5000 + n, name="old") for n in (1, 2))
    stream.cut()
    new: list[tuple[int, Change]] = [(40, (1, "new")), (50, (2, None)), (60, (3, "new"))]
    stream.send(
        debezium_row(op_of(name), key, pos, name=name or "", at=6000 + pos)
        for pos, (key, name) in new
    )
    until = cap(stream, "bin.000009:50")
    with pytest.raises(EpochSuspectError):
        stream.cut(until=until)
    hand_over(stream.pipeline, world, is_continuous=True)
    old: list[Change] = [(1, "old"), (2, "old")]

    assert stream.cut(until=until).hold_code == HoldCode.UNTIL
    assert stream.rows() == after([*old, *(change for pos, change in new if pos < 50)])
    stream.cut()
    assert stream.rows() == after([*old, *(change for _, change in new)])


# PostgreSQL's transactions in the order of their commits: where each committed, and its changes by
# the LSN at which they were written. The third one was under way while the second one committed.
COMMITTED: list[tuple[int, list[tuple[int, Change]]]] = [
    (0x120, [(0x100, (1, "a")), (0x110, (2, "b"))]),
    (0x220, [(0x200, (1, "c"))]),
    (0x320, [(0x1F0, (2, "d")), (0x300, (3, "e"))]),
    (0x330, [(0x2F0, (4, "f"))]),
    (0x420, [(0x410, (1, None))]),
]


def streamed(*, partitions: int = 1, with_ids: bool) -> list[Record]:
    records, before = [], 0x90
    for xid, (commit, changes) in enumerate(COMMITTED, 500):
        for order, (lsn, (key, name)) in enumerate(changes, 1):
            own = (f"{xid}:{lsn}", order) if with_ids else None
            row = postgres_row(op_of(name), key, (before, lsn), name=name or "", transaction=own)
            records.append(Record(row.value, row.key, key % partitions))
        before = commit
    return records


def test_an_lsn_caps_by_transactions(world: World) -> None:
    """A transaction that wrote at or behind it waits whole, and what committed behind that."""
    stream = Stream(world, 2, "debezium-postgres", "transaction", POSTGRES).create()
    for xid, (commit, changes) in enumerate(COMMITTED, 500):
        ends = [
            boundary("BEGIN", f"{xid}:{changes[0][0]}"),
            boundary("END", f"{xid}:{commit}", len(changes)),
        ]
        stream.send(ends, stream.transactions)
    stream.send(streamed(partitions=2, with_ids=True))

    def below(bound: int) -> dict[int, str]:
        taken: list[Change] = []
        for _, changes in COMMITTED:
            if any(lsn >= bound for lsn, _ in changes):
                break
            taken += [change for _, change in changes]
        return after(taken)

    for text, bound in (("0/200", 0x200), ("0/2F0", 0x2F0), ("0/301", 0x301)):
        for _ in range(2):
            assert stream.cut(until=cap(stream, text)).hold_code == HoldCode.UNTIL
            assert stream.rows() == below(bound)
    assert below(0x200) != below(0x2F0) != below(0x301) != below(1 << 60)
    stream.cut()
    assert stream.rows() == below(1 << 60)


def test_an_lsn_ends_each_partition_without_a_gate(world: World) -> None:
    """GATE-N1: before its first change that was written at or behind it."""
    stream = Stream(world, 2, "debezium-postgres", "none", POSTGRES).create()
    stream.send(streamed(partitions=2, with_ids=False))

    def below(bound: int) -> dict[int, str]:
        taken: list[Change] = []
        for partition in range(2):
            for lsn, change in [change for _, changes in COMMITTED for change in changes]:
                if change[0] % 2 == partition:
                    if lsn >= bound:
                        break
                    taken.append(change)
        return after(taken)

    assert stream.cut(until=cap(stream, "0/2f5")).hold_code == HoldCode.UNTIL
    assert stream.rows() == below(0x2F5) == {1: "c", 2: "d", 4: "f"}
    stream.cut()
    assert stream.rows() == below(1 << 60)


def test_a_position_caps_no_source_whose_changes_tell_none(world: World) -> None:
    """POS-12: refused before anything is landed, whether that was known or shows only then."""
    stream = Stream(world, 1, "debezium-mysql", "none", MYSQL).create()
    stream.send([unplaced_row("c", 1, name="a")])
    until, tables = cap(stream, "binlog.000003:1547"), SystemTables.of(stream.pipeline.name)
    with pytest.raises(ActionRefusedError, match="its changes tell no position"):
        stream.cut(until=until)
    assert read_mark(world.catalog, tables).number == 0

    stream.cut()
    stream.send([unplaced_row("c", 2, name="b")])
    for capped in (plan_cut, lambda *given: preview_cut(*given[:2], until=given[2])):
        with pytest.raises(ActionRefusedError, match="its changes tell no position"):
            capped(stream.pipeline, world, until)
    with pytest.raises(ActionRefusedError, match="its changes tell no position"):
        stream.cut(until=until)
    assert read_mark(world.catalog, tables).number == 1
    stream.cut(until=cap(stream, "2100-01-01T00:00:00Z"))
    assert stream.rows() == {1: "a", 2: "b"}
