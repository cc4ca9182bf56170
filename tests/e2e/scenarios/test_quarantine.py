"""What cannot be applied is quarantined alone, is tried again, and undoes nothing that came
since.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import date

import pytest

from tests.support.quarantined import (
    EVERYTHING,
    ITEMS,
    NARROW,
    POSTGRES,
    TOO_MUCH,
    UNAVAILABLE,
    WIDE,
    entries,
    item,
    opened,
    published,
    replay,
    row,
    states,
)
from tests.support.records import (
    Record,
    canal_message,
    canal_rows,
    debezium_row,
    postgres_row,
    ticdc_watermark,
)
from tests.support.stack import Stream, counted
from tidemark.errors import ActionRefusedError, TableStoppedError
from tidemark.model.event import Reason
from tidemark.model.quarantine import Selection, State
from tidemark.model.result import CutStatus
from tidemark.runs.orders import drop_entries, end_resync, replay_entries
from tidemark.runs.plan import plan_cut
from tidemark.runs.refold import begin_refold
from tidemark.runs.status import pipeline_status
from tidemark.runs.world import World


@pytest.mark.smoke
def test_a_bad_row_is_quarantined_fixed_and_tried_again(world: World) -> None:
    """POISON-1, POISON-4, ACC-1: what is newer stays, and what was deleted stays deleted."""
    stream = opened(world, *(row("c", number, 10 + number, number) for number in range(1, 7)))
    stream.cut()
    bad = [row("u", number, 100 + number, TOO_MUCH + number) for number in (1, 2, 3)]
    stream.send([row("u", 4, 99, 40), *bad, row("c", 9, 110, TOO_MUCH), row("d", 5, 120)])
    result = stream.cut()
    assert counted(result) == {"applied": 2, "quarantined": 4}
    assert published(stream) == {1: 1, 2: 2, 3: 3, 4: 40, 6: 6}
    first = entries(stream)[0]
    assert (first.place, first.row) == ((stream.topic, 0, 7), 0)
    assert (first.code, first.column, first.table) == (
        Reason.VALUE_OUT_OF_RANGE,
        "n",
        "shop.items",
    )
    assert (first.cut, first.state, first.bytes) == (2, State.WAITING, len(bad[0].value or b""))
    assert first.sha256 == hashlib.sha256(bad[0].value or b"").hexdigest()
    assert first.kafka_time is not None
    assert pipeline_status(stream.pipeline, world).quarantined == 4

    stream.send([row("u", 2, 200, 22), row("d", 3, 210), row("d", 9, 220)])
    stream.cut()
    assert counted(replay(stream)) == {"quarantined": 1, "duplicate": 3}, "it still does not fit"
    assert published(stream) == {1: 1, 2: 22, 4: 40, 6: 6}
    stream.table = WIDE
    stream.send([row("u", 6, 300, 66)])
    assert counted(replay(stream)) == {"applied": 2}
    assert published(stream) == {1: TOO_MUCH + 1, 2: 22, 4: 40, 6: 66}
    assert states(stream) == {
        (7, 0): "applied",
        (8, 0): "duplicate",
        (9, 0): "duplicate",
        (10, 0): "duplicate",
    }
    with pytest.raises(ActionRefusedError, match="nothing waits in the quarantine"):
        replay_entries(stream.pipeline, world, Selection())
    assert not plan_cut(stream.pipeline, world).has_work


def test_a_row_that_fell_has_overtaken_nothing(world: World) -> None:
    """POISON-4, SNAP-7: it was read before the truncate, though it stands behind the change."""
    stream = opened(world, row("c", 1, 10, 1))
    stream.cut()
    truncate = debezium_row("t", 0, 130, with_key=False)
    fallen = row("r", 5, 150, 5, mark="incremental")
    stream.send([truncate, row("c", 5, 140, TOO_MUCH), fallen])
    assert counted(stream.cut())["quarantined"] == 1
    assert published(stream) == {}
    stream.table = WIDE
    assert counted(replay(stream)) == {"applied": 1}
    assert published(stream) == {5: TOO_MUCH}


@pytest.mark.parametrize("family", ["canal", "ticdc"])
def test_a_date_of_zero_is_null_or_quarantined(world: World, family: str) -> None:
    """TYPE-12, POISON-1: as the file says; a replay takes it as the file says then."""

    def told(number: int, day: str) -> Record:
        at = {"id": str(number), "name": "x", "day": day}
        if family == "canal":
            return canal_rows("INSERT", at, day="date")
        tidb = {"commitTs": 8 * number}
        return canal_message(
            *("INSERT",),
            tidb=tidb,
            pkNames=["id"],
            sqlType={"id": -5, "name": 12, "day": 91},
            mysqlType={"id": "bigint", "name": "varchar", "day": "date"},
            data=[at],
        )

    stream = Stream(world)
    if family == "canal":
        stream = Stream(world, format="canal-json", gate="none")
    stream.create()
    end = [ticdc_watermark(20)] if family == "ticdc" else []
    stream.send([told(1, "2026-01-02"), told(2, "0000-00-00"), *end])
    stream.cut()
    days = {row["id"]: row["day"] for row in stream.published()}
    assert days == {1: date(2026, 1, 2), 2: None}
    stream.source = {"zero-dates": "quarantine"}
    end = [ticdc_watermark(50)] if family == "ticdc" else []
    stream.send([told(3, "0000-00-00"), told(4, "2026-00-10"), told(5, "2026-01-05"), *end])
    assert counted(stream.cut())["quarantined"] == 2
    assert {(e.code, e.column) for e in entries(stream)} == {(Reason.TEMPORAL_INVALID, "day")}
    assert {row["id"] for row in stream.published()} == {1, 2, 5}
    stream.source = {}
    assert counted(replay(stream))["applied"] == 2
    days = {row["id"]: row["day"] for row in stream.published()}
    assert (days[3], days[4], days[5]) == (None, None, date(2026, 1, 5))


def test_a_key_keeps_its_newest_good_change(world: World) -> None:
    """POISON-4: of those in the cut, else that of the target; a later whole row heals it."""
    stream = opened(world, row("c", 1, 10, 1), row("c", 2, 20, 2), row("c", 3, 30, 3))
    stream.cut()
    bad = [row("u", number, 60, TOO_MUCH) for number in (1, 2, 3)]
    stream.send([row("u", 1, 40, 10), row("d", 2, 50), *bad, row("u", 3, 70, "heavy")])
    result = stream.cut()
    assert counted(result) == {"applied": 2, "quarantined": 4}
    assert published(stream) == {1: 10, 3: 3}
    assert [entry.code for entry in entries(stream)][-1] is Reason.TYPE_MISMATCH
    stream.send([row("u", 3, 80, 33)])
    stream.cut()
    assert published(stream) == {1: 10, 3: 33}


def test_columns_that_changed_have_what_waits_tried_again_unasked(world: World) -> None:
    """POISON-4: a statement can be read after the rows behind it."""
    stream = opened(world, row("c", 1, 10, 1))
    stream.cut()
    stream.send([row("u", 1, 20, TOO_MUCH), row("c", 2, 30, 2)])
    stream.cut()
    stream.table = WIDE
    stream.send([row("c", 3, 40, 3)])
    stream.cut()
    assert plan_cut(stream.pipeline, world).has_work
    stream.cut()
    assert published(stream) == {1: TOO_MUCH, 2: 2, 3: 3}
    assert not plan_cut(stream.pipeline, world).has_work


def test_a_replay_waits_for_the_refold_of_its_table(world: World) -> None:
    """POISON-4, REFOLD-1: the copy as of a cut has none of it, the target does afterwards.

    A record that may be of any table is tried again at once.
    """
    stream = opened(world, *(row("c", number, 10 + number, number) for number in (1, 2, 3)))
    stream.cut()
    stream.send([row("u", 1, 100, TOO_MUCH), row("u", 2, 110, 22), Record(b"no JSON")])
    stream.cut()
    assert published(stream) == {1: 1, 2: 22, 3: 3}
    stream.table = WIDE
    begin_refold(stream.pipeline, world, ITEMS, into="copy", as_of=1)
    replay_entries(stream.pipeline, world, EVERYTHING)
    cuts = 0
    while plan_cut(stream.pipeline, world).has_work:
        stream.cut()
        cuts += 1
        assert cuts < 5
    copy = world.catalog.load_table((stream.name, "copy")).scan().to_arrow().to_pylist()
    assert {row["id"]: row["n"] for row in copy} == {1: 1, 2: 2, 3: 3}
    assert published(stream) == {1: TOO_MUCH, 2: 22, 3: 3}
    assert states(stream) == {(3, 0): State.APPLIED, (5, None): State.WAITING}


@pytest.mark.smoke
def test_a_table_with_many_bad_rows_stops(world: World) -> None:
    """POISON-2, TYPE-2: of one run, and of all that waits; nothing is made or published."""
    bad = [row("c", number, 10 + number, TOO_MUCH) for number in range(11)]
    stream = opened(world, row("c", 99, 1, 9), *bad)
    with pytest.raises(TableStoppedError, match=r"11 rows of shop\.items hold a value that does"):
        stream.cut()
    assert not world.catalog.table_exists((stream.name, "items"))
    assert entries(stream) == []
    stream.table = {"key": ["id"], "columns": {"id": "bigint", "name": "text", "n": "varchar(20)"}}
    stream.cut()
    assert len(published(stream)) == 12

    few = opened(world, row("c", 1, 10, 1), row("c", 2, 11, "x"), limits={"max-quarantined": 2})
    few.cut()
    few.send([row("c", 3, 20, "x"), row("c", 4, 21, "x"), row("c", 5, 22, 5)])
    with pytest.raises(TableStoppedError, match=r"of type int; 1 of them may be quarantined"):
        few.cut()
    assert drop_entries(few.pipeline, world, Selection("shop.items"), "by hand") == 1
    assert counted(few.cut()) == {"applied": 1, "quarantined": 2}
    assert published(few) == {1: 1, 5: 5}
    assert [(entry.state, entry.reason) for entry in entries(few)] == [
        (State.DROPPED, "by hand"),
        (State.WAITING, ""),
        (State.WAITING, ""),
    ]


def test_a_row_whose_key_cannot_be_read_concerns_no_other(world: World) -> None:
    """POISON-1: each of them is quarantined, as nobody knows whether they share a key."""
    stream = opened(world, row("c", 1, 10, 1), *(row("c", None, 20 + n, n) for n in range(3)))
    assert counted(stream.cut()) == {"applied": 1, "quarantined": 3}
    assert published(stream) == {1: 1}
    assert {(entry.code, entry.row) for entry in entries(stream)} == {(Reason.KEY_NULL, None)}
    assert counted(replay(stream)) == {"quarantined": 3}
    assert states(stream) == {(1, None): "waiting", (2, None): "waiting", (3, None): "waiting"}


def test_a_record_with_the_key_of_another_row_changes_neither(world: World) -> None:
    """KEY-1, KEY-3: columns that the key lacks, or has besides, and values that the row has not."""
    stream = Stream(world, 1, "debezium-mysql", "none", {"columns": NARROW["columns"]}).create()
    stream.send([row("c", 1, 10, 1), row("c", 2, 20, 2)])
    stream.cut()
    keys = [b'{"id":2}', b'{"id":3,"n":3}', b'{"n":3}', b'{"id":null}', b"3", b'{"id":"x"}']
    bad = [replace(row("u", 1, 30 + n, 7), key=key) for n, key in enumerate(keys)]
    stream.send([*bad, replace(row("d", 1, 40), key=b'{"id":2,"n":2}'), row("c", 6, 50, 6)])
    result = stream.cut()
    assert counted(result) == {"applied": 1, "quarantined": 7}
    assert result.quarantined == {"KEY_MISMATCH": 4, "KEY_NULL": 1, "KEY_UNDECODABLE": 2}
    assert [(entry.code, entry.row) for entry in entries(stream)][3:6] == [
        (Reason.KEY_NULL, None),
        (Reason.KEY_UNDECODABLE, None),
        (Reason.KEY_UNDECODABLE, None),
    ]
    assert published(stream) == {1: 1, 2: 2, 6: 6}
    stream.send([row("u", 2, 60, 22)])
    stream.cut()
    assert published(stream) == {1: 1, 2: 22, 6: 6}


def test_a_row_whose_declared_key_is_not_told_stays(world: World) -> None:
    """KEY-5: the replica identity is the primary key, and an empty text is no value of another."""
    coded = {"columns": {"id": "integer", "name": "text"}, "key": ["name"]}
    options = {"limits": {"max-quarantined": 2}}
    stream = Stream(world, 1, "debezium-postgres", "none", coded, options).create()
    stream.send([postgres_row("c", n, (n, n), name=name) for n, name in enumerate(("", "a", "b"))])
    stream.cut()
    moved = postgres_row("u", 2, (20, 21), name="c")
    before = {"id": 2, "name": ""}
    value = json.dumps(json.loads(moved.value or b"") | {"before": before}).encode()
    stream.send([postgres_row("d", 1, (10, 11), name=""), replace(moved, value=value)])
    result = stream.cut()
    assert result.quarantined == {"KEY_UNAVAILABLE": 2}
    assert sorted(row["name"] for row in stream.published()) == ["", "a", "b"]
    assert counted(replay(stream)) == {"quarantined": 2}
    stream.send([postgres_row("d", 2, (30, 31), name="")])
    with pytest.raises(
        TableStoppedError, match=r"(?s)\(name\).*KEY_UNAVAILABLE.*REPLICA IDENTITY USING INDEX"
    ):
        stream.cut()


def test_rows_of_one_record_go_their_own_ways(world: World) -> None:
    """ACC-2, POISON-4: its other rows are no news, though one was deleted since."""
    stream = Stream(world, format="canal-json", gate="none", table={"columns": {"n": "int"}})
    stream.create().send([canal_rows("INSERT", *(item(number, "1") for number in range(3)))])
    stream.cut()
    stream.send([canal_rows("INSERT", item(7, "7"), item(8, str(TOO_MUCH)), item(9, "9"))])
    assert counted(stream.cut()) == {"applied": 2, "quarantined": 1}
    stream.send([canal_rows("DELETE", item(7, "7"))])
    stream.cut()
    stream.table = {"columns": {"n": "bigint"}}
    stream.send([canal_rows("INSERT", item(10, "1"))])
    assert counted(replay(stream)) == {"applied": 2, "duplicate": 2}
    assert published(stream) == {0: 1, 1: 1, 2: 1, 8: TOO_MUCH, 9: 9, 10: 1}
    assert states(stream) == {(1, 2): "applied"}


def test_what_an_update_leaves_out_may_stand_in_a_change_that_was_quarantined(world: World) -> None:
    """UNAV-3, POISON-4: the target's row is not the row as it was before."""
    stream = Stream(world, 1, "debezium-postgres", "none", POSTGRES).create()
    stream.send([postgres_row("c", 1, (5, 10), name="a", n=1)])
    stream.cut()
    stream.send([postgres_row("u", 1, (15, 20), name="b", n=TOO_MUCH)])
    assert counted(stream.cut()) == {"quarantined": 1}
    stream.send([postgres_row("u", 1, (25, 30), name=UNAVAILABLE, n=3)])
    stream.cut()
    assert (stream.rows(), published(stream)) == ({1: "b"}, {1: 3})
    stream.send([postgres_row("u", 1, (35, 40), name=UNAVAILABLE, n=TOO_MUCH)])
    stream.cut()
    replay(stream)
    assert (stream.rows(), published(stream)) == ({1: "b"}, {1: 3})


