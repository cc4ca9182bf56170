"""Stage: fold one table on its own branch, and audit what came out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidemark.errors import TableStoppedError
from tidemark.fold.latest import latest_events
from tidemark.formats.decoder import Decoder, decoder_of
from tidemark.formats.rows import typed_rows
from tidemark.lake.catalog import TableId
from tidemark.lake.evolve import apply_changes
from tidemark.lake.forks import drop_dead_forks, make_fork
from tidemark.lake.refs import Move
from tidemark.lake.staged import StagedRows, read_staged, stage_rows, staged_folder
from tidemark.lake.staging import Bench, Effect, stage_table
from tidemark.model.columns import POSITION, STAGED_MISREAD, STAGED_OP, STAGED_UNFILLED
from tidemark.model.event import Op
from tidemark.model.names import quote
from tidemark.model.quarantine import Entry
from tidemark.model.reduction import above_truncate
from tidemark.model.verdict import CheckResult, Severity, Verdict
from tidemark.quality.audit import SuiteRun, run_suite
from tidemark.quality.checks import check_ended, check_filled, check_winners
from tidemark.runs.choose import Chosen
from tidemark.runs.exchanged import refuse_exchanged
from tidemark.runs.replay import changes_of, events_set_aside, outcomes, overtaken
from tidemark.runs.row_changes import StagedChanges, match_rows, stage_row_changes
from tidemark.runs.run import Run
from tidemark.runs.set_aside import Unfit, may_miss, set_aside
from tidemark.runs.tables import TableWork
from tidemark.runs.unchanged import Incomplete, fill_unchanged, unresolved_rows
from tidemark.runs.world import World
from tidemark.spec import NO_SUITE, load_suite

SPARED_ASIDE = "changes of it are set aside, and rows may seem to be missing for that"
NOTHING_STAGED = StagedChanges(StagedRows("", StructType(), 0, 0, None, 0, 0), 0)


@dataclass(frozen=True, slots=True)
class StagedTable:
    """A table on its branch: how to publish it, what changed, what the audit said.

    changes: what its row events did to keys, or to rows of a table without one; one event may do
    many. repeats: those of them that are known to have come before. aside: rows of the quarantine
    for those that cannot be applied; outcomes: of what was tried again. spared: why rows that a new
    snapshot does not contain stay, empty where they do not.
    """

    work: TableWork
    move: Move
    effect: Effect
    rows: StagedRows
    changes: int
    repeats: int
    verdict: Verdict
    suite_run: SuiteRun | None
    aside: pa.Table
    outcomes: tuple[Entry, ...]
    spared: str

    @property
    def set_aside(self) -> int:
        """How many of the changes cannot be applied."""
        return int(self.aside.num_rows)


def stage_one(run: Run, chosen: Chosen, work: TableWork, branch: str) -> StagedTable | Move | None:
    """Fold and audit one table; nothing that a reader of ``main`` sees of it changes.

    A move alone where only its schema changes, None where no reader sees anything of that.
    """
    folder = staged_folder(run.world.installation.state, run.pipeline.name) / branch
    found = _stage_changes(run, chosen, work, folder) if work.has_events else NOTHING_STAGED
    bench = _bench(run, work, branch, chosen.cut.number)
    if work.source_schema != work.have:
        apply_changes(bench.session, bench.catalog, bench.place, work.changes, work.source_schema)
    if not work.schema.key:
        found = replace(found, rows=match_rows(run, work, found, folder, bench.place))
    elif found.rows.partial:
        found = _filled(run, chosen, work, found, bench.place)
    if bench.fork is None and not work.is_folded:
        return None
    rows, spared, is_folded = found.rows, "", work.is_folded
    if work.removal is not None and may_miss(run, chosen, work, found, work.removal.below):
        work, spared = replace(work, removal=None), SPARED_ASIDE
    move, effect = stage_table(bench, work.schema, rows, work.new_truncate, work.removal)
    if not is_folded:
        return move
    if effect.spared:
        spared = f"it lacks {effect.spared} rows, more of the table than may go unasked"
    verdict, suite_run = _audit(run.world, work, rows, move, spared)
    return StagedTable(
        *(work, move, effect, rows, found.changes, found.repeats, verdict, suite_run),
        aside=found.aside,
        outcomes=outcomes(run, chosen, work, found.aside),
        spared=spared,
    )


def _stage_changes(run: Run, chosen: Chosen, work: TableWork, folder: Path) -> StagedChanges:
    """Write what is to be merged; of a table without a key, what its rows are still sought for."""
    if not work.schema.key:
        found = stage_row_changes(run, chosen, work, folder)
        if found.rows.misread is not None:
            raise _misread(found.rows, work, found.rows.misread_rows, 0)
        return found
    counted = Observation()
    decoder = decoder_of(run.pipeline.source, chosen.schemas_of(work.spec.source))
    events = chosen.row_events(work.spec.source)
    winners = _winners(chosen, decoder, work, events, counted)
    rows = stage_rows(folder, work.target, winners, work.schema)
    if counted.get["left_keys"]:
        refuse_exchanged(run, work, decoder, events)
    repeats = overtaken(chosen, work, decoder)
    found = StagedChanges(rows, counted.get["changes"] + repeats, repeats)
    if not rows.misread_rows:
        return found
    unfit = Unfit(STAGED_MISREAD, rows.misread_rows, partial(_misread, rows, work))
    return set_aside(run, chosen, work, found, unfit)


def _filled(
    run: Run, chosen: Chosen, work: TableWork, found: StagedChanges, place: TableId
) -> StagedChanges:
    """The changes with what they left out; those of which nothing tells it are set aside."""
    events = chosen.row_events(work.spec.source)
    earlier = events_set_aside(run, chosen, work.spec.source)
    if earlier is not None:
        events = events.unionByName(earlier)
    rows, unresolved = fill_unchanged(run, chosen, work, Incomplete(found.rows, events, place))
    found = replace(found, rows=rows)
    if not rows.partial and not rows.misread_rows:
        return found
    letter = partial(_misread, rows, work)
    if unresolved is not None:
        letter = partial(unresolved_rows, run, work, unresolved)
    unfit = Unfit(STAGED_UNFILLED, max(rows.partial, rows.misread_rows), letter)
    return set_aside(run, chosen, work, found, unfit)


def _bench(run: Run, work: TableWork, branch: str, cut: int) -> Bench:
    """Where the table is staged: on itself, or on a fork where its schema changes."""
    catalog, fork = run.world.catalog, None
    if work.moves_schema:
        namespace = run.system.ledger.namespace
        drop_dead_forks(catalog, namespace, cut)
        fork = make_fork(catalog, work.target, namespace, branch)
    return Bench(run.world.spark, catalog, work.target, branch, cut, fork, work.fills)


def _misread(rows: StagedRows, work: TableWork, changes: int, room: int) -> TableStoppedError:
    """Values are unfit for their column, in more changes than may be set aside."""
    column = rows.misread or ""
    return TableStoppedError(
        f"{changes} rows of {work.spec.source} hold a value that does not fit its column, among "
        f"them column {column} of type {work.schema[column].source_type}; {room} of them may be "
        "set aside",
        state="the table stays as it was last published; its records wait in the changelog",
        next_step=f"declare the true type in columns: of {work.spec.source}",
    )


def _winners(
    chosen: Chosen, decoder: Decoder, work: TableWork, events: DataFrame, counted: Observation
) -> DataFrame:
    """The newest change of each key, typed (TRUNC-4).

    ``counted`` gets how many there were, and how many left their key for another one. The truncate
    comes last: Spark leaves out of a plan what it finds to be empty, and with it what was to be
    counted there.
    """
    move = decoder.key_move
    unread = {"kafka_time", *(() if move is not None else ("headers",))}
    unread |= set() if work.replayed else {"zone"}
    left_keys = F.lit(0) if move is None else F.count_if(move["leaves"])
    changes = changes_of(chosen, work, decoder, events.drop(*unread))
    return (
        changes.observe(counted, F.count(F.lit(1)).alias("changes"), left_keys.alias("left_keys"))
        .drop("headers")
        .transform(latest_events)
        .where(above_truncate(work.truncated_at, work.guard))
        .transform(
            typed_rows,
            work.schema,
            decoder.image(work.schema),
            decoder.left_out(work.schema),
        )
    )


def _audit(
    world: World, work: TableWork, rows: StagedRows, move: Move, spared: str
) -> tuple[Verdict, SuiteRun | None]:
    """The engine's checks and the table's suite on exactly the snapshot of ``move``.

    At least one check is made: rows are staged, be they none as all came before, or a truncate or
    a snapshot takes some away, or a column fills them. spared: why rows that a snapshot does not
    contain stay until a person is asked.
    """
    name, snapshot_id = quote(world.catalog.name, *move.place.parts), move.snapshot
    table = world.spark.read.option("versionAsOf", snapshot_id).table(name)
    checks: tuple[CheckResult, ...] = ()
    suite_run = None
    if rows.folder:
        staged = read_staged(world.spark, rows).where(
            F.col(STAGED_OP).isin(Op.UPSERT.value, Op.DELETE.value)
        )
        checks = check_winners(staged, table, work.schema.row_key)
    removed = work.removal.below if work.removal and not spared else None
    newest = max(filter(None, (work.truncated_at, removed)), default=None)
    if newest is not None:
        checks = (*checks, check_ended(table, newest))
    filled = (check_filled(table, fill.column, fill.value, fill.below) for fill in work.fills)
    checks = (*checks, *filled)
    if spared:
        checks = (*checks, _spared(spared))
    if work.spec.suite is not None:
        suite_run = run_suite(
            load_suite(work.spec.suite), changed=_changed(world, work, rows, table), table=table
        )
        checks = (*checks, *suite_run.checks)
    suite = work.spec.suite or NO_SUITE
    return Verdict(str(work.target), snapshot_id, suite, checks), suite_run


def _spared(why: str) -> CheckResult:
    name = "what a snapshot does not contain may go unasked"
    return CheckResult(name, success=False, severity=Severity.WARNING, observed=why)


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
