"""What was quarantined, what became of it, and how much may wait (POISON-1, POISON-2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from tidemark.model.event import Reason
from tidemark.model.names import TableName
from tidemark.model.position import Position
from tidemark.model.renames import Rename, steps

FEWEST_OF_RUN = 10
CHANGES_PER_ENTRY = 1000
KINDLESS = frozenset(
    {
        *(Reason.EMPTY_VALUE, Reason.FORMAT_MISMATCH, Reason.ENVELOPE_INVALID, Reason.OP_UNKNOWN),
        *(Reason.JSON_INVALID, Reason.JSON_NOT_OBJECT, Reason.JSON_NUMBER, Reason.JSON_DEPTH),
        *(Reason.JSON_DUPLICATE_KEY, Reason.UTF8_INVALID, Reason.POSITION_MISSING),
        *(Reason.AVRO_MAGIC, Reason.AVRO_SCHEMA_UNKNOWN, Reason.AVRO_DECODE, Reason.SCHEMA_HISTORY),
    }
)
"""Codes of records that may be no rows; any other one, and any of a change, was found in a row."""


class State(StrEnum):
    """What became of something that was quarantined; all but ``waiting`` is an end.

    Applied: it was tried again, and was the newest change of its key. Duplicate: there was a newer
    one, or a truncate, so nothing was done (POISON-4). Dropped: a person gave it up.
    """

    WAITING = "waiting"
    APPLIED = "applied"
    DUPLICATE = "duplicate"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """Where one record stands.

    >>> str(RecordPlace.parse("shop.items:0:7"))
    'shop.items:0:7'
    """

    topic: str
    partition: int
    offset: int

    @classmethod
    def parse(cls, text: str) -> RecordPlace:
        """The place in ``topic:partition:offset``; ValueError when it is none."""
        topic, partition, offset = text.split(":")
        return cls(topic, int(partition), int(offset))

    def __str__(self) -> str:
        return f"{self.topic}:{self.partition}:{self.offset}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A record that was quarantined, or one change in it. Its payload is in the changelog alone.

    row: number of the change in its record, None where the record as a whole is meant. table,
    column: as records name them, empty where unknown. bytes, sha256: of the record's value. cut:
    in which it came into its state. reason: why a person dropped it.
    """

    topic: str
    partition: int
    offset: int
    row: int | None
    code: Reason
    table: str
    column: str
    position: str
    kafka_time: datetime | None
    bytes: int
    sha256: str
    cut: int
    state: State = State.WAITING
    reason: str = ""

    @property
    def place(self) -> tuple[str, int, int]:
        """Where the record stands: topic, partition, offset."""
        return self.topic, self.partition, self.offset

    @property
    def can_be_replayed(self) -> bool:
        """Whether it may count yet; a skipped transaction is made good by a re-snapshot."""
        return self.state is State.WAITING and self.code is not Reason.TX_SKIPPED

    @property
    def may_be_statement(self) -> bool:
        """Whether it waits and may be a truncate or a schema change (POISON-3)."""
        return self.state is State.WAITING and self.code in KINDLESS and self.row is None

    def under(self, renames: Iterable[Rename]) -> Entry:
        """The same with its table's name of now (SCHEMA-31); renames: in their order."""
        table = self.table
        for position, names in steps(renames):
            if position is None or self.position <= position:
                known = {str(old): str(new) for old, new in names.items()}
                table = known.get(table, table)
        return replace(self, table=table)

    def as_stored(self, renames: Sequence[Rename]) -> Entry:
        """The reverse of `under`, with the name that the record has."""
        return replace(self, table=name_in_record(self.table, self.position, renames))

    def is_below(self, position: Position) -> bool:
        """Whether it stands below ``position`` for certain."""
        return bool(self.position) and self.position < position


@dataclass(frozen=True, slots=True)
class Kind:
    """Changes in quarantine that have one cause: their table, code and column, and one of them.

    table, column: empty where unknown. record: the first of them, as topics and offsets sort.
    """

    table: str
    code: Reason
    column: str
    changes: int
    record: RecordPlace


def by_kind(entries: Iterable[Entry]) -> tuple[Kind, ...]:
    """What waits, by cause; the tables in their order, those of no known table first."""
    places: dict[tuple[str, Reason, str], list[tuple[str, int, int]]] = {}
    for entry in entries:
        places.setdefault((entry.table, entry.code, entry.column), []).append(entry.place)
    return tuple(
        Kind(*cause, len(records), RecordPlace(*min(records)))
        for cause, records in sorted(places.items())
    )


@dataclass(frozen=True, slots=True)
class Selection:
    """Some of what waits: of one table, with one code, of one record; all of it without any."""

    table: str = ""
    code: Reason | None = None
    record: RecordPlace | None = None

    def takes(self, entry: Entry) -> bool:
        """Whether ``entry`` is meant."""
        record = RecordPlace(*entry.place)
        return (
            self.table in ("", entry.table)
            and self.code in (None, entry.code)
            and self.record in (None, record)
        )

    def under(self, names: Mapping[TableName, TableName]) -> Selection:
        """The same with the name that its table has now; names: of before -> of now."""
        known = {str(old): str(new) for old, new in names.items()}
        return replace(self, table=known.get(self.table, self.table))

    def to_json(self) -> dict[str, Any]:
        """As kept in the ledger."""
        record = str(self.record) if self.record else None
        return {"table": self.table, "code": self.code, "record": record}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Selection:
        """The reverse of `to_json`."""
        code, record = stored["code"], stored["record"]
        return cls(
            stored["table"],
            Reason(code) if code else None,
            RecordPlace.parse(record) if record else None,
        )

    def __str__(self) -> str:
        parts = [
            f"--table {self.table}" if self.table else "",
            f"--code {self.code}" if self.code else "",
            f"--record {self.record}" if self.record else "",
        ]
        return " ".join(filter(None, parts))


def name_in_record(table: str, position: str, renames: Sequence[Rename]) -> str:
    """What the record of a change at ``position`` calls the table that is called ``table`` now."""
    for until, names in reversed(list(steps(renames))):
        if until is None or position <= until:
            known = {str(new): str(old) for old, new in names.items()}
            table = known.get(table, table)
    return table


def newest_states(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """One entry per change, in the order of their records: what it came to in the newest cut.

    A change is quarantined once more each time that it is tried in vain, also after it had come to
    an end: a refold tries it again. A person drops what the newest cut has quarantined.
    """
    newest: dict[tuple[object, ...], Entry] = {}
    for entry in entries:
        change = (*entry.place, -1 if entry.row is None else entry.row)
        known = newest.get(change, entry)
        newest[change] = max(
            known,
            entry,
            key=lambda candidate: (candidate.cut, candidate.state is not State.WAITING),
        )
    return tuple(newest[change] for change in sorted(newest))


def most_of_run(changes: int, most: int) -> int:
    """How many of ``changes`` of a table one run may quarantined (POISON-2).

    most: how many of it may wait altogether.

    >>> most_of_run(3, 1000), most_of_run(50_000, 1000), most_of_run(10**7, 1000)
    (10, 50, 1000)
    >>> most_of_run(50_000, 0)
    0
    """
    return min(most, max(FEWEST_OF_RUN, changes // CHANGES_PER_ENTRY))
