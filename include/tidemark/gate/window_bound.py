"""Rows that an incremental snapshot read before a truncate and sends after it (SNAP-7).

A connector leaves out of a window what changed inside it, row by row; a truncate names no row. So
rows of a window that was open at the truncate fall. Nothing is lost with them: what the table holds
after a truncate was written after it, and is in the stream.

Windows follow each other: the first one that opened behind a truncate, and all that come later,
read what was there behind it. Without the signal table nothing tells when they opened. Then the
rows of the table's first chunk behind the truncate fall, which stand at one place: the windows of
all later ones opened behind that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from tidemark.gate.next_cut import Decision
from tidemark.model.checkpoint_status import INCREMENTAL_ROW, CheckpointStatus
from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.position import EPOCH_DIGITS, OFFSET_DIGITS, Position
from tidemark.model.profile import ProfileEntry
from tidemark.model.progress import Progress
from tidemark.model.reduction import new_truncate
from tidemark.model.summary import PLACE, Summary

ALL = Position("~")
"""Above every position, as these are hexadecimal digits."""

Ask = Callable[[Summary], Iterable[Mapping[str, Any]]]
"""What answers a question over the changelog rows of a cut beside their status."""


def next_window_bounds(
    progress: Progress,
    decision: Decision,
    tables: Mapping[tuple[str, str], TableName],
    ask: Ask,
    *,
    sees_windows: bool,
) -> dict[TableName, Position]:
    """Per truncated table the position below which incremental rows above the truncate fall.

    tables: those that are folded, by their names in records. ask: costs a small job, and is called
    only where windows or chunks stand behind a truncate for which none was known. sees_windows: the
    connector's signal table is read. Without it chunks that come after a truncate count whole where
    a person has ordered them to fix the table. Where the offset is all the order there is, nothing
    can be told.
    """
    in_cut = [
        profile_entry
        for profile_entry in decision.profile.profile_entries
        if profile_entry.status is CheckpointStatus.PENDING
    ]
    window_bounds = dict(progress.window_bounds)
    newest = newest_truncates(progress, in_cut, tables)
    for table, at in newest.items():
        is_new = new_truncate([at], progress.truncated.get(table)) is not None
        if is_new and len(at) > EPOCH_DIGITS + OFFSET_DIGITS:
            window_bounds[table] = ALL
    if not sees_windows:
        ordered = (
            table for table, reconcile in progress.snapshots.tables.items() if reconcile.is_ordered
        )
        for table in ordered:
            if window_bounds.get(table) == ALL:
                del window_bounds[table]
    open_ones = {table: at for table, at in newest.items() if window_bounds.get(table) == ALL}
    if sees_windows:
        return window_bounds | _first_windows(open_ones, in_cut, ask)
    return window_bounds | _behind_first_chunks(open_ones, in_cut, tables, ask)


def _first_windows(
    truncates: Mapping[TableName, Position], in_cut: Collection[ProfileEntry], ask: Ask
) -> dict[TableName, Position]:
    """Per table where the first window opened behind its truncate, whichever table it reads."""
    opened = max((g.highest for g in in_cut if g.kind is Kind.WINDOW and g.highest), default="")
    behind = {table: at for table, at in truncates.items() if opened > at}
    first: dict[TableName, Position] = {}
    for table, _, position in _first_behind(behind, "position", f"kind = '{Kind.WINDOW}'", ask):
        first[table] = min(first.get(table, ALL), Position(position))
    return first


def _behind_first_chunks(
    truncates: Mapping[TableName, Position],
    in_cut: Collection[ProfileEntry],
    tables: Mapping[tuple[str, str], TableName],
    ask: Ask,
) -> dict[TableName, Position]:
    """Per table the position behind its first chunk above its truncate."""
    chunks = [(tables.get(_name(g)), g.chunk_to) for g in in_cut if g.chunk_to]
    behind = {
        table: at
        for table, at in truncates.items()
        if any(chunk_table == table and chunk > at for chunk_table, chunk in chunks)
    }
    rows = f"kind = '{Kind.ROW}' AND {INCREMENTAL_ROW}"
    first: dict[TableName, Position] = {}
    for table, name, place in _first_behind(behind, PLACE, rows, ask):
        if tables.get(name) == table:
            first[table] = min(first.get(table, ALL), Position(place + ALL))
    return first


def _first_behind(
    truncates: Mapping[TableName, Position], what: str, where: str, ask: Ask
) -> Iterator[tuple[TableName, tuple[str, str], str]]:
    """Per truncated table, and table with such records in the cut, the least ``what`` behind it."""
    if not truncates:
        return
    figures = {
        f"first_{number}": f"min(CASE WHEN position > '{at}' THEN {what} END)"
        for number, at in enumerate(truncates.values())
    }
    keys = {name: name for name in ("source_schema", "source_table")}
    for row in ask(Summary(keys, figures, f"status = '{CheckpointStatus.PENDING}' AND {where}")):
        for table, figure in zip(truncates, figures, strict=True):
            if row[figure] is not None:
                yield table, (row["source_schema"], row["source_table"]), row[figure]


def newest_truncates(
    progress: Progress, in_cut: list[ProfileEntry], tables: Mapping[tuple[str, str], TableName]
) -> dict[TableName, Position]:
    """Per table the newest truncate that is published or among the groups ``in_cut``."""
    newest = dict(progress.truncated)
    for profile_entry in in_cut:
        if (
            profile_entry.kind is Kind.TRUNCATE
            and profile_entry.highest
            and _name(profile_entry) in tables
        ):
            table = tables[_name(profile_entry)]
            newest[table] = max(profile_entry.highest, newest.get(table, profile_entry.highest))
    return newest


def _name(profile_entry: ProfileEntry) -> tuple[str, str]:
    return profile_entry.table or ("", "")
