"""The reader in plain Python against the expressions: what it reads, it reads as they do."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.corpus.cases import Record, find_cases
from tests.corpus.source import Format, Role, source_of
from tests.support.records import RECORDS
from tidemark.formats.canal_json.envelope import canal_envelope
from tidemark.formats.canal_json.record import CanalReaders
from tidemark.formats.debezium.envelope import debezium_envelope
from tidemark.formats.debezium.position import (
    binlog_block,
    lowest_uncommitted,
    postgres_block,
    snapshot_lsn,
)
from tidemark.formats.debezium.record import BinlogReaders, PostgresReaders
from tidemark.formats.encoding import JsonEncoding
from tidemark.formats.record_reader import Envelope, RecordReader, RecordReaders
from tidemark.formats.topic_roles import TopicRoles
from tidemark.model.event import ENVELOPE_COLUMNS
from tidemark.model.names import TopicName
from tidemark.model.position import BY_POSITION, NUMBER_DIGITS, OFFSET_DIGITS, OrderedBy, Ordering

CASES = Path(__file__).parents[2] / "corpus" / "cases"
MUTANTS = 1_000
"""Of each recording."""
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
    *(b'"mysqlType":{"id":"int","id":"text"}', b'"mysqlType":null', b'"pkNames":["b","a"]'),
    *(b'"mysqlType":{"\xe2\x98\x95":"enum(\'a\',\'\\"\')"}', b'"isDdl":true', b'"es":null'),
    *(b'"_tidb":{"commitTs":5}', b'"_tidb":{"watermarkTs":6}', b'"old":[{}]', b'"data":[]'),
    *(b'"transaction":{}', b'"transaction":{"id":"9","total_order":1.5}', b'"table":""'),
)


@dataclass(frozen=True)
class Recording:
    """Records that sources of one format wrote in JSON."""

    records: Sequence[Record]
    format: Format
    roles: TopicRoles

    @property
    def regular(self) -> set[str]:
        """Kinds of which the reader reads whatever a source writes."""
        if self.format.is_canal:
            return {"row", "watermark", "tombstone"}
        return {"row", "truncate", "ddl", "begin", "end", "tombstone"}

    def damaged(self, count: int, chances: random.Random) -> Recording:
        """As many of its records, each a little different."""
        return replace(self, records=[mutated(self.records, chances) for _ in range(count)])

    def __add__(self, other: Recording) -> Recording:
        """Both, whose topics have one role each."""
        roles = TopicRoles(
            self.roles.schema_changes | other.roles.schema_changes,
            self.roles.transactions | other.roles.transactions,
        )
        return replace(self, records=[*self.records, *other.records], roles=roles)

    def readers(self, ordering: Ordering) -> RecordReaders:
        """Those in plain Python."""
        if self.format.is_canal:
            return CanalReaders(by_commit=ordering.by is OrderedBy.POSITION)
        is_postgres = self.format is Format.DEBEZIUM_POSTGRES
        return (PostgresReaders if is_postgres else BinlogReaders)(self.roles, ordering, None)

    def events(self, records: DataFrame, ordering: Ordering) -> DataFrame:
        """``records`` and what the expressions say of them."""
        if self.format.is_canal:
            by_commit = ordering.by is OrderedBy.POSITION
            return canal_envelope(records, self.roles, by_commit=by_commit)
        is_postgres = self.format is Format.DEBEZIUM_POSTGRES
        block = postgres_block(ordering) if is_postgres else binlog_block(ordering)
        return debezium_envelope(records, self.roles, block=block, encoding=JsonEncoding())


def recordings(folder: Path = CASES) -> Iterator[Recording]:
    """What is recorded below ``folder``."""
    for case in find_cases([folder]):
        try:
            source = source_of(case)
        except ValueError:
            continue
        if "avro" in case.variant:
            continue
        roles = TopicRoles(
            *(
                frozenset(map(TopicName, source.topics(role)))
                for role in (Role.SCHEMA_CHANGES, Role.TRANSACTIONS)
            )
        )
        yield Recording(case.records, source.format, roles)


def together(found: Iterable[Recording]) -> list[Recording]:
    """One recording of each format: Spark's plan costs more than its records."""
    by_format: dict[Format, Recording] = {}
    for recording in found:
        others = by_format.get(recording.format)
        by_format[recording.format] = recording if others is None else others + recording
    return list(by_format.values())


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


