"""Snapshots of the whole source: when one is landed, and which transactions it stands for.

A connector that lost its offsets reads all tables again, and sends no more of what the one before
it had not sent. Source of the rules: SNAP-4, SNAP-5 and GATE-T14 in docs/concepts.md.
"""

from __future__ import annotations

from collections.abc import Collection

from tidemark.gate.statistics import SnapshotStatistics, StreamStatistics, highest_in
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import BINLOG_RANK_AT, EPOCH_DIGITS, LSN_RANK_AT, Place
from tidemark.model.transaction import Boundary, Share, number_of, top_of

_RANK_AT = {"lsn": LSN_RANK_AT, "binlog": BINLOG_RANK_AT}
"""Ids of transactions whose numbers are log coordinates, and where these end in a place."""


def is_read(snapshot: SnapshotStatistics, statistics: StreamStatistics) -> bool:
    """An earlier run saw the snapshot's end, and no partition can hold more of it (SNAP-4, -5)."""
    start = snapshot.place
    ended = (
        snapshot.ended
        or any((seen.streamed_before or "") > start for seen in statistics.partitions.values())
        or any(other.ended and other.place > start for other in statistics.snapshots)
    )
    return ended and all(_has_no_more(statistics, place, start) for place in statistics.places)


def snapshot_over(
    end: Boundary, shares: Collection[Share], short: Collection[str], statistics: StreamStatistics
) -> Place | None:
    """Where the first snapshot stands that holds what a transaction did; None without any.

    short: tables of which events are lacking; what was not sent when the snapshot was read never
    comes, and its rows of these tables tell more. Signals are about rows that it replaces.
    """
    missing = {table for table in short if table != statistics.signals}
    over = (
        snapshot.place
        for snapshot in statistics.snapshots
        if snapshot.is_whole
        and snapshot.tables >= missing
        and _is_below(end, shares, snapshot)
        and is_read(snapshot, statistics)
    )
    return min(over, default=None)


def _is_below(end: Boundary, shares: Collection[Share], snapshot: SnapshotStatistics) -> bool:
    """Whether a transaction was committed before a snapshot was read.

    Where neither an event nor the id tells its log coordinate, its END was sent before the rows.
    """
    if top_of(shares) >= snapshot.place:
        return False
    domain, number = number_of(end.id) or ("", 0)
    if domain in _RANK_AT:
        return number <= int(snapshot.place[EPOCH_DIGITS : _RANK_AT[domain]], 16)
    return bool(shares) or end.kafka_ms < snapshot.kafka_ms


def _has_no_more(statistics: StreamStatistics, place: TopicPartition, start: Place) -> bool:
    seen = statistics.partitions.get(place)
    is_silent = place not in statistics.unread and (seen is None or seen.records == 0)
    return is_silent or highest_in(statistics, place) > start
