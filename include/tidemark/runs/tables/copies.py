"""What of a cut came before and is left out, though positions alone do not show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.conditions import any_of
from tidemark.formats.decoder import decoder_of
from tidemark.model.checkpoint_status import INCREMENTAL_ROW, CheckpointStatus
from tidemark.model.columns import TableSchema
from tidemark.model.copies import COPIES
from tidemark.model.cut import GateMode
from tidemark.model.event import Kind
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import EPOCH_DIGITS, Place, Position, read_beside
from tidemark.model.summary import PLACE
from tidemark.model.target_mode import TargetMode
from tidemark.runs.changelog import Places
from tidemark.runs.choose import Chosen
from tidemark.spec import SourceSpec, TableSpec

RECORD = ("topic", "partition", "offset")


@dataclass(frozen=True, slots=True)
class Copies:
    """Records of a cut that came before: those of rows below ``below``, and those at ``records``.

    count: how many both are.
    """

    below: Position = Position("")
    records: Places = frozenset()
    count: int = 0

    def dropped_from(self, chosen: Chosen, events: DataFrame) -> DataFrame:
        """``events``, row events of the table that the cut takes, without the copies."""
        if self.below:
            events = events.where(F.col("position") >= self.below)
        return chosen.changelog.except_at(events, self.records) if self.records else events


def with_copies_of_last(
    copies: Copies, source: SourceSpec, chosen: Chosen, spec: TableSpec, schema: TableSchema
) -> Copies:
    """``copies``, and those of the newest settled changes of partitions (POS-20).

    And of rows of incremental snapshots that were read there, beside what was streamed. Of a mirror
    with gate ``none``: its deleted rows leave nothing that a copy loses against, and where the
    delete came by another partition, nothing else shows that it is one. Transactions and watermarks
    settle whole. schema: of the rows of the cut. Costs a read of the changelog, and nothing where
    no change of the cut stands at such a place.
    """
    is_asked = spec.mode is TargetMode.MIRROR and schema.key
    beside = [part for part in (_last_settled(chosen, spec), _last_read(chosen, spec)) if part]
    if not beside or not is_asked:
        return copies
    came = copies.dropped_from(chosen, chosen.row_events(spec.source)).where(
        F.col("status") == CheckpointStatus.PENDING.value
    )
    is_there = any_of(map(_there, beside))
    events = reduce(
        DataFrame.unionByName,
        (_settled_at(chosen, spec, part).withColumn("in_cut", F.lit(False)) for part in beside),
        came.drop("status").where(is_there).withColumn("in_cut", F.lit(True)),
    )
    decoder = decoder_of(source, chosen.schemas)
    entries = chosen.profile.of(spec.source, CheckpointStatus.PENDING)
    from_images = bool(spec.key) or any(entry.without_key for entry in entries)
    row = F.to_json(decoder.image(schema), {"ignoreNullFields": "false"})
    changes = decoder.changes(events, schema, key_from_images=from_images).withColumn(
        "effect", F.concat_ws(".", "op", "part", F.xxhash64(row))
    )
    for columns in COPIES:
        changes = changes.withColumns({name: F.expr(text) for name, text in columns.items()})
    records = changes.where("in_cut").groupBy(*RECORD).agg(F.min("is_copy").alias("is_copy"))
    places = frozenset((row[0], row[1], row[2]) for row in records.where("is_copy").collect())
    return replace(copies, records=places, count=copies.count + len(places))


def settled_at_last(chosen: Chosen, spec: TableSpec) -> DataFrame | None:
    """Row events that stand where the newest settled ones of partitions do, and the cut has some.

    None where it has none: only a cut that fell between changes at one place is followed by some,
    or what came again. Costs nothing then, and else a read of the changelog.
    """
    last = _last_settled(chosen, spec)
    return _settled_at(chosen, spec, last) if last else None


@dataclass(frozen=True, slots=True)
class _Beside:
    """Rows that stand where the newest settled ones of partitions do.

    are: which they may be, as SQL. places: of partitions of which the cut has some; empty without.
    """

    are: str
    places: Mapping[TopicPartition, Place]

    def __bool__(self) -> bool:
        return bool(self.places)


def _settled_at(chosen: Chosen, spec: TableSpec, beside: _Beside) -> DataFrame:
    offsets = chosen.changelog.progress.frontier_of(spec.source).offsets
    is_settled = _in_each(beside.places, lambda at: F.col("offset") < offsets.get(at, 0))
    return chosen.changelog.published(spec.source).where(is_settled & _there(beside))


def _there(beside: _Beside) -> Column:
    """Whether a row is one of ``beside``."""
    places = beside.places
    # By the first of these, files that have no such place are not read.
    may_be_there = _in_each(places, lambda at: F.col("position").startswith(places[at]))
    is_there = may_be_there & _in_each(places, lambda at: F.expr(PLACE) == places[at])
    return is_there & (F.col("kind") == Kind.ROW.value) & F.expr(beside.are)


def _in_each(
    places: Mapping[TopicPartition, Place], condition: Callable[[TopicPartition], Column]
) -> Column:
    """Whether a record is in one of ``places``, and the condition of that holds."""
    return any_of(
        (F.col("topic") == at.topic) & (F.col("partition") == at.partition) & condition(at)
        for at in sorted(places)
    )


def _last_settled(chosen: Chosen, spec: TableSpec) -> _Beside:
    """What was streamed where the newest settled change of its partition stands.

    With gate ``none``: transactions and watermarks settle whole.
    """
    places = _newest_places(chosen, spec)
    return _Beside(
        "snapshot IS NULL",
        {
            entry.at: places[entry.at]
            for entry in chosen.profile.of(spec.source, CheckpointStatus.PENDING)
            if entry.streamed_from is not None and entry.streamed_from == places.get(entry.at)
        },
    )


def _last_read(chosen: Chosen, spec: TableSpec) -> _Beside:
    """What an incremental snapshot read there, beside what was streamed; likewise."""
    places = {at: read_beside(place) for at, place in _newest_places(chosen, spec).items()}
    return _Beside(
        INCREMENTAL_ROW,
        {
            entry.at: places[entry.at]
            for entry in chosen.profile.of(spec.source, CheckpointStatus.PENDING)
            if entry.chunk_from is not None and entry.chunk_from == places.get(entry.at)
        },
    )


def _newest_places(chosen: Chosen, spec: TableSpec) -> Mapping[TopicPartition, Place]:
    """Partitions -> where their newest settled change stands; none where the offset is all."""
    if chosen.cut.mode is not GateMode.NONE:
        return {}
    streamed = chosen.changelog.progress.frontier_of(spec.source).streamed
    return {at: place for at, place in streamed.items() if len(place) > EPOCH_DIGITS}
