"""Status: how far a pipeline is, table by table, and what to do next. Reads only, no JVM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tidemark.errors import TidemarkError
from tidemark.lake.catalog import SystemTables, TableId
from tidemark.lake.heads import read_heads
from tidemark.lake.history import (
    History,
    Order,
    TargetChange,
    existing_tables,
    newest_verdicts,
    read_history,
)
from tidemark.lake.landing import landed_ms, records_since
from tidemark.lake.ledger import Entry, newest_cuts
from tidemark.lake.quarantine import read_waiting
from tidemark.lake.rest import moves_together
from tidemark.lake.results import FailedAttempt, failed_attempts
from tidemark.model.bucket import Bucket
from tidemark.model.cut import Frontier, GateMode
from tidemark.model.names import PipelineName, TableName
from tidemark.model.progress import Progress
from tidemark.model.quarantine import Kind, by_kind
from tidemark.model.reconcile import ReconcileStage
from tidemark.model.result import CutStatus
from tidemark.model.verdict import Verdict
from tidemark.runs.plan import CutPlan, plan_cut, statement_note, truncate_note
from tidemark.runs.stall import stall_of
from tidemark.runs.targets import targets_of
from tidemark.runs.unknown_kinds import unknown_kinds, warnings
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec

NOTHING = "nothing to do"
CUTS_SHOWN = 20
MOVED_SEPARATELY = (
    "the catalog's server moves tables one by one: while a cut is published, readers may find it "
    "in some of its tables only"
)
UNTIL_NONE_IS_OLDER = ", until no row is left that is older; "
NOT_ASKED = "earlier runs did not take it so far; a run for all tables takes it along"


@dataclass(frozen=True, slots=True)
class Lag:
    """What is not published yet.

    unread: offsets that are not landed. landed: records that are, but in no cut yet. held: records
    above the newest cut.
    """

    unread: int
    landed: int
    held: int

    @property
    def is_none(self) -> bool:
        """Whether everything that the topics hold is published."""
        return not (self.unread or self.landed or self.held)


@dataclass(frozen=True, slots=True)
class TableStatus:
    """One table.

    complete_until_ms: source time, 0 when the gate tells none. changed: by the newest cut that
    did. verdict: of the newest audit, published or not. why: the
    reason it stands lower than the pipeline, empty when it does not. refold: the table that a
    refold makes of it, empty without one. dropped: why its target stays as it is, empty while the
    source has the table.
    """

    table: TableName
    target: str
    exists: bool
    complete_until_ms: int
    changed: TargetChange | None
    verdict: Verdict | None
    why: str
    refold: str = ""
    dropped: str = ""


@dataclass(frozen=True, slots=True)
class PipelineStatus:
    """One pipeline.

    published: newest cut.
    attempt: newest one that is staged or blocked, but not published.
    failed: attempts that failed since the newest cut, newest first.
    lag: None when trouble keeps it unknown.
    work: what a run would find.
    hold: why the newest cut went no further; stalled_ms: for how long, once that is too long.
    snapshots: table -> what its snapshot waits for, and the next command.
    withheld: table -> its columns of which values are unknown, and the next command.
    orders: what an operator ordered since the newest cut, newest first.
    truncates: what to check while none has come.
    statements: what DDL is not seen.
    quarantine: what waits there, by cause.
    warnings: what tables may lack because of them, and when readers may see a cut in part.
    trouble: why a run would not even start reading.
    history: the newest `CUTS_SHOWN` published cuts, newest first.
    freshness_ms: how old its tables may be; 0 without a limit.
    waiting_since_ms: when the oldest records that may wait were landed, in ms since 1970; 0 where
    none are.
    is_readable: what is published can be read; where it cannot, trouble says why, and nothing else
    is known.
    """

    pipeline: PipelineName
    gate: GateMode
    next_step: str
    published: Entry | None = None
    attempt: Entry | None = None
    failed: tuple[FailedAttempt, ...] = ()
    complete_until_ms: int = 0
    lag: Lag | None = None
    work: str = ""
    hold: str = ""
    stalled_ms: int = 0
    tables: tuple[TableStatus, ...] = ()
    snapshots: Mapping[TableName, str] = field(default_factory=dict)
    withheld: Mapping[TableName, str] = field(default_factory=dict)
    orders: tuple[Order, ...] = ()
    truncates: str = ""
    statements: str = ""
    quarantine: tuple[Kind, ...] = ()
    warnings: tuple[str, ...] = ()
    trouble: TidemarkError | None = None
    history: tuple[Entry, ...] = ()
    freshness_ms: int = 0
    waiting_since_ms: int = 0
    is_readable: bool = True

    @property
    def quarantined(self) -> int:
        """How many changes wait in quarantine."""
        return sum(kind.changes for kind in self.quarantine)

    @property
    def of_no_table(self) -> int:
        """How many of them are of no known table."""
        return sum(kind.changes for kind in self.quarantine if not kind.table)

    @property
    def without_cut(self) -> str:
        """What is shown in place of a newest cut: there is none, or nobody can tell."""
        return "never" if self.is_readable else "?"

    @property
    def is_blocked(self) -> bool:
        """Whether a table is blocked, or the newest attempt by its audit."""
        by_audit = self.attempt is not None and self.attempt.result.status is CutStatus.BLOCKED
        return by_audit or any(table.why not in ("", NOT_ASKED) for table in self.tables)


def unreadable_status(pipeline: PipelineSpec, trouble: TidemarkError) -> PipelineStatus:
    """The status of a pipeline of which `pipeline_status` raised ``trouble``, beside others."""
    return PipelineStatus(
        pipeline.name,
        pipeline.source.gate,
        next_step=trouble.next_step,
        trouble=trouble,
        is_readable=False,
    )


def pipeline_status(pipeline: PipelineSpec, world: World) -> PipelineStatus:
    """How far ``pipeline`` is; what is wrong with its topics is told, not raised.

    Raises what keeps its own tables from being read, such as `ForeignChangeError`.
    """
    system = SystemTables.of(pipeline.name)
    history = read_history(world.catalog, system)
    heads = read_heads(world.catalog, system)
    progress, landings = heads.ledger.progress.under(pipeline.renames), heads.changelog.snapshot
    plan, trouble = _plan(pipeline, world)
    newest = history.published
    attempt = history.attempts[0] if history.attempts else None
    waiting = read_waiting(world.catalog, system, progress.known_renames(pipeline.renames))
    held = newest.result.buckets.get(Bucket.HELD, 0) if newest else 0
    stall = stall_of(pipeline, history, int(datetime.now(UTC).timestamp() * 1000))
    lag, since_ms = None, 0
    if plan is None or plan.waiting:
        since_ms = landed_ms(world.catalog, system, landings, progress.oldest_held)
    if plan is not None:
        landed = 0
        if plan.waiting:
            landed = records_since(world.catalog, system, landings, progress.landing)
        lag = Lag(plan.unread_records, landed, held)
    return PipelineStatus(
        pipeline=pipeline.name,
        gate=pipeline.source.gate,
        published=newest,
        attempt=attempt,
        failed=failed_attempts(
            world.installation.state, pipeline.name, newest.at_ms if newest else 0
        ),
        complete_until_ms=progress.frontier.complete_until_ms,
        lag=lag,
        work=plan.sentence if plan else "",
        hold=newest.result.hold if newest else "",
        stalled_ms=stall.age_ms if stall else 0,
        tables=_tables(pipeline, world, history, progress),
        snapshots=_snapshots(pipeline, progress),
        withheld=_withheld(pipeline, progress),
        orders=history.orders,
        truncates=truncate_note(pipeline, progress),
        statements=statement_note(pipeline.source),
        quarantine=by_kind(waiting),
        warnings=(
            *warnings(pipeline.source, unknown_kinds(pipeline.source, waiting)),
            *(() if moves_together(world.catalog) else (MOVED_SEPARATELY,)),
        ),
        trouble=trouble,
        next_step=trouble.next_step if trouble else _next_step(pipeline, plan, attempt),
        history=newest_cuts(world.catalog, system, CUTS_SHOWN),
        freshness_ms=pipeline.freshness_ms,
        waiting_since_ms=since_ms,
    )


def _plan(pipeline: PipelineSpec, world: World) -> tuple[CutPlan | None, TidemarkError | None]:
    """An operator asks for the status above all when something is wrong."""
    try:
        return plan_cut(pipeline, world), None
    except TidemarkError as error:
        return None, error


def _snapshots(pipeline: PipelineSpec, progress: Progress) -> dict[TableName, str]:
    """What is open of snapshots (SNAP-11); rows that they did not contain are still there."""
    sentences: dict[TableName, str] = {}
    for table, reconcile in sorted(progress.snapshots.tables.items()):
        command = f"tidemark resync {pipeline.name} {table} --complete"
        match reconcile.stage:
            case ReconcileStage.ASKED:
                sentences[table] = f"is read, but {reconcile.why}; if it is whole: {command}"
            case ReconcileStage.READING if reconcile.is_ordered:
                sentences[table] = f"is awaited; when the connector has made it: {command}"
            case ReconcileStage.READING:
                sentences[table] = f"is being read; if its end never comes: {command}"
            case _:
                sentences[table] = "is read; the next cut removes what it did not contain"
    return sentences


def _withheld(pipeline: PipelineSpec, progress: Progress) -> dict[TableName, str]:
    """Columns that have another name until each row was changed or read again (SCHEMA-38)."""
    every = (
        "to have all rows read again: tidemark resync {} {}; a column that changes never have, "
        "such as a generated one of PostgreSQL, until target-columns: excludes it"
    )
    if pipeline.source.format.is_canal:
        every = "to have all rows sent again, change them at the source"
    return {
        table: f"{', '.join(names)}{UNTIL_NONE_IS_OLDER}" + every.format(pipeline.name, table)
        for table, names in sorted(progress.withheld.items())
    }


def _next_step(pipeline: PipelineSpec, plan: CutPlan | None, attempt: Entry | None) -> str:
    again = f"tidemark cut {pipeline.name}"
    if attempt is not None and attempt.result.status is CutStatus.BLOCKED:
        accept = f"tidemark accept {pipeline.name} --reason TEXT"
        return f"fix the data at the source or the suite, then: {again}; or publish it: {accept}"
    return again if attempt is not None or (plan is not None and plan.has_work) else NOTHING


def _tables(
    pipeline: PipelineSpec, world: World, history: History, progress: Progress
) -> tuple[TableStatus, ...]:
    targets = targets_of(pipeline, history, progress)
    away = _renamed_away(progress)
    targets = {t: target for t, target in targets.items() if away.get(t) not in targets}
    changes = {str(target): history.changed.get(str(target)) for target in targets.values()}
    published = [change for change in changes.values() if change is not None]
    system = SystemTables.of(pipeline.name)
    verdicts = newest_verdicts(world.catalog, system, history, published)
    there = existing_tables(world.catalog, pipeline.target_namespace)
    stopped = history.published.result.stopped if history.published else {}
    return tuple(
        TableStatus(
            table=table,
            target=str(target),
            exists=target.table in there,
            complete_until_ms=_shown_frontier(progress, table).complete_until_ms,
            changed=changes[str(target)],
            verdict=verdicts.get(str(target)),
            why=_why(progress, table, stopped),
            refold=_refold(pipeline, progress, table),
            dropped=_dropped(progress, away, table),
        )
        for table, target in sorted(targets.items())
    )


def _shown_frontier(progress: Progress, table: TableName) -> Frontier:
    """How far the target of ``table`` is; a refold is made beside it."""
    refold = progress.refolds.get(table)
    return refold.paused.frontier if refold else progress.frontier_of(table)


def _why(progress: Progress, table: TableName, stopped: Mapping[str, str]) -> str:
    if table not in progress.behind:
        return ""
    return stopped.get(str(table), "" if table in progress.refolds else NOT_ASKED)


def _refold(pipeline: PipelineSpec, progress: Progress, table: TableName) -> str:
    refold = progress.refolds.get(table)
    return str(TableId(pipeline.target_namespace, refold.target)) if refold else ""


def _renamed_away(progress: Progress) -> dict[TableName, TableName]:
    """The names that are not folded -> those of before, which the targets keep (SCHEMA-31)."""
    at = progress.dropped
    return {r.new: r.old for r in progress.renames if r.old in at and r.is_at(at[r.old])}


def _dropped(progress: Progress, away: Mapping[TableName, TableName], table: TableName) -> str:
    """What became of ``table`` at the source, where its target stays as it is (SCHEMA-18)."""
    for new, old in away.items():
        if table in (new, old):
            return f"is called {new} at the source, which is not folded; its target stays as it is"
    return "is dropped at the source; its target stays" if table in progress.dropped else ""
