"""Where records are sent, what is sent again, and what is asked of the product."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

import pytest

from tests.corpus.batches import batches_of
from tests.corpus.cases import Case, Column, Record, Stage, Table
from tests.corpus.pipeline import pipeline_content
from tests.corpus.produce import place, spread
from tests.corpus.redeliver import stretch, with_repeats
from tests.corpus.source import Format, source_of

PARTITIONS = 3


def chances(seed: object) -> random.Random:
    return random.Random(str(seed))  # noqa: S311  repeatable, not secret


def record(topic: str, value: Mapping[str, Any] | None, key: str | None = None) -> Record:
    encoded = None if value is None else json.dumps(value).encode()
    return Record(topic, 0, None if key is None else key.encode(), encoded)


def debezium(key: int, op: str, pos: int, *, keyed: bool = True) -> Record:
    image = {"id": key}
    value = {
        "op": op,
        "before": image if op == "d" else None,
        "after": None if op == "d" else image,
        "source": {"connector": "mysql", "db": "d", "table": "t", "file": "b.1", "pos": pos},
    }
    return record("p.d.t", value, json.dumps(image) if keyed else None)


def ticdc(commit_ts: int, **fields: Any) -> Record:
    value = {"id": 0, "database": "d", "table": "t", "isDdl": False, "data": None, **fields}
    tidb = "watermarkTs" if fields["type"] == "TIDB_WATERMARK" else "commitTs"
    return record("p", {**value, "_tidb": {tidb: commit_ts}})


def row(commit_ts: int, key: int) -> Record:
    return ticdc(commit_ts, type="INSERT", data=[{"id": str(key)}])


TRUNCATE = record(
    "p.d.t",
    {"op": "t", "source": {"connector": "mysql", "db": "d", "table": "t", "file": "b.1", "pos": 9}},
)


def case_of(*records: Record, stages: tuple[int, ...] = (), **facts: Any) -> Case:
    table = Table(("id",), (Column("id", "int"),), ())
    ends = stages or (len(records),)
    return Case(
        name="made/case",
        variant="v",
        records=records,
        stages=tuple(Stage(f"to {end}", end, {"d.t": table}) for end in ends),
        partitions=dict.fromkeys((sent.topic for sent in records), 1),
        **facts,
    )


def sent_by_partition(case: Case) -> dict[int, list[Record]]:
    source = source_of(case)
    lines = place(case, spread(case, source, PARTITIONS), chances(7))
    sent: dict[int, list[Record]] = {}
    for line in lines:
        for copy in line:
            sent.setdefault(copy.partition, []).append(copy)
    return sent


@pytest.mark.parametrize("keyed", [True, False], ids=["by record key", "by key of the row"])
def test_records_of_a_key_stay_in_order_in_one_partition(keyed: bool) -> None:
    changes = [debezium(n % 10, "d" if n > 30 else "u", n, keyed=keyed) for n in range(40)]
    sent = sent_by_partition(case_of(*changes))
    assert len(sent) == PARTITIONS
    for key in range(10):
        of_key = [
            [json.loads(copy.value or b"")["source"]["pos"] for copy in copies if _id(copy) == key]
            for copies in sent.values()
        ]
        assert sorted(of_key) == [[], [], list(range(key, 40, 10))]


def _id(sent: Record) -> int:
    value = json.loads(sent.value or b"")
    return int((value["after"] or value["before"])["id"])


def test_a_tombstone_follows_its_delete() -> None:
    sent = sent_by_partition(
        case_of(*(debezium(n, "d", n) for n in range(9)), record("p.d.t", None, '{"id": 4}'))
    )
    (home,) = [copies for copies in sent.values() if copies[-1].value is None]
    assert 4 in [_id(copy) for copy in home[:-1]]


def test_a_truncate_without_key_may_come_by_any_partition() -> None:
    case = case_of(debezium(1, "c", 1), *[TRUNCATE] * 40)
    assert len(sent_by_partition(case)) == PARTITIONS


def test_watermarks_go_to_every_partition_and_ddl_to_the_first() -> None:
    watermark = ticdc(50, type="TIDB_WATERMARK")
    ddl = ticdc(40, type="TRUNCATE", isDdl=True, sql="TRUNCATE TABLE t")
    sent = sent_by_partition(case_of(*(row(n, n) for n in range(30)), ddl, watermark))
    assert len(sent) == PARTITIONS
    for partition, copies in sent.items():
        assert [copy.value for copy in copies].count(watermark.value) == 1
        assert copies[-1].value == watermark.value
        assert (ddl.value in [copy.value for copy in copies]) == (partition == 0)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case_of(record("p", {"id": 0, "database": "d", "table": "t", "isDdl": False,
                                 "type": "INSERT", "data": [{"id": "1"}]})),
            id="TiCDC without commitTs",
        ),
        pytest.param(
            case_of(record("p.d.t", {"op": "c", "after": {"id": 1}, "source":
                                     {"connector": "mysql", "db": "d", "table": "t",
                                      "file": "", "pos": 0}})),
            id="constant position",
        ),
    ],
)  # fmt: skip
def test_only_offsets_order_a_source_without_positions(case: Case) -> None:
    source = source_of(case)
    assert not source.has_positions
    assert set(spread(case, source, PARTITIONS).values()) == {1}


def test_topics_that_were_recorded_on_several_partitions_stay_as_they_were() -> None:
    case = case_of(row(1, 1), row(2, 2))
    wide = Case(**{**_fields(case), "partitions": {"p": 2}})
    source = source_of(wide)
    assert spread(wide, source, PARTITIONS) == {"p": 2}
    lines = place(wide, {"p": 2}, chances(0))
    assert lines == tuple((sent,) for sent in wide.records)


def _fields(case: Case) -> dict[str, Any]:
    return {name: getattr(case, name) for name in case.__slots__}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("to_newest", [True, False], ids=["without positions", "with positions"])
def test_a_repeat_is_a_contiguous_stretch(seed: int, to_newest: bool) -> None:
    partition = [debezium(n, "c", n) for n in range(100)]
    repeat = stretch(partition, chances(seed), to_newest=to_newest)
    start = partition.index(repeat[0])
    assert repeat == partition[start : start + len(repeat)]
    assert not to_newest or repeat[-1] == partition[-1]


@pytest.mark.parametrize("seed", range(20))
def test_a_repeat_never_ends_inside_one_event_of_the_log(seed: int) -> None:
    partition = [debezium(n, "c", n // 5) for n in range(60)]
    repeat = stretch(partition, chances(seed), to_newest=False)
    assert _id(repeat[-1]) % 5 == 4


@pytest.mark.parametrize("seed", range(5))
def test_redelivery_adds_repeats_of_what_the_partition_has_and_takes_nothing(seed: int) -> None:
    lines = tuple((row(n, n),) for n in range(50))
    repeated = with_repeats(lines, chances(seed), to_newest=False)
    assert [line[0] for line in repeated] == [line[0] for line in lines]
    assert len(repeated[-1]) > 1
    first: list[Record] = []
    for line in repeated:
        first.append(line[0])
        extra = list(line[1:])
        assert any(first[n : n + len(extra)] == extra for n in range(len(first)))


def test_repeats_of_one_position_do_not_grow_with_each_other() -> None:
    """A snapshot in chunks reads hundreds of rows at one position of the log."""
    lines = tuple((debezium(n, "c", 7),) for n in range(100))
    repeated = with_repeats(lines, chances(3), to_newest=False)
    assert all(len(line) <= 1 + sent for sent, line in enumerate(repeated, start=1))
    assert len(repeated[-1]) > 1


def test_the_same_seed_sends_the_same() -> None:
    lines = tuple((row(n, n),) for n in range(50))
    first, second = (with_repeats(lines, chances("3 x"), to_newest=False) for _ in range(2))
    assert first == second


def test_batches_end_at_every_stage_and_at_random_places_between() -> None:
    case = case_of(*(row(n, n) for n in range(30)), stages=(10, 10, 30))
    ends = batches_of(case, 5, chances(1))
    assert [end for end, stage in ends if stage] == [10, 10, 30]
    assert len(ends) == 8
    assert ends == tuple(sorted(ends, key=lambda batch: batch[0]))
    assert len(batches_of(case, 1000, chances(1))) == 3 + 28


def test_pipeline_file_says_what_the_stream_cannot() -> None:
    case = case_of(debezium(1, "c", 1, keyed=False), lacks_keys=True)
    content = pipeline_content(case, source_of(case), "case_1")
    assert content["source"] == {
        "format": Format.DEBEZIUM_MYSQL,
        "gate": "none",
        "topics": {"data": ["case_1.p.d.t"]},
    }
    assert content["tables"] == [
        {"source": "d.t", "key": ["id"], "columns": {"id": "int"}, "expectations": "none"}
    ]


def test_pipeline_file_names_topics_by_what_is_in_them() -> None:
    case = case_of(
        record("p", {"databaseName": "d", "ddl": "CREATE TABLE t", "tableChanges": []}),
        debezium(1, "c", 1),
        record("p.transaction", {"status": "END", "id": "1", "event_count": 1}),
        connector={"decimal.handling.mode": "string", "time.precision.mode": "connect",
                   "bigint.unsigned.handling.mode": "precise", "binary.handling.mode": "hex"},
    )  # fmt: skip
    content = pipeline_content(case, source_of(case), "case_1")
    assert content["source"]["topics"] == {
        "data": ["case_1.p.d.t"],
        "schema-changes": ["case_1.p"],
        "transactions": ["case_1.p.transaction"],
    }
    assert content["source"]["modes"] == {
        "decimal": "string",
        "time": "connect",
        "bigint-unsigned": "precise",
        "binary": "hex",
    }
    assert content["tables"] == []


def test_pipeline_file_of_a_gated_case() -> None:
    case = case_of(row(1, 1), ticdc(2, type="TIDB_WATERMARK"), is_gated=True)
    content = pipeline_content(case, source_of(case), "case_1")
    assert content["source"]["format"] == Format.TICDC
    assert content["source"]["gate"] == "watermark"
