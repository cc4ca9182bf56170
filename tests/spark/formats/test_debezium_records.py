"""The reader in plain Python against the expressions: what it reads, it reads as they do."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.corpus.cases import Record, find_cases
from tests.corpus.source import Format, Role, source_of
from tests.support.records import RECORDS
from tidemark.formats.debezium.envelope import debezium_envelope
from tidemark.formats.debezium.position import (
    binlog_block,
    lowest_uncommitted,
    postgres_block,
    snapshot_lsn,
)
from tidemark.formats.debezium.record import (
    BinlogRecords,
    Envelope,
    PostgresRecords,
    RecordReader,
)
from tidemark.formats.encoding import JsonEncoding
from tidemark.formats.topic_roles import TopicRoles
from tidemark.model.event import ENVELOPE_COLUMNS
from tidemark.model.names import TopicName
from tidemark.model.position import BY_POSITION, NUMBER_DIGITS, OFFSET_DIGITS, OrderedBy, Ordering

CASES = Path(__file__).parents[2] / "corpus" / "cases"
MUTANTS = 1_000
"""Of each recording."""
REGULAR = {"row", "truncate", "ddl", "begin", "end", "tombstone"}
ORDERINGS = (BY_POSITION, Ordering(snapshot_lsn=2**40), Ordering(OrderedBy.OFFSET))
TOKENS = (
    *(
        b'"',
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\\",
        b"\\u00e9",
        b"\\ud800",
        b"\xff",
        b"\xc3\xa9",
    ),
    *(b"null", b"true", b"false", b"0", b"-1", b"1.0", b"1e3", b"07", b"NaN", b"9" * 30, b'"5"'),
    *(b"8" * 1001, b"[" * 70, b'{"a":' * 66, b" ", b"\n", b"\x00", b'"a":1,"a":2', b'"op":"r",'),
    *(b'"snapshot":"incremental"', b'"snapshot":"last"', b'"snapshot":true', b'"server_id":0'),
    *(b'"sequence":"[null,\\"7\\"]"', b'"sequence":null', b'"lsn":7', b'"pos":0', b'"file":"x"'),
    *(b'"payload":{}', b'"schema":{},', b'"payload":', b'"after":{}', b'"before":[]', b'"ddl":"x"'),
    *(b'"transaction":{}', b'"transaction":{"id":"9","total_order":1.5}', b'"table":""'),
)


@dataclass(frozen=True)
class Recording:
    """Records of one connector; by position in the list."""

    name: str
    records: Sequence[Record]
    roles: TopicRoles
    is_postgres: bool

    def damaged(self, count: int, chances: random.Random) -> Recording:
        """As many of its records, each a little different."""
        mutants = [mutated(self.records, chances) for _ in range(count)]
        return Recording(self.name, mutants, self.roles, self.is_postgres)


def recordings(folder: Path = CASES) -> Iterator[Recording]:
    """What connectors wrote in JSON."""
    for case in find_cases([folder]):
        try:
            source = source_of(case)
        except ValueError:
            continue
        if source.format.is_canal or "avro" in case.variant:
            continue
        roles = TopicRoles(
            *(
                frozenset(map(TopicName, source.topics(role)))
                for role in (Role.SCHEMA_CHANGES, Role.TRANSACTIONS)
            )
        )
        is_postgres = source.format is Format.DEBEZIUM_POSTGRES
        yield Recording(case.title, case.records, roles, is_postgres)


def mutated(records: Sequence[Record], chances: random.Random) -> Record:
    """One of ``records``, its value or key a little different."""
    record = chances.choice(records)
    parts = {"key": record.key, "value": record.value}
    name = chances.choice(("key", "value", "value", "value"))
    text = parts[name] or b"{}"
    for _ in range(chances.randint(1, 3)):
        start = chances.randrange(len(text) + 1)
        end = min(len(text), start + chances.choice((0, 0, 1, 1, 2, 5, 20)))
        other = chances.choice(records).value or b""
        cut = chances.randrange(len(other) + 1)
        piece = chances.choice((chances.choice(TOKENS), b"", other[cut : cut + 30]))
        if chances.random() < 0.3:  # a whole field, where one may stand
            start = end = text.find(b"{", start) + 1
            piece = chances.choice(TOKENS) + b","
        text = text[:start] + piece + text[end:]
    parts[name] = text
    return Record(record.topic, record.partition, parts["key"], parts["value"])


def regular(
    spark: SparkSession, recording: Recording, ordering: Ordering
) -> tuple[list[bool], list[str | None]]:
    """Which records the reader reads, and what kind the expressions say that all of them are.

    Fails where both say something, and not the same.
    """
    kind = PostgresRecords if recording.is_postgres else BinlogRecords
    reader = kind(recording.roles, ordering, None)
    read: dict[str, RecordReader] = {}
    told = []
    for record in recording.records:
        read.setdefault(record.topic, reader.reader(TopicName(record.topic)))
        told.append(read[record.topic](record.key, record.value))
    rows = [
        (
            record.topic,
            int(envelope is not None),
            number,
            None,
            None,
            None if record.key is None else bytearray(record.key),
            None if record.value is None else bytearray(record.value),
        )
        for number, (record, envelope) in enumerate(zip(recording.records, told, strict=True))
    ]
    block = postgres_block(ordering) if recording.is_postgres else binlog_block(ordering)
    events = debezium_envelope(
        spark.createDataFrame(rows, RECORDS), recording.roles, block=block, encoding=JsonEncoding()
    ).persist()
    expected = events.orderBy("offset").selectExpr(*ENVELOPE_COLUMNS[:5], *_REST).collect()
    for number, (envelope, row) in enumerate(zip(told, expected, strict=True)):
        if envelope is not None:
            assert _columns(envelope, number) == tuple(row), recording.records[number]
    if recording.is_postgres and ordering.by is OrderedBy.POSITION:
        known = events.where("partition = 1")
        lsns = known.agg(snapshot_lsn(encoding=JsonEncoding()), lowest_uncommitted(ordering))
        numbers = (reader.snapshot_lsn, reader.lowest_uncommitted)
        assert tuple(lsns.collect()[0]) == tuple(
            None if n is None else f"{n:0{NUMBER_DIGITS}X}" for n in numbers
        )
    events.unpersist()
    return [one is not None for one in told], [row["kind"] for row in expected]


_REST = (
    "unix_millis(commit_time) AS commit_ms",
    "transaction_id",
    "event_order",
    "snapshot",
    "watermark",
    "schema_id",
    "reason",
)


def _columns(told: Envelope, offset: int) -> tuple[object, ...]:
    place = told[4]
    return (*told[:4], None if place is None else f"{place}{offset:0{OFFSET_DIGITS}X}", *told[5:])


@pytest.mark.parametrize("ordering", ORDERINGS, ids=str)
def test_recorded_rows_boundaries_and_tombstones_are_read(
    spark: SparkSession, ordering: Ordering
) -> None:
    """MSG-10, MSG-11, MSG-15, POS-2 to POS-8: all that connectors write often."""
    found = list(recordings())
    assert len(found) >= 6
    for recording in found:
        is_read, kinds = regular(spark, recording, ordering)
        odd = {kind for kind, one in zip(kinds, is_read, strict=True) if not one}
        assert not odd & REGULAR, recording.name


@pytest.mark.parametrize("ordering", ORDERINGS, ids=str)
def test_damaged_records_are_read_alike_or_not_at_all(
    spark: SparkSession, ordering: Ordering
) -> None:
    """MSG-4, POISON-1: what is odd in any way is left to the expressions."""
    chances = random.Random(str(ordering))  # noqa: S311  the same each time
    for recording in recordings():
        is_read, kinds = regular(spark, recording.damaged(MUTANTS, chances), ordering)
        assert any(is_read)
        assert "unreadable" in kinds
