"""Model connectors: entries of a log as the records that Debezium, TiCDC or Canal would send."""

from __future__ import annotations

import json
import zlib
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.simulate.history import SIGNALS, TABLES, Flavour, Write
from tests.simulate.source import COMMIT_STEP, Change, Database, Entry
from tidemark.model.names import TopicName
from tidemark.model.offsets import TopicPartition

SCHEMA = "shop"
TRANSACTIONS = TopicPartition(TopicName("s.transaction"), 0)
GTID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
BLOCK = 1_000_000
MILLIS = 1_700_000_000_000


@dataclass(frozen=True, slots=True)
class Record:
    """A Kafka record. event: its number in the connector's life.

    outside: neither an END nor the end of a snapshot tells whether it is there. width: of how many
    partitions the producer knew. change: entry of the log, and which one of it. time: when the
    broker took it.
    """

    at: TopicPartition
    key: bytes | None
    value: bytes | None
    event: int
    outside: bool = False
    width: int = 1
    change: tuple[int, int] | None = None
    time: int = 0

    @property
    def is_read(self) -> bool:
        """A row of a snapshot of the whole source."""
        value = self.value or b""
        return b'"op": "r"' in value and b'"incremental"' not in value


@dataclass(frozen=True, order=True, slots=True)
class _Cursor:
    """Next entry of the log, and the change in it."""

    entry: int
    change: int = 0


@dataclass(frozen=True, slots=True)
class Gap:
    """Entries that were never streamed: a snapshot at ``read_at`` tells what they did.

    read_at: None when it found no row at all.
    """

    start: int
    end: int
    read_at: tuple[int, int] | None


INITIAL, BLOCKING = _Cursor(-2), _Cursor(-1)
"""Events that begin a snapshot: of a new connector, and one that was asked for."""


