"""Staging by Python: the same tables and accounts as by expressions, whatever stands in a topic."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from tests.support.records import Record, boundary, debezium_row, postgres_row
from tests.support.stack import Stream
from tests.support.workers import killing_workers
from tidemark.errors import TableStoppedError, WorkerLostError
from tidemark.model.result import CutResult, CutStatus
from tidemark.runs.run import Run
from tidemark.runs.staging import newest_rows, stage, tasks
from tidemark.runs.staging.key_conflicts import refuse_key_conflicts
from tidemark.runs.world import World

MYSQL = {"columns": {"id": "bigint", "name": "text"}}
POSTGRES = {"columns": {"id": "integer", "name": "text"}}
ONE, TWO = ("id",), ("id", "name")
BY_DRIVER, BY_TASKS = (10_000, 50_000, 250_000), (0, 5, 7)
"""FEW_RECORDS, LEAST_RECORDS and MOST_RECORDS."""

Staged = list[bool]


@pytest.fixture
def by_python(monkeypatch: pytest.MonkeyPatch) -> Staged:
    """Of each table that was staged, whether tasks did it."""
    staged: Staged = []
    real = tasks.stage_by_tasks

    def watched(*args: Any) -> Any:
        found = real(*args)
        staged.append(found is not None)
        return found

    monkeypatch.setattr(stage, "stage_by_tasks", watched)
    return staged


@pytest.fixture
def sized(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Where work is done, by the sizes of it."""
    for name, number in zip(
        ("FEW_RECORDS", "LEAST_RECORDS", "MOST_RECORDS"), request.param, strict=True
    ):
        monkeypatch.setattr(tasks, name, number)


def changed(record: Record, old: bytes, new: bytes) -> Record:
    """With other bytes in its value."""
    value = (record.value or b"").replace(old, new)
    assert value != record.value
    return replace(record, value=value)


ODD: Sequence[Callable[[Record], Record]] = (
    lambda record: changed(record, b'"name": "', b'"name": 12.50, "other": "'),
    lambda record: changed(record, b'"name": "', b'"name":"z","name": "'),
    lambda record: changed(record, b'"before": null', b'"before" : {"id":1,"id":1}'),
    lambda record: changed(record, b'"id": ', b'"id": 9'),
    lambda record: changed(record, b'"name": "', b'"name":{"a":1}, "other": "'),
    lambda record: replace(
        record, value=b'{"schema":{"a":1},"payload":%b}' % (record.value or b"")
    ),
)
"""Records that the reader leaves to the expressions, or only one of many reads."""


def history(
    chances: random.Random, positions: Iterator[int], count: int, key: Sequence[str]
) -> Iterator[Record]:
    """Changes of some keys in three partitions, as no connector would spread them."""
    for _ in range(count):
        op = chances.choice(("c", "u", "u", "d", "r"))
        name = chances.choice(("x", "caf\u00e9", 'a "b": c', "", "\u2615" * 3))
        at, number = next(positions), chances.randrange(30)
        record = debezium_row(op, number, at, name=name, mark="true" if op == "r" else "false")
        own = {"id": number, "name": name}
        record = replace(record, key=json.dumps({column: own[column] for column in key}).encode())
        if op in "cu" and chances.random() < 0.07:
            record = chances.choice(ODD)(record)
        yield replace(record, partition=chances.randrange(3))


def beside(stream: Stream) -> Stream:
    """Another pipeline on the same topics."""
    other = copy.copy(stream)
    other.name = f"{stream.name}_other"
    return other


def cut_both_ways(
    stream: Stream, monkeypatch: pytest.MonkeyPatch, staged: Staged
) -> tuple[CutResult, CutResult]:
    """Cuts of two pipelines on one topic, the second by expressions alone."""
    first = stream.cut()
    assert staged
    with monkeypatch.context() as patched:
        patched.setattr(stage, "can_stage_by_tasks", lambda *_: False)
        return first, beside(stream).cut()


def told(result: CutResult) -> tuple[object, ...]:
    """What both ways have to agree on."""
    tables = [replace(table, target="", snapshot_id=0) for table in result.tables]
    return result.status, result.cut, result.buckets, result.quarantined, result.stopped, tables


def rows(stream: Stream) -> list[dict[str, Any]]:
    """All columns of the target."""
    return sorted(stream.published(), key=lambda row: (row["id"], row["name"] or ""))


@pytest.mark.parametrize("sized", [BY_DRIVER, BY_TASKS], indirect=True, ids=["driver", "tasks"])
@pytest.mark.parametrize("key", [ONE, TWO], ids=["one", "two"])
@pytest.mark.usefixtures("sized")
def test_tasks_stage_what_expressions_stage(
    world: World, monkeypatch: pytest.MonkeyPatch, by_python: Staged, key: Sequence[str]
) -> None:
    """POS-13, KEY-1, TYPE-2, ACC-1: three cuts with odd changes among them, and a truncate."""
    stream = Stream(world, 3, "debezium-mysql", "none", MYSQL).create()
    chances, positions = random.Random(7), iter(range(1_000, 10_000))  # noqa: S311  the same each time
    for number in range(3):
        sent = list(history(chances, positions, 120, key))
        if number == 1:
            sent.insert(60, debezium_row("t", 0, next(positions), with_key=False))
        stream.send(sent)
        first, second = cut_both_ways(stream, monkeypatch, by_python)
        assert told(first) == told(second)
        assert first.status is CutStatus.PUBLISHED
        assert rows(stream) == rows(beside(stream))
    assert all(by_python)
    assert len(rows(stream)) > 10


