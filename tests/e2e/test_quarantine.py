"""What cannot be applied is set aside alone, is tried again, and undoes nothing that came since."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog
import yaml
from typer.testing import CliRunner

from tests.support.records import Record, boundary, canal_rows, debezium_row, postgres_row
from tests.support.stack import Stream
from tidemark.cli.app import app
from tidemark.embedded.home import embedded_environment
from tidemark.errors import OrderRefusedError, TableStoppedError
from tidemark.lake.catalog import SystemTables
from tidemark.lake.quarantine import read_entries
from tidemark.model.event import Reason
from tidemark.model.names import TableName
from tidemark.model.quarantine import Entry, Selection, State
from tidemark.model.result import CutResult, CutStatus
from tidemark.runs.cut import stage_cut
from tidemark.runs.orders import drop_entries, end_resync, replay_entries, skip_transaction
from tidemark.runs.plan import plan_cut
from tidemark.runs.publish import publish_cut
from tidemark.runs.run import CutRequest
from tidemark.runs.status import pipeline_status
from tidemark.runs.world import World

ITEMS = TableName("shop", "items")
NARROW = {"key": ["id"], "columns": {"id": "bigint", "name": "text", "n": "int"}}
WIDE = {"key": ["id"], "columns": {"id": "bigint", "name": "text", "n": "bigint"}}
POSTGRES = {"columns": {"id": "integer", "name": "text", "n": "integer"}}
LEFT_OUT = "__debezium_unavailable_value"
TOO_MUCH = 3_000_000_000


def row(op: str, number: int | None, pos: int, n: Any = 0, **told: Any) -> Record:
    """A row of shop.items with a column more."""
    record = debezium_row(op, number or 0, pos, **told)
    value = json.loads(record.value or b"")
    for image in filter(None, (value["before"], value["after"])):
        image |= {"n": n, "id": number}
    key = json.dumps({"id": number}).encode()
    return Record(json.dumps(value).encode(), key)


def opened(world: World, *records: Record, **options: Any) -> Stream:
    stream = Stream(world, 1, "debezium-mysql", "none", NARROW, options).create()
    stream.send(records)
    return stream


def published(stream: Stream) -> dict[int, int]:
    rows = stream.world.catalog.load_table((stream.name, "items")).scan().to_arrow().to_pylist()
    return {row["id"]: row["n"] for row in rows}


def entries(stream: Stream) -> list[Entry]:
    return list(read_entries(stream.world.catalog, SystemTables.of(stream.pipeline.name)))


def states(stream: Stream) -> dict[tuple[int, int | None], str]:
    return {(entry.offset, entry.row): entry.state.value for entry in entries(stream)}


def counted(result: CutResult) -> dict[str, int]:
    return {name: number for name, number in result.buckets.items() if number}


def replay(stream: Stream, selection: Selection = Selection()) -> CutResult:  # noqa: B008  frozen
    replay_entries(stream.pipeline, stream.world, selection)
    assert plan_cut(stream.pipeline, stream.world).has_work
    return stream.cut()


def test_a_bad_row_is_set_aside_mended_and_tried_again(world: World) -> None:
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
    assert pipeline_status(stream.pipeline, world).set_aside == 4

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
    with pytest.raises(OrderRefusedError, match="nothing waits in the quarantine"):
        replay_entries(stream.pipeline, world, Selection())
    assert not plan_cut(stream.pipeline, world).has_work


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

    few = opened(world, row("c", 1, 10, 1), row("c", 2, 11, "x"), limits={"max-set-aside": 2})
    few.cut()
    few.send([row("c", 3, 20, "x"), row("c", 4, 21, "x"), row("c", 5, 22, 5)])
    with pytest.raises(TableStoppedError, match=r"column n of type int; 1 of them may be set"):
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
    """POISON-1: each of them is set aside, as nobody knows whether they share a key."""
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
    assert result.set_aside == {"KEY_MISMATCH": 4, "KEY_NULL": 1, "KEY_UNDECODABLE": 2}
    assert [(entry.code, entry.row) for entry in entries(stream)][3:6] == [
        (Reason.KEY_NULL, None),
        (Reason.KEY_UNDECODABLE, None),
        (Reason.KEY_UNDECODABLE, None),
    ]
    assert published(stream) == {1: 1, 2: 2, 6: 6}
    stream.send([row("u", 2, 60, 22)])
    stream.cut()
    assert published(stream) == {1: 1, 2: 22, 6: 6}


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


def item(number: int, n: str) -> dict[str, str | None]:
    return {"id": str(number), "name": "x", "n": n}


def test_what_an_update_leaves_out_may_stand_in_a_change_that_was_set_aside(world: World) -> None:
    """UNAV-3, POISON-4: the target's row is not the row as it was before."""
    stream = Stream(world, 1, "debezium-postgres", "none", POSTGRES).create()
    stream.send([postgres_row("c", 1, (5, 10), name="a", n=1)])
    stream.cut()
    stream.send([postgres_row("u", 1, (15, 20), name="b", n=TOO_MUCH)])
    assert counted(stream.cut()) == {"quarantined": 1}
    stream.send([postgres_row("u", 1, (25, 30), name=LEFT_OUT, n=3)])
    stream.cut()
    assert (stream.rows(), published(stream)) == ({1: "b"}, {1: 3})
    stream.send([postgres_row("u", 1, (35, 40), name=LEFT_OUT, n=TOO_MUCH)])
    stream.cut()
    replay(stream)
    assert (stream.rows(), published(stream)) == ({1: "b"}, {1: 3})


