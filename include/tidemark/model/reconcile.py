"""What a new snapshot of a table did not contain is gone at the source, and goes here (SNAP-6).

Rows that were deleted while nobody streamed leave no event. Once every row of a snapshot is there,
what stands below it and was not in it is known to be one of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tidemark.model.names import TableName
from tidemark.model.position import EPOCH_DIGITS, LAST, OFFSET_DIGITS, Place, Position

BELOW_ALL_OFFSETS = "-" * OFFSET_DIGITS
"""Sorts before every hexadecimal digit, and is as long as an offset."""


class ReconcileStage(StrEnum):
    """How far a table's snapshot has come.

    asked: a person must say that it holds the whole table. ended: its last row was read, but not
    yet every partition behind it (SNAP-5). due: the next cut removes what it did not contain.
    """

    READING = "reading"
    ENDED = "ended"
    ASKED = "asked"
    DUE = "due"


@dataclass(frozen=True, slots=True)
class Reconcile:
    """A table that was re-snapshotted.

    below: the position under which rows go that were not read again; empty until the first row of
    a snapshot that was ordered has come. why: what a person has to judge. is_ordered: a person has
    asked for it (SNAP-8), so any share of the rows may go. since: above all that was published by
    then. What stands higher changed while the snapshot was under way: the connector leaves such a
    row out of the chunk (SNAP-9), so that it is not read again though it is there.
    """

    stage: ReconcileStage
    below: Position = Position("")
    why: str = ""
    is_ordered: bool = False
    since: Position = Position("")

    def to_json(self) -> dict[str, Any]:
        """As kept in progress."""
        return {
            "stage": self.stage,
            "below": self.below,
            "why": self.why,
            "is_ordered": self.is_ordered,
            "since": self.since,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Reconcile:
        """The reverse of `to_json`."""
        return cls(**{**stored, "stage": ReconcileStage(stored["stage"])})


@dataclass(frozen=True, slots=True)
class Snapshots:
    """What is known of the source's snapshots.

    newest: where the newest one of the whole source was read; empty before the first. tables: those
    that are re-snapshotted, or have been and wait. is_signalled: a signal asked for the next one,
    which may be filtered. contradicting: where the newest one was read that came where rows were
    already; ended: the newest one whose last row was settled; signalled: the newest one that a
    signal asked for. A table whose rows of it come later than others' takes it as these did.
    """

    newest: Place = Place("")
    tables: Mapping[TableName, Reconcile] = field(default_factory=dict)
    is_signalled: bool = False
    contradicting: Place = Place("")
    ended: Place = Place("")
    signalled: Place = Place("")

    @property
    def due(self) -> dict[TableName, Reconcile]:
        """The tables that lose rows in the cut that knows this."""
        return {
            t: reconcile
            for t, reconcile in self.tables.items()
            if reconcile.stage is ReconcileStage.DUE
        }

    @property
    def wait_for_a_cut(self) -> bool:
        """The next cut may remove rows though it finds nothing new."""
        stages = (ReconcileStage.ENDED, ReconcileStage.DUE)
        return any(
            reconcile.stage in stages and reconcile.below for reconcile in self.tables.values()
        )

    def to_json(self) -> dict[str, Any]:
        """As kept in progress."""
        tables = {
            str(table): reconcile.to_json() for table, reconcile in sorted(self.tables.items())
        }
        return {
            "newest": self.newest,
            "tables": tables,
            "is_signalled": self.is_signalled,
            "contradicting": self.contradicting,
            "ended": self.ended,
            "signalled": self.signalled,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Snapshots:
        """The reverse of `to_json`."""
        tables = {
            TableName.parse(t): Reconcile.from_json(reconcile)
            for t, reconcile in stored["tables"].items()
        }
        return cls(**{**stored, "tables": tables})


def below_snapshot(place: Place) -> Position:
    """The position that is above whatever stands below ``place``, and under all that stands there.

    Empty when only the offset orders the source: nothing tells what stands below a snapshot then.
    """
    return Position(place + BELOW_ALL_OFFSETS if len(place) > EPOCH_DIGITS else "")


def ordered_resync(reached: Iterable[Place]) -> Reconcile:
    """A table that an operator re-snapshots; reached: the places that partitions have settled."""
    newest = max(reached, default=Place(""))
    return Reconcile(ReconcileStage.READING, is_ordered=True, since=_behind(newest))


def _behind(place: Place) -> Position:
    return Position(place + LAST if len(place) > EPOCH_DIGITS else "")
