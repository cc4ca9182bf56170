"""What the gates ask of the landed records before they say how far a cut may go."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tidemark.gate.retired_topics import Departure
from tidemark.model.checkpoint_status import AWAITED, CHANGES, WHOLE_SNAPSHOT
from tidemark.model.cut import Frontier
from tidemark.model.event import Kind, SnapshotMark
from tidemark.model.expansion import PartitionExpansions
from tidemark.model.names import TopicName
from tidemark.model.offsets import Offsets, TopicPartition
from tidemark.model.position import Place
from tidemark.model.summary import PLACE, Summary, listed
from tidemark.model.transaction import Boundary, Share

_BY_PARTITION = {"topic": "topic", "partition": "partition"}


@dataclass(frozen=True, slots=True)
class PartitionStatistics:
    """What is landed of one partition and not settled.

    highest: greatest place of any change; streamed_before: of one that no snapshot has read, among
    those that an earlier cut has seen. capped_from: least place of a change that is not below the
    run's cap. records: new ones, of any kind but control records.
    """

    highest: Place | None = None
    streamed_before: Place | None = None
    capped_from: Place | None = None
    records: int = 0

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> PartitionStatistics:
        """From one row of the answer to `partitions`."""
        return cls(
            highest=row["highest"],
            streamed_before=row["streamed_before"],
            capped_from=row["capped_from"],
            records=row["records"],
        )


@dataclass(frozen=True, slots=True)
class SnapshotStatistics:
    """What is landed of one snapshot of the source; all its rows stand at one place (SNAP-2).

    is_whole: its last row came, so all of them will (SNAP-4); ended: an earlier cut has seen it.
    tables: that it has rows of, in the source's words. kafka_ms: Kafka's time of its first row.
    """

    place: Place
    is_whole: bool
    ended: bool
    tables: frozenset[str] = frozenset()
    kafka_ms: int = 0


@dataclass(frozen=True, slots=True)
class StreamStatistics:
    """All that a gate decides by.

    places: every partition of every data topic. landed: next offset per partition. unread: the
    partitions that were not read to the end that they had when the run was planned. is_quiet: as
    `has_nothing_new` says.
    watermarks: newest per partition, of this run's records. first_capped: per partition the first
    landed offset that is not below the run's cap. in_log_order: that cap stands at one place of the
    log in all partitions. expansions: of topics, with gate ``none``.
    departures: statements that wait and after which a table is not in its topic any more, where
    some topic lags.
    boundaries, shares, partitions, snapshots: with gate ``transaction``. overtaken: likewise
    shares, of what came below a snapshot that is published already. followed: tables that are
    folded, in the source's words; None when all are. signals: the connector's signal table.
    """

    places: tuple[TopicPartition, ...] = ()
    landed: Offsets = field(default_factory=dict)
    unread: frozenset[TopicPartition] = frozenset()
    is_quiet: bool = False
    watermarks: Mapping[TopicPartition, int] = field(default_factory=dict)
    first_capped: Mapping[TopicPartition, int] = field(default_factory=dict)
    in_log_order: bool = False
    expansions: PartitionExpansions = field(default_factory=dict)
    departures: tuple[Departure, ...] = ()
    boundaries: tuple[Boundary, ...] = ()
    shares: tuple[Share, ...] = ()
    overtaken: tuple[Share, ...] = ()
    partitions: Mapping[TopicPartition, PartitionStatistics] = field(default_factory=dict)
    snapshots: tuple[SnapshotStatistics, ...] = ()
    followed: frozenset[str] | None = None
    signals: str | None = None


def has_nothing_new(
    partitions: Mapping[TopicPartition, PartitionStatistics], unread: Collection[TopicPartition]
) -> bool:
    """All is read, and an earlier cut has seen all that is landed but control records."""
    return not unread and not any(partition.records for partition in partitions.values())


def place_of(row: Mapping[str, Any]) -> TopicPartition:
    """The partition that a row of an answer is about."""
    return TopicPartition(TopicName(row["topic"]), row["partition"])


def watermarks(gated_landing: int) -> Summary:
    """Per partition the greatest watermark of the records that no cut has seen: ``watermark``."""
    new = f"kind = '{Kind.WATERMARK}' AND landing > {gated_landing}"
    return Summary(_BY_PARTITION, {"watermark": "max(watermark)"}, new)


def first_capped(waits: str) -> Summary:
    """Per partition the first ``offset`` of a change of which `Until.waits` is true."""
    capped = f"kind IN ({listed(CHANGES)}) AND {waits}"
    return Summary(_BY_PARTITION, {"offset": "min(offset)"}, capped)


def lowest_capped(waits: str) -> Summary:
    """The least ``position`` of a change of which `Until.waits` is true; null without any."""
    capped = f"kind IN ({listed(CHANGES)}) AND {waits}"
    return Summary({}, {"position": "min(position)"}, capped)


def partitions(bound: str, gated_landing: int, waits: str | None) -> Summary:
    """Per partition what `PartitionStatistics.of` reads.

    bound: text below which positions are settled, our own hexadecimal digits. waits: `Until.waits`,
    None when the run has no cap.
    """
    change = _unsettled(bound)
    before = f"landing <= {gated_landing}"

    def place(function: str, condition: str) -> str:
        return f"{function}(CASE WHEN {condition} THEN {PLACE} END)"

    return Summary(
        _BY_PARTITION,
        {
            "highest": place("max", change),
            "streamed_before": place("max", f"{change} AND snapshot IS NULL AND {before}"),
            "capped_from": place("min", f"{change} AND {waits or 'FALSE'}"),
            # A heartbeat says nothing of rows, and comes with every run (MSG-27).
            "records": f"sum(CASE WHEN {before} OR kind = '{Kind.CONTROL}' THEN 0 ELSE 1 END)",
        },
    )


def snapshots(bound: str, read_at: str, gated_landing: int) -> Summary:
    """Per snapshot and table what `snapshots_of` reads; incremental ones have no bounds.

    read_at: where the newest one stands that is settled. One that is read amid the stream may stand
    where the stream was, and so below ``bound``.
    """
    last = f"snapshot = '{SnapshotMark.LAST}'"
    is_new = f"(position >= '{bound}' OR {PLACE} > '{read_at}')"
    return Summary(
        keys={
            "place": PLACE,
            "source_schema": "source_schema",
            "source_table": "source_table",
        },
        figures={
            "is_whole": f"max(CASE WHEN {last} THEN 1 ELSE 0 END)",
            "ended": f"max(CASE WHEN {last} AND landing <= {gated_landing} THEN 1 ELSE 0 END)",
            "kafka_ms": "min(unix_millis(kafka_time))",
        },
        where=f"kind = '{Kind.ROW}' AND {WHOLE_SNAPSHOT} AND {is_new}",
    )


def snapshots_of(rows: Iterable[Mapping[str, Any]]) -> tuple[SnapshotStatistics, ...]:
    """From the answer to `snapshots`."""
    by_place: dict[Place, SnapshotStatistics] = {}
    for row in rows:
        place, table = row["place"], f"{row['source_schema']}.{row['source_table']}"
        whole, ended, sent = bool(row["is_whole"]), bool(row["ended"]), row["kafka_ms"]
        known = by_place.get(place)
        if known is None:
            by_place[place] = SnapshotStatistics(place, whole, ended, frozenset({table}), sent)
            continue
        by_place[place] = SnapshotStatistics(
            place,
            is_whole=known.is_whole or whole,
            ended=known.ended or ended,
            tables=known.tables | {table},
            kafka_ms=min(known.kafka_ms, sent),
        )
    return tuple(by_place.values())


def highest_in(statistics: StreamStatistics, place: TopicPartition) -> Place:
    """The greatest place of any change in a partition; empty when it has none."""
    partition = statistics.partitions.get(place)
    return (partition.highest if partition else None) or Place("")


def _unsettled(bound: str) -> str:
    return f"kind IN ({listed(CHANGES)}) AND position >= '{bound}'"


def shares(bound: str, *, has_positions: bool) -> Summary:
    """Per transaction, table and partition what `model.transaction.share_of` reads.

    What cannot be read counts, too: END counts it (POISON-5). Statements of PostgreSQL are in
    transactions, and END counts them as messages.
    has_positions: the id of a transaction ends in a position that each event has of its own, as
    with PostgreSQL (GATE-T2).
    """
    return _shares(f"position >= '{bound}'", has_positions=has_positions)


def overtaken_shares(frontier: Frontier, *, has_positions: bool) -> Summary:
    """As `shares`, of what is below the frontier and below the newest snapshot that is published.

    A connector that died behind such a snapshot sends what it overtook after that (SNAP-10).
    """
    is_below = f"position < '{frontier.bound}' AND {PLACE} < '{frontier.read_at}'"
    return _shares(is_below, has_positions=has_positions)


def _shares(where: str, *, has_positions: bool) -> Summary:
    key = "transaction_id"
    if has_positions:
        cut = "substr(transaction_id, 1, instr(transaction_id, ':') - 1)"
        key = f"CASE WHEN instr(transaction_id, ':') > 0 THEN {cut} ELSE transaction_id END"
    return Summary(
        keys={
            **_BY_PARTITION,
            "transaction_key": key,
            "source_schema": "source_schema",
            "source_table": "source_table",
            "is_statement": f"CASE WHEN kind = '{Kind.DDL}' THEN 1 ELSE 0 END",
        },
        figures={
            "events": "count(DISTINCT event_order)",
            "records": "count(*)",
            "truncates": f"sum(CASE WHEN kind = '{Kind.TRUNCATE}' THEN 1 ELSE 0 END)",
            "lowest": f"min({PLACE})",
            "highest": f"max({PLACE})",
        },
        where=f"(kind IN ({listed(CHANGES)}) OR ({AWAITED})) AND transaction_id IS NOT NULL "
        f"AND {where}",
    )
