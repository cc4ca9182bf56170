"""Stage: fold one table on its own branch, and audit what came out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidemark.errors import TableStoppedError
from tidemark.fold.appended import each_once, without_unsent
from tidemark.fold.flags import latest_images, with_flags
from tidemark.fold.latest import latest_events
from tidemark.fold.versions import one_per_site
from tidemark.formats.decoder import Decoder, decoder_of
from tidemark.formats.rows import typed_rows
from tidemark.lake.catalog import TableId
from tidemark.lake.evolve import apply_changes
from tidemark.lake.forks import drop_dead_forks, make_fork
from tidemark.lake.refs import Move
from tidemark.lake.staged import StagedRows, read_staged, stage_rows, staged_folder
from tidemark.lake.staging import Bench, Effect, Removal, stage_table
from tidemark.model.columns import CHANGE, POSITION, ROW, STAGED_OP
from tidemark.model.ends import End
from tidemark.model.event import Kind, Op
from tidemark.model.names import quote
from tidemark.model.target_mode import TargetMode
from tidemark.model.verdict import CheckResult, Severity, Verdict
from tidemark.model.zone import Zone
from tidemark.quality.audit import SuiteRun, run_suite
from tidemark.quality.checks import check_ended, check_filled, check_winners
from tidemark.quality.kept_checks import check_appended, check_truncates, check_versions
from tidemark.runs.choose import Chosen
from tidemark.runs.exchanged import refuse_exchanged
from tidemark.runs.row_changes import StagedChanges, match_rows, stage_row_changes
from tidemark.runs.run import Run
from tidemark.runs.tables import TableWork
from tidemark.runs.truncates import ends_of, snapshot_end
from tidemark.runs.unchanged import Incomplete, fill_unchanged
from tidemark.runs.versions import match_versions
from tidemark.runs.world import World
from tidemark.spec import NO_SUITE, load_suite

NOTHING_STAGED = StagedChanges(StagedRows("", StructType(), 0, 0, None, 0, 0), 0)


@dataclass(frozen=True, slots=True)
class StagedTable:
    """A table on its branch: how to publish it, what changed, what the audit said.

    changes: what its row events did to keys, or to rows of a table without one; one event may do
    many. repeats: those of them that are known to have come before.
    """

    work: TableWork
    move: Move
    effect: Effect
    rows: StagedRows
    changes: int
    repeats: int
    verdict: Verdict
    suite_run: SuiteRun | None


def stage_one(run: Run, chosen: Chosen, work: TableWork, branch: str) -> StagedTable | Move | None:
    """Fold and audit one table; nothing that a reader of ``main`` sees of it changes.

    A move alone where only its schema changes, None where no reader sees anything of that.
    """
    folder = staged_folder(run.world.installation.state, run.pipeline.name) / branch
    ends, removal = _ends(chosen, work), _removal(run, work)
    found = _stage_changes(run, chosen, work, ends, folder) if work.rows else NOTHING_STAGED
    found = replace(found, ends=ends)
    _refuse_misread(found.rows, work)
    bench = _bench(run, work, branch, chosen.cut.number)
    if work.schema != work.have:
        apply_changes(bench.session, bench.catalog, bench.place, work.changes, work.schema)
    found = _matched(run, chosen, work, found, bench.place)
    if bench.fork is None and not work.is_folded:
        return None
    rows = found.rows
    move, effect = stage_table(bench, work.schema, rows, ends, removal)
    if not work.is_folded:
        return move
    verdict, suite_run = _audit(run.world, work, found, move, spared=effect.spared)
    return StagedTable(work, move, effect, rows, found.changes, found.repeats, verdict, suite_run)


def _matched(
    run: Run, chosen: Chosen, work: TableWork, found: StagedChanges, place: TableId
) -> StagedChanges:
    """What is to be merged, where that depends on the rows of the target at ``place``."""
    mode, rows = work.spec.mode, found.rows
    if not work.schema.key and mode is TargetMode.MIRROR:
        return replace(found, rows=match_rows(run, work, found, place))
    if rows.partial:
        kept = () if mode is TargetMode.MIRROR else found.ends
        incomplete = Incomplete(rows, _row_events(chosen, work), place, kept)
        rows = fill_unchanged(run, chosen, work, incomplete)
        _refuse_misread(rows, work)
    found = replace(found, rows=rows)
    if mode is TargetMode.HISTORY and work.rows:
        return match_versions(run, work, found, place)
    return found


def _ends(chosen: Chosen, work: TableWork) -> tuple[End, ...]:
    """The truncates of the cut; a mirror keeps nothing of what they end, so the newest will do."""
    if work.new_truncate is None:
        return ()
    if work.spec.mode is TargetMode.MIRROR:
        return (End(work.new_truncate),)
    return ends_of(chosen, work.spec, work.ended_before)


def _removal(run: Run, work: TableWork) -> Removal | None:
    """What a new snapshot did not contain; where it is kept, with the time of the snapshot."""
    mode, removal = work.spec.mode, work.removal
    if removal is None or mode is TargetMode.MIRROR:
        return removal
    if mode is TargetMode.APPEND:
        return None
    return replace(removal, end=snapshot_end(run, removal.end.position))


def _stage_changes(
    run: Run, chosen: Chosen, work: TableWork, ends: Sequence[End], folder: Path
) -> StagedChanges:
    """Write what is to be merged; of a table without a key, what its rows are still sought for."""
    if not work.schema.key:
        return stage_row_changes(run, chosen, work, folder)
    counted, mode = Observation(), work.spec.mode
    decoder = decoder_of(run.pipeline.source, chosen.schemas_of(work.spec.source))
    events = _row_events(chosen, work)
    typed = _typed_changes(decoder, work, ends, events, counted)
    rows = stage_rows(folder, work.target, typed, work.schema)
    if counted.get["left_keys"] and mode is not TargetMode.APPEND:
        refuse_exchanged(run, work, decoder, events)
    changes = counted.get["changes"]
    return StagedChanges(rows, changes, changes - rows.rows if mode is TargetMode.APPEND else 0)


def _bench(run: Run, work: TableWork, branch: str, cut: int) -> Bench:
    """Where the table is staged: on itself, or on a fork where its schema changes."""
    catalog, fork = run.world.catalog, None
    if work.moves_schema:
        namespace = run.system.ledger.namespace
        drop_dead_forks(catalog, namespace, cut)
        fork = make_fork(catalog, work.target, namespace, branch)
    return Bench(run.world.spark, catalog, work.target, branch, cut, fork, work.fills)


def _refuse_misread(rows: StagedRows, work: TableWork) -> None:
    """Raise when a value is unfit for its column."""
    if rows.misread is not None:
        raise TableStoppedError(
            f"{rows.misread_rows} rows of {work.spec.source} hold a value that does not fit its "
            f"column, among them column {rows.misread} of type "
            f"{work.schema[rows.misread].source_type}",
            state="the table stays as it was last published; its records wait in the changelog",
            next_step=f"declare the true type in columns: of {work.spec.source}",
        )


def _row_events(chosen: Chosen, work: TableWork) -> DataFrame:
    """The row events of the table in the cut."""
    in_cut = (F.col("zone") == Zone.CUT.value) & (F.col("kind") == Kind.ROW.value)
    return chosen.events_of(work.spec.source).where(in_cut)


def _typed_changes(
    decoder: Decoder,
    work: TableWork,
    ends: Sequence[End],
    events: DataFrame,
    counted: Observation,
) -> DataFrame:
    """What the target's mode takes of the changes, typed: of a mirror the newest of each key.

    ``counted`` gets how many there were, and how many left their key for another one. Truncates
    come last: Spark leaves out of a plan what it finds to be empty, and with it what was to be
    counted there.
    """
    move = decoder.key_move
    unread = ("kafka_time", "zone") if move is not None else ("headers", "kafka_time", "zone")
    left_keys = F.lit(0) if move is None else F.count_if(move["leaves"])
    needed = events.drop(*unread)
    changes = decoder.changes(needed, work.schema, key_from_images=work.key_from_images)
    changes = changes.observe(
        counted, F.count(F.lit(1)).alias("changes"), left_keys.alias("left_keys")
    ).drop("headers")
    images = decoder.image(work.schema), decoder.left_out(work.schema)
    match work.spec.mode:
        case TargetMode.MIRROR:
            latest = changes.transform(latest_events).where(work.counts)
            return typed_rows(latest, work.schema, *images)
        case TargetMode.SOFT_DELETE:
            latest = changes.transform(latest_images, work.counts)
            typed = typed_rows(latest, work.schema, *images, keep=(CHANGE,))
            return typed.transform(with_flags, ends)
        case TargetMode.HISTORY:
            all_of_them = changes.transform(one_per_site).where(work.counts)
            return typed_rows(all_of_them, work.schema, *images, keep=(CHANGE,))
        case TargetMode.APPEND:
            once = changes.transform(each_once)
            typed = typed_rows(once, work.schema, *images, keep=(ROW,))
            return typed.transform(without_unsent, work.schema)


def _audit(
    world: World, work: TableWork, found: StagedChanges, move: Move, *, spared: int
) -> tuple[Verdict, SuiteRun | None]:
    """The engine's checks and the table's suite on exactly the snapshot of ``move``.

    At least one check is made: rows are staged, be they none as all came before, or a truncate or
    a snapshot takes some away, or a column fills them. spared: rows that a snapshot does not
    contain, and that stay until a person is asked.
    """
    name, snapshot_id = quote(world.catalog.name, *move.place.parts), move.snapshot
    table = world.spark.read.option("versionAsOf", snapshot_id).table(name)
    checks, suite_run = _check_merged(world, work, found, table), None
    removed = work.removal.end.position if work.removal and not spared else None
    newest = max(filter(None, (work.truncated_at, removed)), default=None)
    if newest is not None and work.spec.mode is not TargetMode.APPEND:
        checks = (*checks, check_ended(table.where(work.schema.stands), newest))
    older = table.where(work.schema.holds_values)
    filled = (check_filled(older, fill.column, fill.value, fill.below) for fill in work.fills)
    checks = (*checks, *filled)
    if spared:
        checks = (*checks, _spared(spared))
    if work.spec.suite is not None:
        suite_run = run_suite(
            load_suite(work.spec.suite),
            changed=_changed(world, work, found.rows, table),
            table=table,
        )
        checks = (*checks, *suite_run.checks)
    suite = work.spec.suite or NO_SUITE
    return Verdict(str(work.target), snapshot_id, suite, checks), suite_run


def _check_merged(
    world: World, work: TableWork, found: StagedChanges, table: DataFrame
) -> tuple[CheckResult, ...]:
    """What was staged against what is there."""
    mode = work.spec.mode
    has_truncates = mode is TargetMode.APPEND and bool(found.ends)
    checks = (check_truncates(table, found.ends),) if has_truncates else ()
    if not found.rows.folder:
        return checks
    is_change = F.col(STAGED_OP).isin(Op.UPSERT.value, Op.DELETE.value)
    staged = read_staged(world.spark, found.rows).where(is_change)
    match mode:
        case TargetMode.MIRROR | TargetMode.SOFT_DELETE:
            return check_winners(staged, table, work.schema)
        case TargetMode.HISTORY:
            return check_versions(staged, table, work.schema)
        case TargetMode.APPEND:
            return (*check_appended(staged, table), *checks)


def _spared(rows: int) -> CheckResult:
    name = "no more rows are missing from a snapshot than may go unasked"
    return CheckResult(name, success=False, severity=Severity.WARNING, observed=f"{rows} rows")


def _changed(world: World, work: TableWork, rows: StagedRows, table: DataFrame) -> DataFrame:
    """The rows of the staged snapshot that this cut wrote."""
    if not rows.upserts:
        return table.limit(0)
    written = (
        read_staged(world.spark, rows)
        .where(F.col(STAGED_OP) == Op.UPSERT.value)
        .select(*(F.col(quote(name)) for name in work.schema.row_key), POSITION)
    )
    return table.join(written, on=[*work.schema.row_key, POSITION], how="left_semi")