def test_what_nothing_tells_is_quarantined_until_a_whole_row_comes(world: World) -> None:
    """UNAV-3, UNAV-7: other rows go on; what was in doubt is older then, and changes nothing."""
    stream = Stream(world, 1, "debezium-postgres", "none", POSTGRES).create()
    stream.send(
        [
            postgres_row("c", 1, (5, 10), name="a", n=1),
            postgres_row("u", 2, (15, 20), name=UNAVAILABLE, n=2),
        ]
    )
    assert counted(stream.cut()) == {"applied": 1, "quarantined": 1}
    assert stream.rows() == {1: "a"}
    (entry,) = entries(stream)
    assert (entry.offset, entry.code, entry.column) == (1, Reason.UNAVAILABLE_UNRESOLVED, "name")
    stream.send([postgres_row("u", 2, (25, 30), name="b", n=3)])
    stream.cut()
    assert stream.rows() == {1: "a", 2: "b"}
    assert counted(replay(stream)) == {"duplicate": 1}
    assert states(stream) == {(1, 0): "duplicate"}
    assert stream.rows() == {1: "a", 2: "b"}


def test_a_snapshot_removes_nothing_while_its_rows_are_quarantined(world: World) -> None:
    """SNAP-6, POISON-4: a row that could not be read is not missing at the source."""
    marks = ["true"] * 9 + ["last"]
    stream = opened(world, *(row("r", n, 100, n, mark=m) for n, m in enumerate(marks)))
    stream.cut()
    stream.send([row("u", 1, 110, 11)])
    stream.cut()
    again = [row("r", n, 200, TOO_MUCH if n == 5 else n, mark=m) for n, m in enumerate(marks)]
    stream.send([*again[:3], *again[4:]])
    assert counted(stream.cut()) == {"applied": 8, "quarantined": 1}
    result = stream.cut()
    assert (result.status, result.tables[0].outcome) == (CutStatus.PUBLISHED, "warn")
    assert published(stream)[5] == 5
    assert (
        "changes of it are quarantined" in pipeline_status(stream.pipeline, world).snapshots[ITEMS]
    )
    with pytest.raises(ActionRefusedError, match="1 changes of shop.items are quarantined"):
        end_resync(stream.pipeline, world, ITEMS)
    stream.table = WIDE
    replay(stream)
    end_resync(stream.pipeline, world, ITEMS)
    stream.cut()
    assert set(published(stream)) == {0, 1, 2, 4, 5, 6, 7, 8, 9}
    assert published(stream)[5] == TOO_MUCH
