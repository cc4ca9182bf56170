"""Tables without a key: what of a cut is to be merged under which row of the target.

A cut that only inserts pays for nothing but the looking for repeats. One that deletes or updates
compares with the rows of the target, all columns of them, which is a scan of the whole table.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from tidemark.conditions import any_of
from tidemark.errors import WAITING, TableStoppedError
from tidemark.fold.row_changes import (
    COPY_ID,
    UNMATCHED,
    SnapshotPasses,
    for_staging,
    for_typing,
    identified,
    matched,
    row_changes,
)
from tidemark.formats.decoder import decoder_of
from tidemark.formats.rows import RowImage, typed_rows
from tidemark.lake.catalog import TableId
from tidemark.lake.quarantine import SCHEMA as QUARANTINE
from tidemark.lake.rewrite import Rewritten
from tidemark.lake.staged import StagedPlace, StagedRows, read_staged, read_unavailable, stage_rows
from tidemark.lake.stored import read_stored
from tidemark.model.checkpoint_status import WHOLE_SNAPSHOT, CheckpointStatus
from tidemark.model.columns import CHANGE, ROW, STAGED_OP
from tidemark.model.cut import GateMode
from tidemark.model.ends import End
from tidemark.model.event import Kind, SnapshotMark
from tidemark.model.position import Place, Position, copies_from, may_be_copy, place_of
from tidemark.model.profile import ProfileEntry
from tidemark.model.read_amid import STANDS_BELOW_ITS_LSN, is_unplaced, may_be_held, may_hold
from tidemark.model.reduction import EVENT_ID
from tidemark.model.summary import PLACE
from tidemark.runs.choose import Chosen
from tidemark.runs.run import Run
from tidemark.runs.tables.work import TableWork

FIRST = (SnapshotMark.FIRST, SnapshotMark.FIRST_IN_TABLE)
LAST = (SnapshotMark.LAST, SnapshotMark.LAST_IN_TABLE)
NANOSECOND = '"ts_ns"'
"""What a record has that tells when it was made; connectors before Debezium 2.6 have none."""


@dataclass(frozen=True, slots=True)
class StagedChanges:
    """What the row events of a cut do, typed and written.

    changes: how many keys, or rows of a table without one, they touch. Each of them is staged, or
    was counted where it was dropped: repeats came before, superseded are those that a newer change,
    a truncate or a snapshot of the cut took the effect from. version_changes: the changes of a
    history target that make or end versions, None of others. snapshot_passes: where a table without
    a key was read, None where the cut has no row of a snapshot. entries: of the quarantine, for
    what cannot be applied. ends: truncates of the cut, as `lake.staging.stage_table` takes them.
    is_contested: two rows may have had one key in a transaction. contested: all changes of such
    keys, as `fold.contested.contested_keys` takes them, where tasks read them. rewritten: the rows
    that other types of columns had rewritten.
    """

    rows: StagedRows
    changes: int
    repeats: int = 0
    superseded: int = 0
    version_changes: int | None = None
    snapshot_passes: SnapshotPasses | None = None
    entries: pa.Table = field(default_factory=QUARANTINE.empty_table)
    ends: tuple[End, ...] = ()
    is_contested: bool = False
    contested: pa.Table | None = None
    rewritten: Rewritten | None = None

    @property
    def quarantined(self) -> int:
        """How many changes cannot be applied."""
        return int(self.entries.num_rows)


def stage_row_changes(run: Run, chosen: Chosen, work: TableWork, to: StagedPlace) -> StagedChanges:
    """Write the changes of a table without a key; raise where one is not told as a whole."""
    profile_entries = chosen.profile.of(work.spec.source, CheckpointStatus.PENDING)
    is_read = any(profile_entry.read_at for profile_entry in profile_entries)
    is_spread = is_read and _is_spread(chosen, work, profile_entries)
    snapshot_passes = None
    if is_read:
        snapshot_passes = _snapshot_passes(chosen, work, is_spread=is_spread)
    decoder = decoder_of(run.pipeline.source, chosen.schemas_of(work.spec.source))
    counted, doubted, held = Observation(), Observation(), Observation()
    is_counted = F.coalesce(F.expr(work.counts), F.lit(False))

    def decode(events: DataFrame) -> DataFrame:
        flagged = events.withColumn("contradicts", decoder.contradicts)
        return decoder.row_changes(flagged, work.schema)

    place = F.to_json(F.struct("topic", "partition", "offset"))
    no_column = F.when(F.col("image").isNull(), F.array(*map(F.lit, work.schema.names)))
    has_places = any(
        place_of(profile_entry.highest)
        for profile_entry in profile_entries
        if profile_entry.highest
    )
    events = _in_cut(chosen, work)
    if has_places:
        events = events.unionByName(_witnesses(run, chosen, work, profile_entries))
        if is_read:
            events = events.withColumn(COPY_ID, _copy_id())
        changes = row_changes(events, decode, run.pipeline.source.gate)
        overtaken = may_be_held(_overtaking(chosen, work, profile_entries))
        changes = changes.withColumn("is_overtaken", F.expr(overtaken))
        read_at = _read_above(chosen, work, profile_entries)
        if read_at is not None:
            is_read_already = F.col("snapshot").isNull() & (F.expr(PLACE) < read_at)
            changes = changes.withColumn("is_repeat", F.col("is_repeat") | is_read_already)
    else:
        flags = ("is_repeat", "is_uncertain", "is_overtaken")
        changes = identified(decode(events)).withColumns(dict.fromkeys(flags, F.lit(False)))
    typed = (
        changes.observe(
            counted,
            F.count(F.lit(1)).alias("changes"),
            F.count(F.when(F.col("is_repeat"), 1)).alias("repeats"),
            F.count(F.when(~is_counted & ~F.col("is_repeat"), 1)).alias("superseded"),
        )
        .where(work.counts)
        .observe(doubted, F.min(F.when(F.col("is_uncertain"), place)).alias("example"))
        .where("NOT is_repeat")
        .observe(held, F.min(F.when(F.col("is_overtaken"), place)).alias("example"))
        .transform(for_typing, snapshot_passes or SnapshotPasses())
        .transform(
            typed_rows,
            work.schema,
            RowImage(
                F.col("image"),
                no_column,
                F.col("contradicts"),
                decoder.has_zero_dates,
                work.hidden,
            ),
            keep=(ROW, CHANGE),
        )
        .transform(for_staging, work.schema)
    )
    rows = stage_rows(to, typed, work.schema)
    if doubted.get["example"] is not None:
        raise _is_uncertain(work, doubted.get["example"])
    if held.get["example"] is not None:
        raise _is_overtaken(work, held.get["example"])
    if rows.unavailable:
        raise _incomplete(work, read_unavailable(run.world.spark, rows))
    return StagedChanges(rows, **counted.get, snapshot_passes=snapshot_passes)


def match_rows(
    run: Run, work: TableWork, staged_changes: StagedChanges, place: TableId
) -> StagedChanges:
    """What becomes of which row of the target; raise where a delete finds none (NO_MATCH).

    place: where the target's rows stand, in columns that have their new names. ``main`` of it is
    read and not touched.
    """
    is_old = work.have is not None
    is_read_again = staged_changes.snapshot_passes is not None and (
        is_old or not staged_changes.snapshot_passes.is_single
    )
    if not staged_changes.rows.deletes and not is_read_again:
        return staged_changes
    session = run.world.spark
    stored = None
    if is_old:
        stored = read_stored(session, run.world.catalog, place, work.schema, work.truncated_at)
    counted, unmatched = Observation(), Observation()
    changes = read_staged(session, staged_changes.rows)
    rows = (
        matched(
            changes,
            stored,
            work.schema,
            staged_changes.snapshot_passes or SnapshotPasses(),
            counted,
        )
        .observe(unmatched, F.count(UNMATCHED).alias("deletes"), F.min(UNMATCHED).alias("example"))
        .where(F.col(STAGED_OP).isNotNull())
        .drop(UNMATCHED)
    )
    merged = stage_rows(staged_changes.rows.written.beside("matched"), rows, work.schema)
    if unmatched.get["deletes"]:
        raise _unmatched(work, **unmatched.get)
    superseded = staged_changes.superseded + counted.get["overtaken"] + counted.get["came_and_went"]
    return replace(staged_changes, rows=merged, superseded=superseded)


def _in_cut(chosen: Chosen, work: TableWork) -> DataFrame:
    rows = chosen.events_of(work.spec.source).where(F.col("kind") == Kind.ROW.value)
    in_cut = rows.where(F.col("status") == CheckpointStatus.PENDING.value)
    return in_cut.drop("headers", "kafka_time", "status").withColumn("in_cut", F.lit(True))


def _witnesses(
    run: Run, chosen: Chosen, work: TableWork, profile_entries: Collection[ProfileEntry]
) -> DataFrame:
    """Records that tell what came before: watermarks, or what the cut leaves out as late.

    And what is published already of the events that the cut holds, by whichever partition.
    """
    if run.pipeline.source.gate is GateMode.WATERMARK:
        witnesses = chosen.waiting.at_frontier.where(F.col("kind") == Kind.WATERMARK.value)
    else:
        events = chosen.events_of(work.spec.source)
        late = (F.col("kind") == Kind.ROW.value) & (
            F.col("status") == CheckpointStatus.DUPLICATE.value
        )
        witnesses = events.where(late)
    witnesses = witnesses.drop("status")
    settled = _settled(chosen, work, profile_entries)
    if settled is not None:
        witnesses = witnesses.unionByName(settled)
    return witnesses.drop("headers", "kafka_time").withColumn("in_cut", F.lit(False))


def _settled(
    chosen: Chosen, work: TableWork, profile_entries: Collection[ProfileEntry]
) -> DataFrame | None:
    """Published changes that share an event with the cut; None where none can (POS-9, POS-14).

    A log writes several rows at one place, and a record without a key that is sent again comes by
    any partition, also by one that had not come so far.
    """
    lowest = min(
        (entry.lowest_place for entry in profile_entries if entry.lowest_place), default=None
    )
    if lowest is None:
        return None
    frontier = chosen.changelog.progress.frontier_of(work.spec.source)
    topics = {entry.at.topic for entry in profile_entries}
    reached = {
        at: place
        for at, place in frontier.reached.items()
        if at.topic in topics and may_be_copy(lowest, place)
    }
    if not reached:
        return None
    rows = chosen.changelog.published(work.spec.source)
    there = any_of(
        (F.col("topic") == at.topic)
        & (F.col("partition") == at.partition)
        & (F.expr(PLACE) <= place)
        for at, place in reached.items()
    )
    event_id = F.expr(EVENT_ID).alias("event_id")
    in_cut = _in_cut(chosen, work).select("topic", "partition", "offset", event_id)
    return (
        rows.where(F.col("position") >= copies_from(lowest))
        .where(there & (F.col("kind") == Kind.ROW.value))
        .select("*", event_id)
        .join(in_cut.select("event_id").distinct(), "event_id", "left_semi")
        .join(in_cut, ["topic", "partition", "offset"], "left_anti")
        .select(*rows.columns)
    )


def _read_above(
    chosen: Chosen, work: TableWork, profile_entries: Collection[ProfileEntry]
) -> Place | None:
    """Where a snapshot stands that was published with what changes of the cut did (SNAP-10).

    It was read amid the stream, which came behind its rows: they stand for the changes below it.
    None without one; costs a read of the changelog only where a change stands below some snapshot.
    """
    reached = chosen.changelog.progress.frontier_of(work.spec.source).reached
    behind = [
        entry.streamed_from
        for entry in profile_entries
        if entry.streamed_from is not None and entry.streamed_from < reached.get(entry.at, "")
    ]
    if not behind:
        return None
    place, rows = F.expr(PLACE), chosen.changelog.published(work.spec.source)
    is_settled = (place > min(behind)) & (place <= max(reached.values()))
    above = rows.where(F.expr(WHOLE_SNAPSHOT) & is_settled)
    newest: Place | None = above.agg(F.max(place)).collect()[0][0]
    return newest


def _overtaking(
    chosen: Chosen, work: TableWork, profile_entries: Collection[ProfileEntry]
) -> tuple[Place, ...]:
    """Where snapshots stand that may hold changes of the cut which are above them (SNAP-10).

    Raise where such a snapshot of the cut may hold what is published, or holds nobody knows what.
    Costs a read of light columns where the table was read, or a change stands below where that was.
    """
    read_at = chosen.changelog.progress.frontier_of(work.spec.source).read_at
    is_read = any(entry.read_at for entry in profile_entries)
    streamed = [entry.streamed_from for entry in profile_entries if entry.streamed_from]
    if not is_read and not (streamed and may_hold(read_at, min(streamed))):
        return ()
    rows = chosen.changelog.landed(work.spec.source)
    read_amid = rows.where(F.expr(WHOLE_SNAPSHOT)).where(STANDS_BELOW_ITS_LSN)
    places = tuple(sorted(row[0] for row in read_amid.select(F.expr(PLACE)).distinct().collect()))
    if any(map(is_unplaced, places)):
        raise _overtaken(
            f"a snapshot of {work.spec.source}, which has no key, was taken amid the stream by the "
            "connector that had created the replication slot: its rows do not show where in the "
            "log they were read, so that it is unknown which changes they hold"
        )
    if places and is_read:
        record = ("topic", "partition", "offset")
        published = chosen.changelog.published(work.spec.source)
        settled = published.where(F.col("kind") == Kind.ROW.value).where(may_be_held(places))
        in_cut = _in_cut(chosen, work).select(*record)
        before = settled.join(in_cut, list(record), "left_anti")
        example = before.select(F.to_json(F.struct(*record))).first()
        if example is not None:
            raise _is_overtaken(work, example[0])
    return places


def _snapshot_passes(chosen: Chosen, work: TableWork, *, is_spread: bool) -> SnapshotPasses:
    """The marks of snapshots among all rows of the table that were ever landed (SNAP-4).

    A mark that came again begins and ends nothing. In several partitions marks stand beside the
    rows and not around them: there what was read at one place of the log is one pass.
    """
    rows = chosen.changelog.landed(work.spec.source)
    if is_spread:
        _refuse_read_twice(work, rows)
        return SnapshotPasses()
    marks = rows.where(F.col("snapshot").isin(*(mark.value for mark in (*FIRST, *LAST))))
    copies = marks.groupBy("snapshot", F.coalesce(_copy_id(), "position"))
    first_marks = copies.agg(F.min("position").alias("position")).select("position", "snapshot")
    mark_positions = [(Position(row[0]), row[1]) for row in first_marks.collect()]
    snapshot_passes = SnapshotPasses(
        *(tuple(sorted(at for at, m in mark_positions if m in ends)) for ends in (FIRST, LAST))
    )
    if any(place_of(at) is None for at, _ in mark_positions) and not snapshot_passes.is_single:
        raise TableStoppedError(
            f"{work.spec.source} has no key and its records no positions, and a second snapshot of "
            "it was sent: nothing tells its rows from those of the first one",
            state=WAITING,
            next_step="fold the table by a new pipeline from a new snapshot of the source",
        )
    return snapshot_passes


def _is_spread(chosen: Chosen, work: TableWork, profile_entries: Collection[ProfileEntry]) -> bool:
    """Whether records of the table came by several partitions."""
    topics = {entry.at.topic for entry in profile_entries}
    frontier = chosen.changelog.progress.frontier_of(work.spec.source)
    before = {at for at in frontier.offsets.keys() | frontier.reached.keys() if at.topic in topics}
    return len(before | {entry.at for entry in profile_entries}) > 1


def _copy_id() -> Column:
    """Of a row that a snapshot read, and whose record tells the nanosecond in which it was made.

    Records of equal rows are made one after the other, so that two which are the same byte for byte
    are one that came again.
    """
    text = F.col("value").cast("string")
    is_known = F.col("snapshot").isNotNull() & text.contains(NANOSECOND)
    return F.when(is_known, F.hex(F.xxhash64("value")))


def _refuse_read_twice(work: TableWork, rows: DataFrame) -> None:
    """Raise where a snapshot, whose rows are in several partitions, may have come twice."""
    passed = rows.where(F.col("snapshot").isNotNull()).withColumns(
        {"place": F.expr(PLACE), COPY_ID: _copy_id(), "hash": F.xxhash64("value")}
    )
    begins = F.col("snapshot").isin(*(mark.value for mark in FIRST))
    begun = F.count_distinct(F.when(begins, F.col("hash")))
    twice = passed.groupBy("place").agg(begun.alias("begun")).where("begun > 1")
    untold = passed.where(F.col(COPY_ID).isNull())
    same = untold.groupBy("place", "hash").count().where("count > 1")
    if twice.isEmpty() and same.isEmpty():
        return
    raise TableStoppedError(
        f"{work.spec.source} has no key, its topic has several partitions, and rows of a snapshot "
        "of it came twice, or two of them are the same: it is unknown which",
        state=WAITING,
        next_step="have the connector write the table to a topic of one partition, or with a "
        f"key (message.key.columns), or declare key: of {work.spec.source} in the pipeline "
        "file; then fold the table by a new pipeline",
    )


def _is_uncertain(work: TableWork, example: str) -> TableStoppedError:
    return TableStoppedError(
        f"two equal changes of {work.spec.source}, which has no key, stand at one place of the "
        f"source's log, the second one {_at(example)}: it was sent again or is another one, and "
        "it is unknown which",
        state=WAITING,
        next_step="fold the table by a new pipeline from a new snapshot of the source; a Debezium "
        "connector with provide.transaction.metadata=true tells such changes apart",
    )


def _is_overtaken(work: TableWork, example: str) -> TableStoppedError:
    return _overtaken(
        f"a snapshot of {work.spec.source}, which has no key, was taken amid the stream, and may "
        f"hold the change {_at(example)}: that was written before the table was read, and comes "
        "behind it"
    )


def _overtaken(what: str) -> TableStoppedError:
    return TableStoppedError(
        what,
        state=WAITING,
        next_step="fold the table by a new pipeline from the first snapshot of a new connector, "
        "with topics of its own; and take no blocking snapshot of a table without a key",
    )


def _incomplete(work: TableWork, partial: DataFrame) -> TableStoppedError:
    changes, example = partial.agg(F.count(F.lit(1)), F.min(F.to_json(f"{CHANGE}.at"))).collect()[0]
    return TableStoppedError(
        f"{changes} changes of {work.spec.source}, which has no key, do not hold the whole row "
        f"that they change, among them that {_at(example)}",
        state=WAITING,
        next_step=_whole_rows(work),
    )


def _unmatched(work: TableWork, deletes: int, example: str) -> TableStoppedError:
    return TableStoppedError(
        f"{deletes} deletes or updates of {work.spec.source}, which has no key, find no row that "
        f"is equal in all columns (NO_MATCH), among them that {_at(example)}",
        state=f"{WAITING}; the next run finds a row that was not read yet",
        next_step=_whole_rows(work),
    )


def _whole_rows(work: TableWork) -> str:
    return (
        "have the source write whole rows (PostgreSQL: REPLICA IDENTITY FULL; MySQL: "
        f"binlog_row_image=FULL, no column filter), or declare key: of {work.spec.source}; then "
        "fold the table by a new pipeline from a new snapshot"
    )


def _at(place: str) -> str:
    record = json.loads(place)
    partition = f"partition {record['partition']} of topic {record['topic']}"
    return f"at offset {record['offset']} of {partition}"
