"""Stage: fold one table on its own branch, and audit what came out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from tidemark.errors import WAITING, TableStoppedError
from tidemark.formats.decoder import decoder_of
from tidemark.lake.catalog import TableId, mend_times
from tidemark.lake.effect import Effect
from tidemark.lake.evolve import apply_changes, comment_columns
from tidemark.lake.forks import make_fork
from tidemark.lake.refs import RefUpdate
from tidemark.lake.rewrite import rewrite_rows
from tidemark.lake.staged import StagedPlace, StagedRows, stage_rows
from tidemark.lake.staging import Removal, StagingContext, stage_table
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.columns import STAGED_CONVERSION_ERROR, STAGED_UNFILLED
from tidemark.model.ends import End
from tidemark.model.names import ColumnName
from tidemark.model.quarantine import Entry
from tidemark.model.target_mode import TargetMode
from tidemark.model.verdict import Verdict
from tidemark.quality.audit import SuiteRun
from tidemark.runs.choose import Chosen
from tidemark.runs.landing.compacted import refuse_unavailable
from tidemark.runs.run import Run
from tidemark.runs.staging.audit import audit
from tidemark.runs.staging.filled_nulls import refuse_filled_nulls
from tidemark.runs.staging.key_conflicts import changes_of_transactions, refuse_key_conflicts
from tidemark.runs.staging.quarantined import Inapplicable, may_miss, quarantined
from tidemark.runs.staging.replay import events_quarantined, outcomes, overtaken
from tidemark.runs.staging.reread import refuse_unread_rows
from tidemark.runs.staging.row_changes import StagedChanges, match_rows, stage_row_changes
from tidemark.runs.staging.tasks import ChangelogFiles, can_stage_by_tasks, stage_by_tasks
from tidemark.runs.staging.typed_changes import ChangeCounts, refuse_unread, typed_changes
from tidemark.runs.staging.unavailable_keys import first_unavailable_key, unavailable_keys
from tidemark.runs.staging.unchanged import Incomplete, fill_unchanged, unresolved_rows
from tidemark.runs.staging.versions import match_versions
from tidemark.runs.tables.key_changes import refuse_quarantined
from tidemark.runs.tables.truncates import ends_of, snapshot_end
from tidemark.runs.tables.work import TableWork

SPARED_BY_QUARANTINE = "changes of it are quarantined, and rows may seem to be missing for that"
NOTHING_STAGED = StagedChanges(StagedRows(None, 0, 0, None, 0, 0), 0)


@dataclass(frozen=True, slots=True)
class StagedTable:
    """A table on its branch: how to publish it, what changed, what the audit said.

    changes, repeats, superseded, version_changes: as of `StagedChanges`. entries: rows of the
    quarantine for changes that cannot be applied; outcomes: of what was tried again. spared: why
    rows that a new snapshot does not contain stay, empty where they do not.
    """

    work: TableWork
    ref_update: RefUpdate
    effect: Effect
    rows: StagedRows
    changes: int
    repeats: int
    superseded: int
    version_changes: int | None
    verdict: Verdict
    suite_run: SuiteRun | None
    entries: pa.Table
    outcomes: tuple[Entry, ...]
    spared: str

    @property
    def quarantined(self) -> int:
        """How many of the changes cannot be applied."""
        return int(self.entries.num_rows)


def stage_target(
    run: Run, chosen: Chosen, work: TableWork, branch: str, files: ChangelogFiles | None
) -> StagedTable | RefUpdate | None:
    """Fold and audit one table; nothing that a reader of ``main`` sees of it changes.

    A move alone where only its schema changes and no suite may judge that (PUB-7), None where no
    reader sees anything of it. files: in which the records of the cut stand, None where tasks
    cannot read them.
    """
    ends = _ends(chosen, work)
    staged_changes = NOTHING_STAGED
    if work.has_events:
        staged_changes = _stage_changes(run, chosen, work, ends, branch, files)
    staged_changes = replace(staged_changes, ends=ends)
    context = _bench(run, work, branch, chosen.cut.number)
    if work.source_schema != work.have:
        apply_changes(
            context.session, context.catalog, context.place, work.changes, work.source_schema
        )
        comment_columns(context.catalog, context.place, _comments(chosen, work))
    if work.rewrites:
        rewritten = rewrite_rows(
            context.session, context.catalog, work.target, context.place, work.rewrites
        )
        context = replace(context, rewritten=rewritten.snapshot if rewritten else None)
        staged_changes = replace(staged_changes, rewritten=rewritten)
    staged_changes = _matched(run, chosen, work, staged_changes, context.place)
    if work.changes_key:
        refuse_quarantined(
            run.pipeline, work.spec, staged_changes.quarantined, work.source_schema.key_changed_at
        )
    if context.fork is None and not work.is_folded:
        return None
    rows, spared, is_audited = staged_changes.rows, "", work.is_audited
    if work.removal is not None and may_miss(
        run, chosen, work, staged_changes, work.removal.end.position
    ):
        work, spared = replace(work, removal=None), SPARED_BY_QUARANTINE
    ref_update, effect = stage_table(context, work.schema, rows, ends, _removal(chosen, work))
    refuse_filled_nulls(run, chosen, work, ref_update)
    ref_update = replace(ref_update, rename=work.becomes)
    if not is_audited:
        return ref_update
    if effect.spared and staged_changes.is_contested:
        stays = replace(work, removal=None)
        contested = _contested(run, chosen, work, staged_changes)
        refuse_key_conflicts(run, stays, contested, context.place)
    if effect.spared:
        spared = f"it lacks {effect.spared} rows, more of the table than may go unasked"
    verdict, suite_run = audit(run.world, work, staged_changes, ref_update, spared)
    return StagedTable(
        *(
            work,
            ref_update,
            effect,
            rows,
            staged_changes.changes,
            staged_changes.repeats,
            staged_changes.superseded,
            staged_changes.version_changes,
        ),
        verdict=verdict,
        suite_run=suite_run,
        entries=staged_changes.entries,
        outcomes=outcomes(run, chosen, work, staged_changes.entries),
        spared=spared,
    )


def _comments(chosen: Chosen, work: TableWork) -> dict[ColumnName, str]:
    """What statements of the cut say of columns of the target; names may differ in case."""
    declared = chosen.effects.comments.get(work.spec.source, {})
    comments = {name.lower(): text for name, text in declared.items()}
    schema = work.source_schema
    named = ((schema.target_name(name), comments.get(name.lower())) for name in schema.names)
    return {name: text for name, text in named if name is not None and text is not None}


def _ends(chosen: Chosen, work: TableWork) -> tuple[End, ...]:
    """The truncates of the cut; a mirror keeps nothing of what they end, so the newest will do."""
    if work.new_truncate is None:
        return ()
    if work.spec.mode is TargetMode.MIRROR:
        return (End(work.new_truncate),)
    return ends_of(chosen, work.spec, work.ended_before)


def _removal(chosen: Chosen, work: TableWork) -> Removal | None:
    """What a new snapshot did not contain; where it is kept, with the time of the snapshot."""
    mode, removal = work.spec.mode, work.removal
    if removal is None or mode is TargetMode.MIRROR:
        return removal
    if mode is TargetMode.APPEND:
        return None
    return replace(removal, end=snapshot_end(chosen, removal.end.position))


def _stage_changes(  # noqa: PLR0913  what is read, by which rules, and where to
    run: Run,
    chosen: Chosen,
    work: TableWork,
    ends: Sequence[End],
    branch: str,
    files: ChangelogFiles | None,
) -> StagedChanges:
    """Write what is to be merged; of a table without a key, what its rows are still sought for."""
    namespace = run.system.ledger.namespace
    place = StagedPlace.of(run.world.catalog, namespace, branch, work.target)
    if not work.schema.key:
        staged_changes = stage_row_changes(run, chosen, work, place)
        if staged_changes.rows.conversion_error is not None:
            raise _conversion_error(
                staged_changes.rows, work, staged_changes.rows.conversion_errors, 0
            )
        return staged_changes
    staged = None
    if files is not None and can_stage_by_tasks(run, chosen, work):
        staged = stage_by_tasks(run, chosen, work, files, place)
    staged_changes = staged or _stage_by_expressions(run, chosen, work, ends, place)
    refuse_unread_rows(run, work, staged_changes.rows)
    if staged_changes.rows.conversion_errors:
        rows, first = staged_changes.rows, first_unavailable_key(run, chosen, work)
        message = partial(_conversion_error, rows, work)
        if first is not None:
            message = partial(unavailable_keys, work, first)
        inapplicable = Inapplicable(STAGED_CONVERSION_ERROR, rows.conversion_errors, message)
        return _without(run, chosen, work, staged_changes, inapplicable)
    return staged_changes


def _stage_by_expressions(
    run: Run, chosen: Chosen, work: TableWork, ends: Sequence[End], place: StagedPlace
) -> StagedChanges:
    """Write the changes of a table with a key, of any format, mode and type."""
    mode = work.spec.mode
    decoder = decoder_of(run.pipeline.source, chosen.schemas_of(work.spec.source))
    may_share = decoder.transaction is not None and mode is not TargetMode.APPEND
    counts = ChangeCounts(contested=Observation() if may_share else None)
    events = _row_events(chosen, work)
    typed = typed_changes(chosen, decoder, work, ends, events, counts)
    rows = stage_rows(place, typed, work.schema)
    refuse_unread(work, counts.read.get["records"])
    entered, dropped = counts.entered.get, counts.reduced.get["dropped"]
    repeats = overtaken(chosen, work, decoder) + work.copies.count
    contested = counts.contested is not None and counts.contested.get["keys"] > 0
    staged_changes = StagedChanges(
        rows, entered["changes"] + repeats, repeats, is_contested=contested
    )
    if mode in (TargetMode.MIRROR, TargetMode.SOFT_DELETE):
        return replace(staged_changes, superseded=dropped)
    return replace(staged_changes, repeats=repeats + dropped)


def _row_events(chosen: Chosen, work: TableWork) -> DataFrame:
    """The row events of the table; what was quarantined is tried again in a mirror alone."""
    events = work.row_events(chosen)
    if work.spec.mode is TargetMode.MIRROR:
        return events
    return events.where(F.col("status") == CheckpointStatus.PENDING.value)


def _without(
    run: Run,
    chosen: Chosen,
    work: TableWork,
    staged_changes: StagedChanges,
    inapplicable: Inapplicable,
) -> StagedChanges:
    """The changes without what cannot be applied; a target that keeps more than a mirror stops."""
    if work.spec.mode is not TargetMode.MIRROR:
        raise inapplicable.message(inapplicable.rows, 0)
    return quarantined(run, chosen, work, staged_changes, inapplicable)


def _matched(
    run: Run, chosen: Chosen, work: TableWork, staged_changes: StagedChanges, place: TableId
) -> StagedChanges:
    """What is to be merged, where that depends on the rows of the target at ``place``."""
    mode = work.spec.mode
    if not work.schema.key and mode is TargetMode.MIRROR:
        return match_rows(run, work, staged_changes, place)
    if staged_changes.is_contested:
        removes = work.removal is None or not may_miss(
            run, chosen, work, staged_changes, work.removal.end.position
        )
        removing = work if removes else replace(work, removal=None)
        refuse_key_conflicts(run, removing, _contested(run, chosen, work, staged_changes), place)
    refuse_unavailable(run.pipeline, work.spec, staged_changes.rows.unavailable)
    if staged_changes.rows.unavailable:
        staged_changes = _filled(run, chosen, work, staged_changes, place)
    if mode is TargetMode.HISTORY and work.rows:
        return match_versions(run, work, staged_changes, place)
    return staged_changes


def _contested(
    run: Run, chosen: Chosen, work: TableWork, staged_changes: StagedChanges
) -> DataFrame:
    """Changes of keys that two rows may have had; of all keys where tasks did not read them."""
    if staged_changes.contested is not None:
        return run.world.spark.createDataFrame(staged_changes.contested)
    return changes_of_transactions(run, chosen, work, _row_events(chosen, work))


def _filled(
    run: Run, chosen: Chosen, work: TableWork, staged_changes: StagedChanges, place: TableId
) -> StagedChanges:
    """The changes with their unavailable values; those that keep one are quarantined."""
    events = _row_events(chosen, work)
    earlier = events_quarantined(run, chosen, work.spec.source)
    if earlier is not None:
        events = events.unionByName(earlier)
    ends = () if work.spec.mode is TargetMode.MIRROR else staged_changes.ends
    incomplete = Incomplete(staged_changes.rows, events, place, ends)
    rows, unresolved = fill_unchanged(run, chosen, work, incomplete)
    staged_changes = replace(staged_changes, rows=rows)
    if not rows.unavailable and not rows.conversion_errors:
        return staged_changes
    message = partial(_conversion_error, rows, work)
    if unresolved is not None:
        message = partial(unresolved_rows, run, work, unresolved)
    inapplicable = Inapplicable(
        STAGED_UNFILLED, max(rows.unavailable, rows.conversion_errors), message
    )
    return _without(run, chosen, work, staged_changes, inapplicable)


def _bench(run: Run, work: TableWork, branch: str, cut: int) -> StagingContext:
    """Where the table is staged: on itself, or on a fork where its schema changes."""
    catalog, head, fork = run.world.catalog, work.head, None
    if head is not None:
        mend_times(catalog, work.target)
    if head is not None and work.moves_schema:
        namespace = run.system.ledger.namespace
        fork = make_fork(catalog, work.target, head.metadata, namespace, branch)
    base = head.snapshot if head else None
    return StagingContext(
        *(run.world.spark, catalog, work.target, branch, cut, base, fork, work.backfills),
        keeps_base=work.is_another,
    )


def _conversion_error(
    rows: StagedRows, work: TableWork, changes: int, room: int
) -> TableStoppedError:
    """Values do not fit their column, in more changes than may be quarantined."""
    column = rows.conversion_error or ""
    return TableStoppedError(
        f"{changes} rows of {work.spec.source} hold a value that does not fit its column, or two "
        f"values of one name, among them column {column} of type "
        f"{work.schema[column].source_type}; {room} of them may be quarantined",
        state=WAITING,
        next_step=f"declare the true type in columns: of {work.spec.source}",
    )