def read_both_ways(
    spark: SparkSession, recording: Recording, ordering: Ordering
) -> tuple[list[bool], list[str | None]]:
    """Which records the reader reads, and what kind the expressions say that all of them are.

    Fails where both say something, and not the same.
    """
    readers = recording.readers(ordering)
    read: dict[tuple[str, int], RecordReader] = {}
    rows, told = [], []
    for number, record in enumerate(recording.records):
        at = (record.topic, number % 3)
        if at not in read:
            read[at] = readers.reader(TopicName(at[0]), at[1])
        envelope = read[at](record.key, record.value)
        told.append(envelope)
        key, value = (part and bytearray(part) for part in (record.key, record.value))
        rows.append((*at, 2 * number + (envelope is not None), None, None, key, value))
    events = recording.events(spark.createDataFrame(rows, RECORDS), ordering).persist()
    expected = events.orderBy("offset").selectExpr(*ENVELOPE_COLUMNS[:5], *_REST).collect()
    for number, (envelope, row) in enumerate(zip(told, expected, strict=True)):
        if envelope is not None:
            assert _columns(envelope, 2 * number + 1) == tuple(row), recording.records[number]
    if recording.format is Format.DEBEZIUM_POSTGRES and ordering.by is OrderedBy.POSITION:
        aggregates = (snapshot_lsn(encoding=JsonEncoding()), lowest_uncommitted(ordering))
        numbers = (readers.snapshot_lsn, readers.lowest_uncommitted)
        assert tuple(events.where("offset % 2 = 1").agg(*aggregates).collect()[0]) == tuple(
            None if number is None else f"{number:0{NUMBER_DIGITS}X}" for number in numbers
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
def test_what_sources_write_is_read(spark: SparkSession, ordering: Ordering) -> None:
    """MSG-10, MSG-11, MSG-15, MSG-40, POS-2 to POS-10: all that sources write often."""
    found = together(recordings())
    assert len(found) >= 4
    for recording in found:
        is_read, kinds = read_both_ways(spark, recording, ordering)
        odd = {kind for kind, one in zip(kinds, is_read, strict=True) if not one}
        assert not odd & recording.regular, recording.format


@pytest.mark.parametrize("ordering", ORDERINGS, ids=str)
def test_damaged_records_are_read_alike_or_not_at_all(
    spark: SparkSession, ordering: Ordering
) -> None:
    """MSG-4, POISON-1: what is odd in any way is left to the expressions."""
    chances = random.Random(str(ordering))  # noqa: S311  the same each time
    formats = set()
    for damaged in together(one.damaged(MUTANTS, chances) for one in recordings()):
        is_read, kinds = read_both_ways(spark, damaged, ordering)
        assert "unreadable" in kinds
        formats |= {damaged.format} if any(is_read) else set()
    assert formats >= {Format.DEBEZIUM_MYSQL, Format.DEBEZIUM_POSTGRES, Format.TICDC}


def test_heartbeats_are_read_wherever_their_topic_tells(spark: SparkSession) -> None:
    """MSG-27: connectors send them all day, and else each would be odd."""
    beat, wrapped = b'{"ts_ms":1}', b'{"schema":{"type":"struct"},"payload":{"ts_ms":1}}'
    values = [beat, wrapped, b'{"ts_ms":null}', b'{"ts_ms":1,"ts_ms":2}', b'{"ts_ms":1,"op":"u"}']
    records = [Record("__debezium-heartbeat.shop", 0, None, value) for value in values]
    for kind in (Format.DEBEZIUM_MYSQL, Format.DEBEZIUM_POSTGRES):
        beats = Recording(records, kind, TopicRoles())
        is_read, kinds = read_both_ways(spark, beats, BY_POSITION)
        assert is_read == [True, True, False, False, False]
        assert kinds[:2] == ["control", "control"]