def test_what_nothing_tells_is_set_aside_until_a_whole_row_comes(world: World) -> None:
    """UNAV-3, UNAV-7: other rows go on; what was in doubt is older then, and changes nothing."""
    stream = Stream(world, 1, "debezium-postgres", "none", POSTGRES).create()
    stream.send(
        [
            postgres_row("c", 1, (5, 10), name="a", n=1),
            postgres_row("u", 2, (15, 20), name=LEFT_OUT, n=2),
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


def test_a_change_that_is_set_aside_has_been_seen(world: World) -> None:
    """POISON-5: its transaction is whole, and so are those behind it."""
    stream = Stream(world, 1, "debezium-mysql", "transaction", NARROW).create()
    first = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1"
    stream.send([boundary("BEGIN", first), boundary("END", first, 2)], stream.transactions)
    stream.send(
        [
            row("c", 1, 10, TOO_MUCH, transaction=(first, 1)),
            row("c", 2, 20, 2, transaction=(first, 2)),
        ]
    )
    result = stream.cut()
    assert (result.hold, counted(result)["quarantined"]) == ("", 1)
    assert published(stream) == {2: 2}


def test_what_cannot_be_read_of_a_transaction_has_been_seen(world: World) -> None:
    """POISON-5: whenever it came; it settles with its transaction, and the cut says so."""
    stream = Stream(world, 1, "debezium-mysql", "transaction", NARROW).create()
    first, second, third = (f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{n}" for n in (1, 2, 3))
    stream.send([without_row(1, 10, (first, 1))])
    assert stream.cut().buckets["quarantined"] == 0
    ends = [boundary("BEGIN", first), boundary("END", first, 1)]
    ends += [boundary("BEGIN", second), boundary("END", second, 3)]
    stream.send(ends, stream.transactions)
    stream.send([row("c", 2, 20, 2, transaction=(second, 1)), without_row(3, 21, (second, 2))])
    result = stream.cut()
    assert "its END counts 3 of shop.items, 2 came" in result.hold
    assert (result.set_aside, result.buckets["held"]) == ({"IMAGE_MISSING": 1}, 4)
    stream.send([row("c", 4, 22, 4, transaction=(second, 3))])
    result = stream.cut()
    assert (result.hold, result.set_aside) == ("", {"IMAGE_MISSING": 1})
    assert published(stream) == {2: 2, 4: 4}
    assert [(one.offset, one.code, bool(one.position)) for one in entries(stream)] == [
        (0, Reason.IMAGE_MISSING, True),
        (2, Reason.IMAGE_MISSING, True),
    ]
    stream.send([boundary("BEGIN", third), boundary("END", third, 1)], stream.transactions)
    stream.send([without_row(5, 30, None)])
    result = stream.cut()
    assert "its END counts 1 of shop.items, 0 came" in result.hold, "nobody knows whose it is"
    skip_transaction(stream.pipeline, world, third)
    assert stream.cut().hold == ""


def without_row(number: int, pos: int, transaction: tuple[str, int] | None) -> Record:
    """An insert whose row is not in it."""
    record = row("c", number, pos, transaction=transaction)
    return replace(
        record, value=json.dumps(json.loads(record.value or b"") | {"after": None}).encode()
    )


def test_a_record_of_unknown_kind_may_have_been_a_statement(world: World) -> None:
    """POISON-3: the cut and the status say so, until it is replayed or dropped."""
    stream = Stream(world, format="canal-json", gate="none", table={"columns": {"n": "int"}})
    stream.create().send([canal_rows("INSERT", item(1, "1")), Record(b"cut off {")])
    result = stream.cut()
    assert (result.set_aside, result.unknown) == ({"JSON_INVALID": 1}, {stream.topic: 1})
    stream.send([canal_rows("INSERT", item(2, "2"))])
    result = stream.cut()
    assert (result.set_aside, result.unknown) == ({}, {stream.topic: 1})
    (doubt,) = pipeline_status(stream.pipeline, world).doubts
    assert f"tables of topic {stream.topic} may lack a truncate or a schema change" in doubt
    drop_entries(stream.pipeline, world, Selection(), "a test sent it")
    assert pipeline_status(stream.pipeline, world).doubts == ()
    stream.send([canal_rows("INSERT", item(3, "3"))])
    assert stream.cut().unknown == {}
    assert published(stream) == {1: 1, 2: 2, 3: 3}


def test_what_a_person_gives_up_of_a_transaction_is_listed(world: World) -> None:
    """GATE-T8, POISON-1."""
    stream = Stream(world, 1, "debezium-mysql", "transaction", NARROW).create()
    first, second = (f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{number}" for number in (1, 2))
    ends = [boundary("BEGIN", first), boundary("END", first, 2)]
    ends += [boundary("BEGIN", second), boundary("END", second, 1)]
    stream.send(ends, stream.transactions)
    stream.send([row("c", 1, 10, 1, transaction=(first, 1))])
    stream.send([row("c", 3, 20, 3, transaction=(second, 1))])
    stream.cut()
    skip_transaction(stream.pipeline, world, first)
    stream.cut()
    assert [(entry.offset, entry.code) for entry in entries(stream)] == [(0, Reason.TX_SKIPPED)]
    with pytest.raises(OrderRefusedError, match="TX_SKIPPED"):
        replay_entries(stream.pipeline, world, Selection())
    assert published(stream) == {3: 3}


def test_a_snapshot_removes_nothing_while_its_rows_are_set_aside(world: World) -> None:
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
    assert "changes of it are set aside" in pipeline_status(stream.pipeline, world).snapshots[ITEMS]
    with pytest.raises(OrderRefusedError, match="1 changes of shop.items are set aside"):
        end_resync(stream.pipeline, world, ITEMS)
    stream.table = WIDE
    replay(stream)
    end_resync(stream.pipeline, world, ITEMS)
    stream.cut()
    assert set(published(stream)) == {0, 1, 2, 4, 5, 6, 7, 8, 9}
    assert published(stream)[5] == TOO_MUCH


def test_an_attempt_that_is_not_published_sets_nothing_aside(world: World) -> None:
    """POISON-1, PUB-8: whatever is staged beside it or after it, each change is there once."""
    stream = opened(world, row("c", 1, 10, 1), row("c", 2, 20, TOO_MUCH), Record(b"not json"))
    for _ in range(2):
        assert stage_cut(stream.pipeline, world, CutRequest(stream.attempt())).status is (
            CutStatus.STAGED
        )
        assert entries(stream) == []
    attempt = stream.attempt()
    stage_cut(stream.pipeline, world, CutRequest(attempt))
    for _ in range(2):
        publish_cut(stream.pipeline, world, attempt)
        assert [(entry.offset, entry.code) for entry in entries(stream)] == [
            (1, Reason.VALUE_OUT_OF_RANGE),
            (2, Reason.JSON_INVALID),
        ]
    stream.send([row("c", 3, 30, 3)])
    stream.cut()
    assert len(entries(stream)) == 2


@pytest.fixture
def log_of_commands() -> Iterator[None]:
    """Commands log to a terminal of their own, which is closed behind them."""
    yield
    structlog.reset_defaults()


@pytest.mark.usefixtures("log_of_commands")
def test_the_quarantine_is_worked_on_from_a_terminal(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """POISON-1: no value is shown unless it is asked for."""
    secret = row("c", 2, 20, "secret\x1b[2J")
    stream = opened(world, row("c", 1, 10, 1), secret, Record(b"not json"))
    stream.cut()
    pipeline = stream.pipeline.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    (tmp_path / f"{stream.name}.yaml").write_text(yaml.safe_dump(pipeline))
    for name, value in embedded_environment(world.installation.state, world.broker.servers).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TIDEMARK_PIPELINES", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")

    def said(*words: str) -> str:
        ended = CliRunner().invoke(app, ["quarantine", words[0], stream.name, *words[1:]])
        assert ended.exit_code == 0, ended.output
        return " ".join(ended.stdout.split())

    told = CliRunner().invoke(app, ["status", stream.name]).stdout
    assert f"in doubt tables of topic {stream.topic} may lack a truncate" in " ".join(told.split())
    listed = said("list")
    assert "2 changes in quarantine" in listed
    assert "shop.items TYPE_MISMATCH 1" in listed
    assert f"{stream.topic} 0 1 0 shop.items n TYPE_MISMATCH" in listed
    place = (stream.topic, "0", "1")
    assert "secret" not in listed + said("show", *place)
    assert '"n": "secret\\u001b[2J"' in said("show", *place, "--payload")
    assert "1 change will be tried again" in said("replay", "--code", "TYPE_MISMATCH")
    record = f"{stream.topic}:0:2"
    assert "1 change given up" in said("drop", "--record", record, "--reason", "a test")
    shown = said("show", stream.topic, "0", "2")
    assert "JSON_INVALID dropped" in shown
    assert "because a test" in shown
