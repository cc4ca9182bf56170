"""Canal-JSON's envelope of one record, in plain Python, where nothing about it is odd.

As `formats.debezium.record` is to the expressions of its format, so is this to those of
`formats.canal_json.envelope`. Statements are few, and all of them are odd.
"""

from __future__ import annotations

import json

import msgspec

from tidemark.formats.canal_json.envelope import TYPES
from tidemark.formats.json_guards import has_twice, is_deep
from tidemark.formats.record_reader import (
    SPARK_SEED,
    AnObject,
    Envelope,
    Long,
    Millis,
    RecordReader,
    guarded,
    spark_hash,
)
from tidemark.model.event import Kind, Op
from tidemark.model.names import TopicName
from tidemark.model.position import EPOCH, EPOCH_DIGITS, TSO_LOGICAL_BITS, CommitRank

CACHED_TYPES = 1_000
"""Texts of column types that are remembered; an order of columns is another text."""


class _Extension(msgspec.Struct):
    commitTs: Long | None = None  # noqa: N815  TiCDC's name
    watermarkTs: Long | None = None  # noqa: N815  TiCDC's name
    onlyHandleKey: bool | None = None  # noqa: N815  TiCDC's name
    claimCheckLocation: None = None  # noqa: N815  TiCDC's name


class _Message(msgspec.Struct):
    type: str
    database: str | None = None
    table: str | None = None
    isDdl: bool | None = None  # noqa: N815  Canal's name
    es: Millis | None = None
    pkNames: list[str] | None = None  # noqa: N815  Canal's name
    mysqlType: msgspec.Raw = msgspec.Raw(b"null")  # noqa: N815  Canal's name
    data: list[AnObject] | None = None
    old: list[AnObject] | None = None
    tidb: _Extension | None = msgspec.field(name="_tidb", default=None)


_MESSAGES = msgspec.json.Decoder(_Message)
_EPOCH = f"{EPOCH:0{EPOCH_DIGITS}X}"


class CanalReaders:
    """Readers of the records of one changefeed, or of Canal."""

    snapshot_lsn: int | None = None
    lowest_uncommitted: int | None = None

    def __init__(self, *, by_commit: bool) -> None:
        self._by_commit = by_commit
        self._types: dict[bytes, int | None] = {}

    def reader(self, _topic: TopicName, partition: int) -> RecordReader:
        """The reader of the records of a partition."""

        def read(_key: bytes | None, text: bytes) -> Envelope | None:
            if is_deep(text):
                return None
            message = _MESSAGES.decode(text)
            kind = TYPES.get(message.type)
            if message.isDdl:
                return None
            if kind is Kind.ROW:
                return self._row(message, partition)
            return self._watermark(message, text) if kind is Kind.WATERMARK else None

        return guarded(read)

    def _row(self, message: _Message, partition: int) -> Envelope | None:
        tidb, is_delete = message.tidb or _Extension(), message.type == "DELETE"
        if message.database is None or not message.table or not message.data:
            return None
        if message.old is not None and len(message.old) != len(message.data):
            return None
        if tidb.onlyHandleKey and not is_delete:
            return None
        types = self._hash_of(bytes(message.mysqlType))
        place = self._place(tidb, partition, is_delete=is_delete)
        if types is None or place is None:
            return None
        return (
            Kind.ROW.value,
            message.database,
            message.table,
            (Op.DELETE if is_delete else Op.UPSERT).value,
            place,
            self._commit_ms(message),
            None,
            None,
            None,
            None,
            types if message.pkNames is None else spark_hash(_json(message.pkNames), types),
            None,
        )

    def _watermark(self, message: _Message, text: bytes) -> Envelope | None:
        watermark = message.tidb.watermarkTs if message.tidb else None
        if watermark is None or has_twice(text):
            return None
        time = self._commit_ms(message)
        return (Kind.WATERMARK.value, *(None,) * 4, time, None, None, None, watermark, None, None)

    def _place(self, tidb: _Extension, partition: int, *, is_delete: bool) -> str | None:
        if not self._by_commit:
            return _EPOCH
        if tidb.commitTs is None:
            return None
        rank = CommitRank.DELETE if is_delete else CommitRank.UPSERT
        return f"{_EPOCH}{tidb.commitTs:016X}{rank.value}{partition:04X}"

    def _commit_ms(self, message: _Message) -> int | None:
        if not self._by_commit:
            return message.es
        commit_ts = message.tidb.commitTs if message.tidb else None
        return None if commit_ts is None else commit_ts >> TSO_LOGICAL_BITS

    def _hash_of(self, types: bytes) -> int | None:
        """Tells apart what records say of columns, whatever their order; None where it is odd."""
        if types not in self._types:
            if len(self._types) == CACHED_TYPES:
                self._types.clear()
            self._types[types] = _hash_of(types)
        return self._types[types]


def _hash_of(types: bytes) -> int | None:
    if types == b"null":
        return SPARK_SEED
    declared = msgspec.json.decode(types, type=dict[str, str])
    if has_twice(types) or any(_is_control(text) for pair in declared.items() for text in pair):
        return None
    return spark_hash(_json([{"key": name, "value": declared[name]} for name in sorted(declared)]))


def _is_control(text: str) -> bool:
    """Whether a character is in it that libraries escape in more than one way."""
    return any(character < " " for character in text)


def _json(value: object) -> bytes:
    """As Spark's ``to_json`` writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
