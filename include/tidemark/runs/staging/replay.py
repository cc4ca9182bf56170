"""What was quarantined and is tried again: its records enter the fold once more (POISON-4).

They are read as records are read now, with today's columns and schemas. Of each key only the newest
change that the source sent may count, so what was overtaken since changes nothing.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.fold import replayed
from tidemark.fold.computed import computed_once
from tidemark.fold.latest import latest_events
from tidemark.fold.profile import profile
from tidemark.fold.renamed import is_table
from tidemark.formats.avro.wire_format import Schemas
from tidemark.formats.decoder import Decoder, decoder_of
from tidemark.lake.quarantine import of_table, read_entries, read_waiting
from tidemark.lake.writer_schemas import keep_schemas
from tidemark.log import get_logger
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.profile import BatchProfile
from tidemark.model.progress import Progress
from tidemark.model.quarantine import Entry, Selection, State
from tidemark.model.reduction import above_truncate, was_read_behind
from tidemark.runs.choose import Chosen, Replay
from tidemark.runs.landing.land import Landed
from tidemark.runs.landing.writer_schemas import missing_schemas
from tidemark.runs.read_since import rows_among
from tidemark.runs.run import Run
from tidemark.runs.tables.plan import CutTables
from tidemark.runs.tables.work import TableWork

log = get_logger()


def with_replay(run: Run, chosen: Chosen, landed: Landed, progress: Progress) -> Chosen:
    """``chosen`` with what of the quarantine is to be tried again; costs nothing without an order.

    A record that still is no row, or stands above the cut, goes on waiting, and so does what is of
    a table that is folded again: its refold reads every record, and goes less far (REFOLD-1).
    """
    if not progress.replays:
        return chosen
    meant = [
        entry
        for entry in read_waiting(run.world.catalog, run.system, chosen.renames)
        if entry.can_be_replayed and any(selection.takes(entry) for selection in progress.replays)
    ]
    refolded = {str(table) for table in progress.refolds}
    entries = tuple(entry for entry in meant if entry.table not in refolded)
    if any(not entry.table or entry.table in refolded for entry in meant) and refolded:
        chosen = replace(chosen, replays_later=True)
    if not entries:
        return chosen
    places = [entry.place for entry in entries]
    unreadable = chosen.changelog.unreadable_at(places)
    schemas = {**chosen.schemas, **_learned(run, unreadable, chosen.schemas)}
    decoded = computed_once(rows_among(run, landed, unreadable, schemas))
    towards = chosen.changelog.towards(chosen.cut, progress.frontier)
    is_row_below = (F.col("kind") == Kind.ROW.value) & (
        F.col("status") != CheckpointStatus.HELD.value
    )
    again = towards.published_at(places, decoded).where(is_row_below)
    for table in progress.refolds:
        again = again.where(F.coalesce(~is_table(table), F.lit(True)))
    again = computed_once(again.withColumn("status", F.lit(CheckpointStatus.REPLAYED.value)))
    settled, since = towards.published().where(is_row_below), chosen.read_since()
    if since is not None:
        since = towards.placed(since).where(is_row_below)
    batch_profile = BatchProfile(
        (*chosen.profile.profile_entries, *profile([again], progress.landing).profile_entries)
    )
    log.info("quarantine_replayed", entries=len(entries))
    decision = replace(chosen.decision, profile=batch_profile)
    tried = Replay(entries, again, settled, since)
    return replace(chosen, decision=decision, schemas=schemas, replay=tried)


def _learned(run: Run, unreadable: DataFrame, known: Schemas) -> Schemas:
    """The Avro schemas that the registry has by now."""
    learned = missing_schemas(run, unreadable, known)
    if learned:
        keep_schemas(run.world.catalog, run.system, learned)
    return learned


def changes_of(chosen: Chosen, work: TableWork, decoder: Decoder, events: DataFrame) -> DataFrame:
    """Every change of ``events``, but for those that are tried again and were overtaken.

    events: of `TableWork.row_events`; with their status where any is tried again.
    """
    changes = decoder.changes(events, work.schema, key_from_images=work.key_from_images)
    if chosen.replay is None or not work.replayed:
        return changes
    is_again = F.col("status") == CheckpointStatus.REPLAYED.value
    again = changes.where(is_again)
    tried = replayed.not_overtaken(again, _newer(chosen, chosen.replay, work, decoder))
    return changes.where(~is_again).unionByName(tried)


def _newer(chosen: Chosen, replay: Replay, work: TableWork, decoder: Decoder) -> DataFrame:
    """The settled changes that may have overtaken those which are tried again.

    Several frames of a cut are compared with them, and to decode them is most of what each costs.
    """
    table = work.spec.source
    if table not in replay.newer:
        replay.newer[table] = computed_once(_settled(chosen, replay, work, decoder))
    return replay.newer[table]


def _settled(chosen: Chosen, replay: Replay, work: TableWork, decoder: Decoder) -> DataFrame:
    """Out: replayed.NEWER."""
    table = work.spec.source
    lowest = [
        profile_entry.lowest_place or ""
        for profile_entry in chosen.profile.of(table, CheckpointStatus.REPLAYED)
    ]
    is_later = F.col("position") >= min(lowest, default="")
    # A row that fell has overtaken nothing (SNAP-7).
    counts = is_table(table) & is_later & F.expr(was_read_behind(work.window_bound))

    def changes(events: DataFrame) -> DataFrame:
        decoded = decoder.changes(events.where(counts), work.schema, key_from_images=True)
        return decoded.select(*replayed.NEWER)

    newer = changes(replay.settled)
    # Apart: what is decoded twice in one plan outgrows a heap of 1 GB.
    if replay.since is not None:
        newer = newer.unionByName(computed_once(changes(replay.since)))
    return newer


def overtaken(chosen: Chosen, work: TableWork, decoder: Decoder) -> int:
    """How many changes that are tried again have a newer one of their key behind them."""
    if chosen.replay is None or not work.replayed:
        return 0
    events = chosen.replay.again.where(is_table(work.spec.source))
    changes = decoder.changes(events, work.schema, key_from_images=work.key_from_images)
    return replayed.overtaken(changes, _newer(chosen, chosen.replay, work, decoder)).count()


def outcomes(run: Run, chosen: Chosen, work: TableWork, quarantined: pa.Table) -> tuple[Entry, ...]:
    """What became of the entries of the table that were tried again.

    quarantined: rows of the quarantine; what was quarantined once more goes on waiting.
    """
    if chosen.replay is None or not work.replayed:
        return ()
    table, record = work.spec.source, ("topic", "partition", "offset")
    events = chosen.replay.again.where(is_table(table))
    tried = {tuple(row) for row in events.select(*record).collect()}
    decoder = decoder_of(run.pipeline.source, chosen.schemas)
    changes = changes_of(chosen, work, decoder, work.row_events(chosen))
    newest = changes.transform(latest_events, above_truncate(work.truncated_at, work.window_bound))
    won = (
        newest.where(F.col("status") == CheckpointStatus.REPLAYED.value)
        .select(*record, "part")
        .collect()
    )
    applied = {tuple(row) for row in won} | {(*tuple(row)[:3], None) for row in won}
    again = {tuple(row.values()) for row in quarantined.select([*record, "row"]).to_pylist()}
    waits = again | {(*place[:3], None) for place in again}
    entries = (
        replace(entry, state=State.APPLIED if change in applied else State.DUPLICATE)
        for entry in chosen.replay.entries
        if entry.place in tried and (change := (*entry.place, entry.row)) not in waits
    )
    return tuple(replace(entry, cut=chosen.cut.number) for entry in entries)


def events_quarantined(run: Run, chosen: Chosen, table: TableName) -> DataFrame | None:
    """The row events of ``table`` that earlier cuts quarantined, whatever became of them.

    They are part of the past of their rows: what a later update leaves out may stand in them alone.
    """
    if table not in chosen.quarantined and chosen.replay is None:
        return None
    catalog, wanted = run.world.catalog, of_table(str(table), chosen.renames)
    entries = read_entries(catalog, run.system, chosen.renames, wanted)
    places = [entry.place for entry in entries if entry.table == str(table)]
    is_row = is_table(table) & (F.col("kind") == Kind.ROW.value)
    events, since = chosen.changelog.published_at(places), chosen.read_since()
    if since is not None:
        events = events.unionByName(chosen.changelog.placed(since))
    events = events.where(is_row)
    return computed_once(events.withColumn("status", F.lit(CheckpointStatus.COMMITTED.value)))


def next_replays(progress: Progress, chosen: Chosen, planned: CutTables) -> tuple[Selection, ...]:
    """What is left to be tried again by the next cut.

    Orders stay while a table that they mean is blocked or folded again. Where columns of a table
    changed, what is quarantined of it may fit now: a statement can be read after the rows behind
    it.
    """
    tried = {entry.table for entry in chosen.replay.entries} if chosen.replay else set()
    stays = chosen.replays_later or any(str(table) in tried for table in planned.standing)
    changed = (
        work.spec.source
        for work in planned.work
        if work.have not in (None, work.source_schema) and work.spec.source in progress.quarantined
    )
    fresh = (Selection(str(table)) for table in changed if str(table) not in tried)
    return tuple(dict.fromkeys([*(progress.replays if stays else ()), *fresh]))
