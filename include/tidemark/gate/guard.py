"""Rows that an incremental snapshot read before a truncate and sends after it (SNAP-7).

A connector leaves out of a window what changed inside it, row by row; a truncate names no row. So
rows of a window that was open at the truncate fall. Nothing is lost with them: what the table holds
after a truncate was written after it, and is in the stream.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidemark.gate.next_cut import Decision
from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.position import EPOCH_DIGITS, OFFSET_DIGITS, Place, Position
from tidemark.model.progress import Progress
from tidemark.model.reduction import new_truncate
from tidemark.model.survey import Group
from tidemark.model.zone import Zone

ALL = Position("~")
"""Above every position, as these are hexadecimal digits."""


def next_guards(
    progress: Progress,
    decision: Decision,
    tables: Mapping[tuple[str, str], TableName],
    *,
    sees_windows: bool,
) -> dict[TableName, Position]:
    """Per truncated table the position below which incremental rows above the truncate fall.

    tables: those that are folded, by their names in records. sees_windows: the connector's signal
    table is read. It tells when windows open; without it the first chunks that come after a
    truncate fall, unless a person has ordered them to mend the table. Where the offset is all the
    order there is, nothing can be told.
    """
    in_cut = [group for group in decision.survey.groups if group.zone is Zone.CUT]
    opened = max((g.highest for g in in_cut if g.kind is Kind.WINDOW and g.highest), default=None)
    guards = dict(progress.guards)
    for table, at in newest_truncates(progress, in_cut, tables).items():
        is_new = new_truncate([at], progress.truncated.get(table)) is not None
        if is_new and len(at) > EPOCH_DIGITS + OFFSET_DIGITS:
            guards[table] = ALL
        if guards.get(table) != ALL:
            continue
        ordered = progress.snapshots.tables.get(table)
        if sees_windows:
            guards[table] = opened if opened is not None and opened > at else ALL
        elif ordered is not None and ordered.is_ordered:
            del guards[table]
        else:
            chunks = [g.chunk_to for g in in_cut if g.chunk_to and tables.get(_name(g)) == table]
            newest = max(chunks, default=Place(""))
            guards[table] = Position(newest + ALL) if newest > at else ALL
    return guards


def newest_truncates(
    progress: Progress, in_cut: list[Group], tables: Mapping[tuple[str, str], TableName]
) -> dict[TableName, Position]:
    """Per table the newest truncate that is published or among the groups ``in_cut``."""
    newest = dict(progress.truncated)
    for group in in_cut:
        if group.kind is Kind.TRUNCATE and group.highest and _name(group) in tables:
            table = tables[_name(group)]
            newest[table] = max(group.highest, newest.get(table, group.highest))
    return newest


def _name(group: Group) -> tuple[str, str]:
    return group.table or ("", "")
