"""Where a run is capped in a history, in the words of the product and in those of the source."""

from __future__ import annotations

from tests.simulate.decode import POSTGRES
from tests.simulate.history import TABLES, Flavour
from tests.simulate.source import Change, Database
from tidemark.model.names import TableName
from tidemark.model.position import OFFSET_DIGITS, Place, Position
from tidemark.model.until import Barrier, Behind, Coordinate, Until


def capped_at(database: Database, back: int | None) -> Change | None:
    """The change that stands ``back`` before the newest one; None where nothing caps a run."""
    changes = [change for entry in database.log for change in entry.changes]
    if back is None or back >= len(changes) or database.flavour is Flavour.BY_OFFSET:
        return None
    return changes[-1 - back]


def until_at(flavour: Flavour, capped: Change) -> Until:
    """The cap of a run that may publish nothing at ``capped`` or behind it."""
    first, last = capped.at
    if flavour is Flavour.TICDC:
        return Until(Coordinate.COMMIT, first, str(first))
    if flavour in POSTGRES:
        return Until(Coordinate.LSN, last, f"0/{last:X}")
    return Until.at_binlog(first, last, f"bin.{first:06}:{last}")


def statement_at(place: Place) -> Barrier:
    """A statement at ``place``, at which a cut ends; the change that stands there is taken."""
    position = Position(place + OFFSET_DIGITS * "0")
    return Barrier(TableName("shop", TABLES[0]), position, Behind.OTHER_KEY)


def waits(flavour: Flavour, change: Change, capped: Change) -> bool:
    """Whether ``change`` stands at ``capped`` or behind; with PostgreSQL where it was written."""
    if flavour is Flavour.TICDC:
        return change.at[0] >= capped.at[0]
    if flavour in POSTGRES:
        return change.at[1] >= capped.at[1]
    return change.at >= capped.at
