"""What of a cut came before and is left out, though positions alone do not show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.formats.decoder import decoder_of
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.columns import TableSchema
from tidemark.model.copies import COPIES
from tidemark.model.cut import GateMode
from tidemark.model.event import Kind
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Place, Position, place_of
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

    Of a mirror with gate ``none``: its deleted rows leave nothing that a copy loses against, and
    where the delete came by another partition, nothing else shows that it is one. Transactions and
    watermarks settle whole. schema: of the rows of the cut. Costs a read of the changelog, and
    nothing where no change of the cut stands at such a place.
    """
    last = _last_settled(chosen, spec)
    is_asked = spec.mode is TargetMode.MIRROR and schema.key
    if not last or not is_asked:
        return copies
    came = copies.dropped_from(chosen, chosen.row_events(spec.source)).where(
        F.col("status") == CheckpointStatus.PENDING.value
    )
    events = (
        _settled_at(chosen, spec, last)
        .withColumn("in_cut", F.lit(False))
        .unionByName(came.drop("status").where(_there(last)).withColumn("in_cut", F.lit(True)))
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


def _settled_at(
    chosen: Chosen, spec: TableSpec, places: Mapping[TopicPartition, Place]
) -> DataFrame:
    offsets = chosen.changelog.progress.frontier_of(spec.source).offsets
    is_settled = _in_each(places, lambda at: F.col("offset") < offsets.get(at, 0))
    return chosen.changelog.published(spec.source).where(is_settled & _there(places))


def _there(places: Mapping[TopicPartition, Place]) -> Column:
    """Whether a row was streamed at the one of ``places`` that is of its partition."""
    # By the first of these, files that have no such place are not read.
    may_be_there = _in_each(places, lambda at: F.col("position").startswith(places[at]))
    is_there = may_be_there & _in_each(places, lambda at: F.expr(PLACE) == places[at])
    return is_there & (F.col("kind") == Kind.ROW.value) & F.col("snapshot").isNull()


def _in_each(
    places: Mapping[TopicPartition, Place], condition: Callable[[TopicPartition], Column]
) -> Column:
    """Whether a record is in one of ``places``, and the condition of that holds."""
    return reduce(
        lambda left, right: left | right,
        (
            (F.col("topic") == at.topic) & (F.col("partition") == at.partition) & condition(at)
            for at in sorted(places)
        ),
    )


def _last_settled(chosen: Chosen, spec: TableSpec) -> Mapping[TopicPartition, Place]:
    """Partitions with a change where their newest settled one stands -> that place.

    With gate ``none``: transactions and watermarks settle whole.
    """
    if chosen.cut.mode is not GateMode.NONE:
        return {}
    streamed = chosen.changelog.progress.frontier_of(spec.source).streamed
    return {
        entry.at: streamed[entry.at]
        for entry in chosen.profile.of(spec.source, CheckpointStatus.PENDING)
        if entry.streamed_from is not None
        and place_of(entry.highest or Position(""))
        and entry.streamed_from == streamed.get(entry.at)
    }