def outcome(cut: Callable[[], CutResult]) -> tuple[object, ...] | str:
    """What both ways have to agree on, or why they stop the table."""
    try:
        return told(cut())
    except TableStoppedError as error:
        return error.what.replace("_other", "")


@pytest.mark.parametrize("sized", [BY_DRIVER, BY_TASKS], indirect=True, ids=["driver", "tasks"])
@pytest.mark.usefixtures("sized")
def test_keys_are_looked_at_that_one_transaction_gave_and_took(
    world: World, monkeypatch: pytest.MonkeyPatch, by_python: Staged
) -> None:
    """KEY-9: what one finds no conflict in, the other one finds none in either."""
    looked: list[str] = []

    def watched(run: Run, *rest: Any) -> None:
        looked.append(run.pipeline.name)
        refuse_key_conflicts(run, *rest)

    monkeypatch.setattr(stage, refuse_key_conflicts.__name__, watched)
    stream = Stream(world, 1, "debezium-postgres", "none", POSTGRES).create()
    chances, lsn = random.Random(3), 1_000  # noqa: S311  the same each time
    outcomes = []
    for number in range(5):
        sent = []
        for _ in range(12):
            commit, key = lsn, 10 * (number // 2) + chances.randrange(6)
            for op in chances.choice(("c", "u", "d", "cd")):
                lsn += 10
                sent.append(postgres_row(op, key, (commit, lsn), name=str(lsn), tx_id=commit))
        stream.send(sent)
        outcomes.append(outcome(stream.cut))
        with monkeypatch.context() as patched:
            patched.setattr(stage, "can_stage_by_tasks", lambda *_: False)
            assert outcome(beside(stream).cut) == outcomes[-1]
        assert rows(stream) == rows(beside(stream))
        if isinstance(outcomes[-1], str):
            stream.send([postgres_row("r", key, (lsn, lsn + 1)) for key in range(30)])
            lsn += 10
    assert all(by_python)
    assert {type(one) for one in outcomes} == {tuple, str}
    assert 0 < looked.count(stream.name) < looked.count(f"{stream.name}_other")


def test_what_is_above_the_gate_waits(
    world: World, monkeypatch: pytest.MonkeyPatch, by_python: Staged
) -> None:
    """GATE-T2, ACC-1: beside what an earlier cut has taken from the same files."""
    stream = Stream(world, 1, "debezium-mysql", "transaction", MYSQL).create()
    ids = [f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{number}" for number in range(4)]
    for number, (own, following) in enumerate(pairwise(ids)):
        ended = [boundary("BEGIN", own), boundary("END", own, 2)]
        stream.send(ended, stream.transactions)
        at = 100 * (number + 1)
        began = [(at, own, 1), (at + 10, own, 2), (at + 20, following, 1)]
        stream.send(
            debezium_row("u", pos % 3, pos, name=f"{pos}", transaction=(one, order))
            for pos, one, order in began
            if number == 0 or (one, order) != (own, 1)
        )
        first, second = cut_both_ways(stream, monkeypatch, by_python)
        assert told(first) == told(second)
        assert first.buckets["held"] == 1
        assert rows(stream) == rows(beside(stream))
    assert by_python == [True] * 3


def test_a_table_of_odd_rows_is_staged_by_expressions(
    world: World, monkeypatch: pytest.MonkeyPatch, by_python: Staged
) -> None:
    """Whatever tasks have written by then goes, and each change counts once."""
    monkeypatch.setattr(newest_rows, "ODD_ROWS", 2)
    stream = Stream(world, 1, "debezium-mysql", "none", MYSQL).create()
    stream.send(
        changed(debezium_row("c", number, number), b'"x"', b"%d" % number) for number in range(9)
    )
    assert stream.cut().buckets["applied"] == 9
    assert by_python == [False]
    assert stream.rows() == {number: str(number) for number in range(9)}


@pytest.mark.parametrize("sized", [BY_TASKS], indirect=True, ids=["tasks"])
@pytest.mark.usefixtures("sized")
def test_a_killed_worker_loses_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attempt fails, may be tried again, and the next one folds each change once."""
    stream = Stream(world, 3, "debezium-mysql", "none", MYSQL).create()
    stream.send(
        replace(debezium_row("c", number, number), partition=number % 3) for number in range(300)
    )
    real = tasks.stage_by_tasks

    def killed(*args: Any) -> Any:
        with killing_workers():
            return real(*args)

    with monkeypatch.context() as patched:
        patched.setattr(stage, "stage_by_tasks", killed)
        with pytest.raises(WorkerLostError, match="during the fold"):
            stream.cut()
    assert stream.cut().buckets["applied"] == len(stream.rows()) == 300
