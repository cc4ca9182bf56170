"""Debezium's envelope of one record in JSON, in plain Python, where nothing about it is odd.

What a record means is said by `formats.debezium.envelope`. This reader says the same of what
connectors write as they write it, in a fraction of the time. Of all else it says nothing: such a
record is odd, and is read by the expressions there.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import msgspec

from tidemark.formats.debezium.envelope import BOUNDARIES, HEARTBEATS
from tidemark.formats.json_guards import has_twice, is_deep
from tidemark.formats.record_reader import (
    AnObject,
    Envelope,
    Long,
    Millis,
    RecordReader,
    guarded,
)
from tidemark.formats.refuse import MAX_NESTING
from tidemark.formats.schema_wrapper import WRAPPED, SchemaWrapper
from tidemark.formats.topic_roles import TopicRoles
from tidemark.model.event import Kind, Op, SnapshotMark
from tidemark.model.names import TableName, TopicName
from tidemark.model.position import (
    EPOCH,
    EPOCH_DIGITS,
    OrderedBy,
    Ordering,
)

_HEARTBEATS = re.compile(HEARTBEATS)
_MARKS = frozenset((None, *(mark.value for mark in SnapshotMark)))
_SEQUENCE = re.compile(r'\[(?:null|"([0-9]{1,18})"),(?:null|"([0-9]{1,18})")\]')
_FILE = re.compile(r"(?:.*\.)?([0-9]{1,9})")


class _Transaction(msgspec.Struct):
    id: str
    total_order: Long | None = None


class _Source(msgspec.Struct):
    table: str | None = None
    ts_ms: Millis | None = None
    snapshot: str | bool | None = None


class _Binlog(_Source):
    schema: str | None = msgspec.field(name="db", default=None)
    file: str | None = None
    pos: Long | None = None
    server_id: Long | None = None


class _Postgres(_Source):
    schema: str | None = None
    sequence: str | None = None
    lsn: Long | None = None


S = TypeVar("S", _Binlog, _Postgres)


# Of the fields that Spark reads as structures, a record has just those of its kind, or it is odd.
class _Record(msgspec.Struct, kw_only=True):
    payload: None = None
    position: None = None
    message: None = None


class _Row(_Record, Generic[S], kw_only=True):
    op: str
    source: S
    before: AnObject | None = None
    after: AnObject | None = None
    transaction: _Transaction | None = None
    tableChanges: None = None  # noqa: N815  Debezium's name


class _NoRow(_Record, kw_only=True):
    op: None = None
    before: None = None
    after: None = None
    transaction: None = None


class _Statement(_NoRow, kw_only=True):
    source: _Binlog
    ddl: str | None = None
    databaseName: str | None = None  # noqa: N815  Debezium's name
    tableChanges: list[AnObject] | None = None  # noqa: N815  Debezium's name


class _NoChange(_NoRow, kw_only=True):
    source: None = None
    tableChanges: None = None  # noqa: N815  Debezium's name
    databaseName: None = None  # noqa: N815  Debezium's name


class _Boundary(_NoChange, kw_only=True):
    status: str
    id: str


class _Heartbeat(_NoChange, kw_only=True):
    ts_ms: Long


class DebeziumReaders(ABC, Generic[S]):
    """Readers of the records of one connector.

    snapshot_lsn, lowest_uncommitted: of PostgreSQL's records so far, what the aggregates of
    `formats.debezium.position` are.
    """

    def __init__(self, roles: TopicRoles, ordering: Ordering, signals: TableName | None) -> None:
        self.snapshot_lsn: int | None = None
        self.lowest_uncommitted: int | None = None
        self._roles = roles
        self._by_offset = ordering.by is OrderedBy.OFFSET
        self._snapshot_lsn = ordering.snapshot_lsn
        self._signals = signals

    def reader(self, topic: TopicName, _partition: int) -> RecordReader:
        """The reader of the records of a partition."""
        if topic in self._roles.schema_changes:
            return _unwrapping(self._statement)
        if topic in self._roles.transactions:
            return _unwrapping(_boundary)
        return _unwrapping(_heartbeat if _HEARTBEATS.search(topic) else self._row)

    @abstractmethod
    def _decode(self, text: bytes) -> _Row[S]:
        """A row event."""

    @abstractmethod
    def _is_logged(self, source: S) -> bool:
        """Whether the block tells that its change stands in a log."""

    @abstractmethod
    def _place(self, source: S, is_snapshot: bool) -> str | None:
        """The position of a change without its offset, its fields as wide as `model.position` says.

        Their widths are written out: this is done for each record.
        """

    def _statement(self, _: bytes | None, text: bytes, schema_id: int | None) -> Envelope | None:
        """A record of the topic of schema changes; odd, unless its connector has such a topic."""

    def _row(self, key: bytes | None, text: bytes, schema_id: int | None) -> Envelope | None:
        row = self._decode(text)
        source, op, transaction = row.source, row.op, row.transaction
        operation, mark = _OPS.get(op), None if source.snapshot == "false" else _mark(source)
        if operation is None or not source.schema or not source.table or mark not in _MARKS:
            return None
        kind, effect = operation
        if effect == _UPSERT and row.after is None:
            return None
        if effect == _DELETE and key is None and row.before is None:
            return None
        if effect is None and has_twice(text):
            return None
        if self._is_signal(source):
            return None
        is_snapshot = op == "r"
        if mark is not None and op == "c":
            is_snapshot = transaction is None and not self._is_logged(source)
        place = _EPOCH if self._by_offset else self._place(source, is_snapshot)
        if place is None:
            return None
        return (
            kind,
            source.schema,
            source.table,
            effect,
            place,
            source.ts_ms,
            None if transaction is None else transaction.id,
            None if transaction is None else transaction.total_order,
            (mark or _INSIDE) if is_snapshot else None,
            None,
            schema_id,
            None,
        )

    def _is_signal(self, source: S) -> bool:
        table = self._signals
        return table is not None and (source.schema, source.table) == (table.schema, table.table)


class BinlogReaders(DebeziumReaders[_Binlog]):
    """Of MySQL and MariaDB (MSG-12, POS-3, POS-4)."""

    def __init__(self, roles: TopicRoles, ordering: Ordering, signals: TableName | None) -> None:
        super().__init__(roles, ordering, signals)
        self._files: dict[str, str] = {}

    def _decode(self, text: bytes) -> _Row[_Binlog]:
        return _BINLOG_ROWS.decode(text)

    def _is_logged(self, source: _Binlog) -> bool:
        return bool(source.server_id) and _mark(source) != SnapshotMark.INCREMENTAL

    def _place(self, source: _Binlog, is_snapshot: bool) -> str | None:
        name, offset = source.file, source.pos
        if name is None or offset is None:
            return None
        file = self._files.get(name)
        if file is None:
            number = _FILE.fullmatch(name)
            if number is None:
                return None
            file = self._files[name] = f"{_EPOCH}{int(number[1]):08X}"
        return f"{file}{offset:016X}{0 if is_snapshot else 1}"

    def _statement(self, _: bytes | None, text: bytes, schema_id: int | None) -> Envelope | None:
        statement = _STATEMENTS.decode(text)
        source = statement.source
        mark, is_logged = _mark(source), self._is_logged(source)
        has_change = statement.ddl is not None or statement.tableChanges is not None
        if mark not in _MARKS or not has_change or has_twice(text):
            return None
        is_snapshot = mark is not None and not is_logged
        place = _EPOCH if self._by_offset else self._place(source, is_snapshot)
        if place is None:
            return None
        schema = statement.databaseName if source.schema is None else source.schema
        named = (Kind.DDL.value, schema, source.table or None, None, place, source.ts_ms)
        return (*named, None, None, mark if is_snapshot else None, None, schema_id, None)


class PostgresReaders(DebeziumReaders[_Postgres]):
    """Of PostgreSQL (MSG-13, POS-6, POS-7, POS-8)."""

    def _decode(self, text: bytes) -> _Row[_Postgres]:
        return _POSTGRES_ROWS.decode(text)

    def _is_logged(self, source: _Postgres) -> bool:
        return False

    def _place(self, source: _Postgres, is_snapshot: bool) -> str | None:
        commit_text, lsn = None, source.lsn
        if source.sequence is not None:
            pair = _SEQUENCE.fullmatch(source.sequence)
            if pair is None:
                return None
            commit_text, lsn = pair[1], int(pair[2]) if pair[2] is not None else lsn
        if lsn is None:
            return None
        if commit_text is not None:
            commit = int(commit_text)
        elif is_snapshot or source.sequence is None:
            commit = lsn
        else:
            commit = max(lsn, self._snapshot_lsn)
        if not is_snapshot and commit in (lsn, self._snapshot_lsn):
            lowest = self.lowest_uncommitted
            self.lowest_uncommitted = lsn if lowest is None else min(lsn, lowest)
        is_whole = is_snapshot and _mark(source) != SnapshotMark.INCREMENTAL
        if is_whole and commit == lsn and commit_text is None:
            highest = self.snapshot_lsn
            self.snapshot_lsn = lsn if highest is None else max(lsn, highest)
        return f"{_EPOCH}{commit:016X}{0 if is_snapshot else 1}{lsn:016X}"


_EPOCH = f"{EPOCH:0{EPOCH_DIGITS}X}"
# Values of enumerations are looked up once, and not for each record.
_UPSERT, _DELETE, _INSIDE = Op.UPSERT.value, Op.DELETE.value, SnapshotMark.INSIDE.value
_OPS: Mapping[str, tuple[str, str | None]] = {
    **dict.fromkeys(("r", "c", "u"), (Kind.ROW.value, _UPSERT)),
    "d": (Kind.ROW.value, _DELETE),
    "t": (Kind.TRUNCATE.value, None),
}
_BINLOG_ROWS = msgspec.json.Decoder(_Row[_Binlog])
_POSTGRES_ROWS = msgspec.json.Decoder(_Row[_Postgres])
_STATEMENTS = msgspec.json.Decoder(_Statement)
_BOUNDARIES = msgspec.json.Decoder(_Boundary)
_HEARTBEAT = msgspec.json.Decoder(_Heartbeat)


def _boundary(_key: bytes | None, text: bytes, schema_id: int | None) -> Envelope | None:
    boundary = _BOUNDARIES.decode(text)
    kind = BOUNDARIES.get(boundary.status)
    if kind is None or has_twice(text):
        return None
    return (kind.value, *(None,) * 5, boundary.id, *(None,) * 3, schema_id, None)


def _heartbeat(_key: bytes | None, text: bytes, schema_id: int | None) -> Envelope | None:
    _HEARTBEAT.decode(text)
    return None if has_twice(text) else (Kind.CONTROL.value, *(None,) * 9, schema_id, None)


def _unwrapping(
    read: Callable[[bytes | None, bytes, int | None], Envelope | None],
) -> RecordReader:
    """``read`` of values, which may be wrapped with their schema (MSG-15)."""
    wrapper = SchemaWrapper()

    def wrapped(key: bytes | None, value: bytes) -> Envelope | None:
        payload = wrapper.payload(value)
        if payload is None or is_deep(payload, MAX_NESTING - 1):
            return None
        return read(key, payload, wrapper.schema_id)

    def unwrapped(key: bytes | None, value: bytes) -> Envelope | None:
        if value.startswith(WRAPPED):
            return wrapped(key, value)
        return None if is_deep(value) else read(key, value, None)

    return guarded(unwrapped)


def _mark(source: _Source) -> str | None:
    """``source.snapshot`` of a row that was read, None of one that was streamed (MSG-5, MSG-11)."""
    snapshot = source.snapshot
    if snapshot is None or snapshot is False:
        return None
    mark = SnapshotMark.INSIDE.value if snapshot is True else snapshot.lower()
    return None if mark == "false" else mark