@dataclass(slots=True)
class Connector:
    """Sends what the log holds; what is in a queue is lost when it dies.

    has_signals: it writes when windows open. marks: it takes what it streams for rows it reads.
    told_at: where the rows of its newest chunk stand.
    """

    database: Database
    partitions: int
    has_signals: bool = False
    marks: bool = False
    queues: dict[TopicPartition, deque[Record]] = field(default_factory=dict)
    cursor: _Cursor = _Cursor(0)
    begins: list[_Cursor] = field(default_factory=list)
    first_entry: int = 0
    begun: int = 0
    gaps: list[Gap] = field(default_factory=list)
    told_at: tuple[int, int] = (0, 0)

    @property
    def flavour(self) -> Flavour:
        """Source and gate."""
        return self.database.flavour

    @property
    def has_snapshots(self) -> bool:
        """Debezium's connectors read tables; here the others only stream."""
        return self.flavour not in (Flavour.TICDC, Flavour.BY_OFFSET)

    @property
    def data_topics(self) -> tuple[str, ...]:
        """Topics of rows."""
        if self.flavour in (Flavour.TICDC, Flavour.BY_OFFSET):
            return ("shop",)
        signals = (SIGNALS,) if self.has_signals else ()
        return tuple(f"s.{SCHEMA}.{table}" for table in (*TABLES, *signals))

    def places(self) -> tuple[TopicPartition, ...]:
        """Every partition of every data topic."""
        return tuple(
            TopicPartition(TopicName(topic), number)
            for topic in self.data_topics
            for number in range(self.partitions)
        )

    def stream(self) -> None:
        """Send everything that the log holds beyond the cursor."""
        self._stream(len(self.database.log))

    def catch_up(self) -> None:
        """Send again what a restart has gone back over."""
        self._stream(self.begun)

    def _stream(self, end: int) -> None:
        for entry in self.database.log[self.cursor.entry : end]:
            self._send_entry(entry, self.cursor.change)
            self.cursor = _Cursor(entry.number + 1)
        self.begun = max(self.begun, self.cursor.entry)

    def overtake(self, *, beside: bool) -> None:
        """Read all tables where the log ends, and stream on from the cursor.

        beside: the rows stand where the newest streamed change does, and not where the log ends.
        """
        streamed = self.database.log[: self.cursor.entry]
        at = streamed[-1].changes[-1].at if beside and streamed else self.database.here
        self._send_snapshot(at, initial=False)
        self.stream()

    def snapshot(self, *, initial: bool) -> None:
        """Read all tables where the log ends, and stream from there."""
        if not initial:
            self.stream()
        unavailable = self.cursor.entry
        self.cursor = _Cursor(len(self.database.log))
        if initial:
            self.first_entry = self.cursor.entry
            has_rows = any(self.database.state.values())
            read_at = self.database.here if has_rows else None
            self.gaps.append(Gap(unavailable, self.first_entry, read_at))
        self._send_snapshot(self.database.here, initial=initial)

    def _send_snapshot(self, at: tuple[int, int], *, initial: bool) -> None:
        rows = [(t, k, v) for t in TABLES for k, v in sorted(self.database.state[t].items())]
        self.begins.append(INITIAL if initial else BLOCKING)
        for index, (table, key, value) in enumerate(rows):
            mark = "last" if index == len(rows) - 1 else "first" if index == 0 else "true"
            self._send_read(table, key, value, mark, at, initial=initial, read_as=index)

    def chunk(self, number: int, inside: Sequence[Write], *, truncated: bool) -> None:
        """An incremental snapshot of a table; ``inside`` is written while its window is open.

        truncated: the table is, too; so what was read is gone when it is sent. Rows stand where the
        window closes; keys that changed in it are left out.
        """
        table, log = TABLES[number], self.database.log
        opened, half = len(log), len(inside) // 2
        self._signal(opens=True)
        self.database.commit(inside[:half])
        rows = sorted(self.database.state[table].items())
        if truncated:
            self.database.truncate(number, ())
        self.database.commit(inside[half:])
        self._signal(opens=False)
        self.stream()
        changed = {c.key for entry in log[opened:] for c in entry.changes if c.table == table}
        # It may tell the place of the change that was streamed before it.
        beside_last = log and (self.has_signals or not truncated)
        at = log[-1].changes[-1].at if beside_last else self.database.here
        # It never tells a place below the one that it told before.
        at = self.told_at = max(at, self.told_at)
        self.begins.append(self.cursor)
        for key, value in rows:
            if key not in changed:
                self._send_read(table, key, value, "incremental", at, initial=False)

    def die_in_window(self) -> None:
        """A window opens that nobody closes."""
        self._signal(opens=True)
        self.stream()
        self.marks = self.marks or self.flavour is Flavour.MARIADB

    def _signal(self, *, opens: bool) -> None:
        if self.has_signals:
            self.database.signal(opens=opens)

    def watermark(self) -> None:
        """TiCDC: every commit up to now is in the queues; the next may equal the watermark."""
        self.stream()
        self.begins.append(self.cursor)
        for place in self.places():
            content = {"database": "", "table": "", "isDdl": False, "type": "TIDB_WATERMARK"}
            extension = {"watermarkTs": self.database.clock + COMMIT_STEP}
            self._send(place, None, _canal(content | {"_tidb": extension}, self.database.clock))

    def lose(self, came: Collection[tuple[int, int]]) -> None:
        """Die; the log is purged before it is read on, so a new connector begins with a snapshot.

        What is still in a queue is lost with it. came: the changes that the broker has.
        """
        lost = [self.begins[record.event] for queue in self.queues.values() for record in queue]
        self.cursor = _Cursor(
            next(
                (
                    entry.number
                    for entry in self.database.log[self.gaps[-1].end :]
                    if any((entry.number, index) not in came for index in range(len(entry.changes)))
                ),
                len(self.database.log),
            )
        )
        if INITIAL in lost:
            self.cursor = _Cursor(self.gaps[-1].start)
        self.queues.clear()
        self.begins.clear()
        self.snapshot(initial=True)

    def restart(self, back: int) -> None:
        """Die, and go on ``back`` events earlier, at the latest where a record was lost."""
        lost = [record.event for queue in self.queues.values() for record in queue]
        self.queues.clear()
        broken_off = [self.begins[event] for event in lost if self.begins[event].entry < 0]
        if INITIAL in broken_off:
            self.begins.clear()
            self.cursor = _Cursor(self.gaps[-1].start)
            self.snapshot(initial=True)
            return
        event = max(0, min([len(self.begins) - 1 - back, *lost]))
        following = (cursor for cursor in self.begins[event:] if cursor.entry >= 0)
        self.cursor = next(following, self.cursor)
        del self.begins[event:]
        if broken_off:
            self.snapshot(initial=False)

    def _send_entry(self, entry: Entry, start: int) -> None:
        if self.flavour in (Flavour.TICDC, Flavour.BY_OFFSET):
            for index, change in enumerate(entry.changes):
                self.begins.append(_Cursor(entry.number, 0))
                self._send_canal(entry, change, index)
            return
        self.begins.append(_Cursor(entry.number, start))
        has_begin = entry.in_transaction or self.flavour is Flavour.MARIADB
        if has_begin:
            self._send_boundary(entry, "BEGIN", None)
        changes = entry.changes[start:]
        for number, change in enumerate(changes, start=1):
            self.begins.append(_Cursor(entry.number, start + number - 1))
            order = number if has_begin else None
            self._send_change(entry, change, order, index=start + number - 1)
        if entry.in_transaction:
            self._send_boundary(entry, "END", changes)

    def _send(
        self,
        place: TopicPartition,
        key: Mapping[str, Any] | None,
        value: Mapping[str, Any] | None,
        *,
        outside: bool = False,
        change: tuple[int, int] | None = None,
    ) -> None:
        record = Record(
            place,
            None if key is None else json.dumps(key).encode(),
            None if value is None else json.dumps(value).encode(),
            len(self.begins) - 1,
            outside,
            self.partitions,
            change,
        )
        self.queues.setdefault(place, deque()).append(record)

    def _partition(self, table: str, key: int | None) -> TopicPartition:
        """Where the producer sends it: by the key's hash, or anywhere when there is none."""
        text = f"{table} {key}" if key is not None else f"{table} {len(self.begins)}"
        number = zlib.crc32(text.encode()) % self.partitions
        return TopicPartition(TopicName(f"s.{SCHEMA}.{table}"), number)

    def _id(self, entry: Entry, at: tuple[int, int]) -> str:
        match self.flavour:
            case Flavour.POSTGRES | Flavour.POSTGRES_UNGATED:
                return f"{700 + entry.number}:{at[1]}"
            case Flavour.MARIADB:
                return f"0-1-{entry.number + 1}"
            case _:
                # Members of a group take numbers from blocks of their own.
                number, member = divmod(entry.number, 2)
                return f"{GTID}:{member * BLOCK + number + 1}"

    def _send_boundary(self, entry: Entry, status: str, changes: tuple[Change, ...] | None) -> None:
        at = entry.end if changes is not None else entry.changes[0].at
        counts: list[dict[str, Any]] | None = None
        if changes is not None:
            names = [f"{SCHEMA}.{change.table}" for change in changes]
            counts = [
                {"data_collection": name, "event_count": names.count(name)}
                for name in sorted(set(names))
            ]
        value = {
            "status": status,
            "id": self._id(entry, at),
            "ts_ms": MILLIS + entry.number,
            "event_count": None if changes is None else len(changes),
            "data_collections": counts,
        }
        self._send(TRANSACTIONS, {"id": value["id"]}, value)

    def _source(self, at: tuple[int, int], mark: str | None, *, known: bool) -> dict[str, Any]:
        snapshot = {"snapshot": mark or "false"}
        if self.flavour in (Flavour.POSTGRES, Flavour.POSTGRES_UNGATED):
            first = str(at[0]) if known else None
            lsn = None if mark == "incremental" else at[1]
            sequence = json.dumps([first, str(at[1])])
            return {**snapshot, "schema": SCHEMA, "lsn": lsn, "sequence": sequence, "db": "d"}
        return {**snapshot, "db": SCHEMA, "file": f"bin.{at[0]:06d}", "pos": at[1]}

    def _send_change(self, entry: Entry, change: Change, number: int | None, *, index: int) -> None:
        of = (entry.number, index)
        transaction = None
        if number is not None:
            transaction = {"id": self._id(entry, change.at), "total_order": number}
        mark = "true" if self.marks else None
        source = self._source(change.at, mark, known=entry.number != self.first_entry)
        body = {
            "before": None,
            "after": None,
            "source": {**source, "table": change.table, "ts_ms": MILLIS + entry.number},
            "transaction": transaction,
        }
        place = self._partition(change.table, change.key)
        outside = not entry.in_transaction
        if change.key is None:
            self._send(place, None, {**body, "op": "t"}, outside=outside, change=of)
            return
        if change.table == SIGNALS:
            kind = "snapshot-window-open" if change.value else "snapshot-window-close"
            image = {"id": str(change.key), "type": kind, "data": ""}
            self._send(place, {"id": image["id"]}, {**body, "after": image, "op": "c"}, change=of)
            return
        key = {"id": change.key}
        if change.value is None:
            self._send(place, key, {**body, "before": {**key, "v": 0}, "op": "d"}, change=of)
            self._send(place, key, None)
            return
        after = {**key, "v": change.value}
        self._send(place, key, {**body, "after": after, "op": "u"}, change=of)

    def _send_read(  # noqa: PLR0913  a row, and how it was read
        self,
        table: str,
        key: int,
        value: int,
        mark: str,
        at: tuple[int, int],
        *,
        initial: bool,
        read_as: int = 1,
    ) -> None:
        source = self._source(at, mark, known=not initial)
        body = {
            "before": None,
            "after": {"id": key, "v": value},
            "source": {**source, "table": table, "ts_ms": MILLIS + len(self.database.log)},
            "transaction": None,
            "op": "r",
        }
        # Of a snapshot the first row is enough to tell that there is one.
        outside = mark == "incremental" or read_as == 0
        self._send(self._partition(table, key), {"id": key}, body, outside=outside)

    def _send_canal(self, entry: Entry, change: Change, index: int) -> None:
        content: dict[str, Any] = {"database": SCHEMA, "table": change.table, "isDdl": False}
        partition = (zlib.crc32(f"{entry.number} {index}".encode())) % self.partitions
        if self.flavour is Flavour.TICDC:
            content["_tidb"] = {"commitTs": change.at[0]}
        if change.key is None:
            partition = 0
            content |= {"isDdl": True, "type": "TRUNCATE", "sql": f"TRUNCATE TABLE {change.table}"}
        else:
            kind = "DELETE" if change.value is None else "INSERT"
            row = {"id": str(change.key), "v": str(change.value or 0)}
            types = {"id": "int", "v": "int"}
            content |= {"type": kind, "data": [row], "mysqlType": types, "pkNames": ["id"]}
        place = TopicPartition(TopicName("shop"), partition)
        self._send(place, None, _canal(content, MILLIS + entry.number))


def _canal(content: Mapping[str, Any], es: int) -> dict[str, Any]:
    return {"id": 0, "es": es, "ts": es, "sql": "", "data": None, "old": None, **content}
