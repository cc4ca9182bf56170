"""Where a record of the changelog stands when the frontier moves, as one SQL expression."""

from __future__ import annotations

from enum import StrEnum

from tidemark.model.cut import Cut, GateMode
from tidemark.model.event import SIGNALS, Kind, SnapshotMark
from tidemark.model.position import BINLOG_DIGITS, BINLOG_RANK_AT, LSN_RANK_AT, NUMBER_DIGITS
from tidemark.model.summary import PLACE, listed
from tidemark.model.transaction import is_of


class CheckpointStatus(StrEnum):
    """Committed by an earlier cut; a duplicate, sent again; pending in this cut; or held.

    What is held is above the cut and stays in the changelog for a later one. Skipped: of a
    transaction that a person gave up (GATE-T8). Replayed: quarantined by an earlier cut, and tried
    again by this one (POISON-4).
    """

    COMMITTED = "committed"
    DUPLICATE = "duplicate"
    PENDING = "pending"
    HELD = "held"
    SKIPPED = "skipped"
    REPLAYED = "replayed"


_BY_PLACE = (
    CheckpointStatus.COMMITTED,
    CheckpointStatus.DUPLICATE,
    CheckpointStatus.PENDING,
    CheckpointStatus.HELD,
    CheckpointStatus.SKIPPED,
)
CHANGES = tuple(kind.value for kind in (Kind.ROW, Kind.TRUNCATE, Kind.DDL, *SIGNALS))
BOUNDARIES = (Kind.BEGIN.value, Kind.END.value)
AWAITED = f"kind = '{Kind.UNREADABLE}' AND position IS NOT NULL"
"""A record that cannot be read, of a transaction that waits for it (POISON-5)."""

INCREMENTAL_ROW = f"snapshot = '{SnapshotMark.INCREMENTAL}'"
WHOLE_SNAPSHOT = f"snapshot IS NOT NULL AND snapshot <> '{SnapshotMark.INCREMENTAL}'"

OLD_BOUND, NEW_BOUND = "_old_bound", "_new_bound"
OLD_NEXT, NEW_NEXT = "_old_next", "_new_next"
REACHED, STREAMED, READ_AT = "_reached", "_streamed", "_read_at"

# A snapshot amid the stream may stand where that was, and is settled when all of it is there.
_IS_BELOW_OLD = f"position < {OLD_BOUND} AND (NOT ({WHOLE_SNAPSHOT}) OR {PLACE} <= {READ_AT})"
_BELOW = {
    GateMode.WATERMARK: (f"position < {OLD_BOUND}", f"position < {NEW_BOUND}"),
    GateMode.TRANSACTION: (_IS_BELOW_OLD, f"position < {NEW_BOUND}"),
    GateMode.NONE: (f"offset < {OLD_NEXT}", f"offset < {NEW_NEXT}"),
}
# Rows that are read amid the stream may stand beside the last streamed change, and come behind it.
_PLACE_AS_STREAMED = (
    f"CASE WHEN snapshot IS NOT NULL AND length(position) = {BINLOG_DIGITS} "
    f"THEN substr(position, 1, {BINLOG_RANK_AT}) || '1' "
    f"WHEN {INCREMENTAL_ROW} THEN substr(position, 1, {LSN_RANK_AT}) || '1' "
    f"|| substr(position, {LSN_RANK_AT + 2}, {NUMBER_DIGITS}) ELSE {PLACE} END"
)
# What a snapshot is ahead of is streamed behind it.
_CAME_AGAIN = (
    f"CASE WHEN {WHOLE_SNAPSHOT} THEN {_PLACE_AS_STREAMED} < {REACHED} "
    f"ELSE {_PLACE_AS_STREAMED} < {STREAMED} END"
)
# A transaction settles whole, so nothing more of it stands where its last change does.
_IN_TRANSACTION = f"transaction_id IS NOT NULL AND kind <> '{Kind.DDL}' AND snapshot IS NULL"
_IS_SETTLED = f"{_IN_TRANSACTION} AND {PLACE} = {STREAMED}"
_LATE = {
    # A watermark promises that nothing below it comes any more, so what comes was there before.
    GateMode.WATERMARK: f"position < {OLD_BOUND}",
    # Partitions keep the source's order (POS-20); what END does not count may come behind it. A
    # snapshot settles when every partition was read behind its end.
    GateMode.TRANSACTION: f"{_CAME_AGAIN} OR ({_IS_SETTLED}) "
    f"OR (position < {OLD_BOUND} AND {WHOLE_SNAPSHOT} AND {PLACE} <= {READ_AT})",
    # Above the cut a repeat waits like everything there, so that one cut alone counts it (ACC-1).
    GateMode.NONE: f"offset < {OLD_NEXT} OR (offset < {NEW_NEXT} AND {_CAME_AGAIN})",
}


def status(cut: Cut, gated_landing: int, published_landing: int | None = None) -> str:
    """The checkpoint status towards ``cut`` of a row beside the bounds of its partition.

    OLD_BOUND, NEW_BOUND: positions that the frontier moves between. OLD_NEXT, NEW_NEXT: offsets
    of the row's partition, likewise. REACHED: greatest place that this partition had settled;
    STREAMED: of what was streamed. READ_AT: of the newest snapshot of the source that was settled.
    gated_landing: the newest landing that an earlier cut has seen; what came later and was below
    the frontier was sent again. published_landing: likewise, the newest that counted when the old
    frontier was reached, where that is an older one, of a table that stands lower (GATE-3). Records
    that change nothing settle with the first cut that sees them, but BEGIN, END and what is AWAITED
    only with their transaction (GATE-T9).
    """
    settled, late, pending, held, skipped = (f"'{status.value}'" for status in _BY_PLACE)
    below_old, below_new = _BELOW[cut.mode]
    was_gated = f"landing <= {gated_landing}"
    was_published = was_gated if published_landing is None else f"landing <= {published_landing}"
    boundary, void, opened = "", "", ""
    if cut.mode is GateMode.TRANSACTION:
        is_boundary = f"kind IN ({listed(BOUNDARIES)})"
        boundary = (
            f"WHEN {is_boundary} AND offset >= {NEW_NEXT} THEN {held} "
            f"WHEN {is_boundary} AND offset >= {OLD_NEXT} THEN {pending} "
        )
    if cut.opened:
        opened = f"WHEN {WHOLE_SNAPSHOT} AND {PLACE} IN ({listed(cut.opened)}) THEN {held} "
    if cut.void:
        is_void = f"{WHOLE_SNAPSHOT} AND {PLACE} IN ({listed(cut.void)})"
        void = f"WHEN {below_new} AND {is_void} THEN {late} "
    if cut.skipped:
        is_skipped = " OR ".join(map(is_of, sorted(cut.skipped)))
        void += f"WHEN {below_new} AND ({is_skipped}) THEN {skipped} "
    is_placed, is_late = f"kind IN ({listed(CHANGES)})", _LATE[cut.mode]
    if cut.mode is GateMode.TRANSACTION:
        # Nobody can say of what cannot be read that it came before.
        is_placed, is_late = f"{is_placed} OR ({AWAITED})", f"({is_late}) AND NOT ({AWAITED})"
    return (
        f"CASE {boundary}"
        f"WHEN NOT ({is_placed}) AND {was_gated} THEN {settled} "
        f"WHEN NOT ({is_placed}) THEN {pending} "
        f"WHEN {below_old} AND {was_published} THEN {settled} "
        f"WHEN {is_late} THEN {late} {opened}{void}"
        f"WHEN {below_new} THEN {pending} "
        f"ELSE {held} END"
    )
