"""Publish: move every table of a staged cut, and the ledger, to their audited snapshots at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from tidemark.errors import UNCHANGED, AuditBlockedError, NoAttemptError, SupersededError
from tidemark.lake.catalog import SystemTables
from tidemark.lake.history import read_history
from tidemark.lake.ledger import StagedCut, find_staged, read_progress
from tidemark.lake.refs import Move, move_mains
from tidemark.lake.verdicts import read_verdicts as read_rows
from tidemark.log import get_logger
from tidemark.model.names import AttemptId
from tidemark.model.result import CutResult, CutStatus
from tidemark.model.verdict import Outcome, Verdict
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec

log = get_logger()


def read_verdicts(pipeline: PipelineSpec, world: World, attempt: AttemptId) -> tuple[Verdict, ...]:
    """What the audit of ``attempt`` found, table by table. No JVM."""
    return read_rows(world.catalog, SystemTables.of(pipeline.name), attempt)


def publish_cut(pipeline: PipelineSpec, world: World, attempt: AttemptId) -> CutResult:
    """Publish the cut that ``attempt`` staged: all tables and the ledger, or nothing. No JVM.

    Safe to repeat. `NoAttemptError` when nothing is staged under that name, `AuditBlockedError`
    when a verdict blocks or is missing, `SupersededError` when another attempt came first.
    """
    tables = SystemTables.of(pipeline.name)
    found = find_staged(world.catalog, tables, attempt)
    if found is None:
        raise NoAttemptError(
            f"attempt {attempt} of pipeline {pipeline.name} is not staged",
            state=UNCHANGED,
            next_step=f"stage it again: clear the task fold, or run tidemark cut {pipeline.name}",
        )
    staged, is_published = found
    result = replace(staged.result, status=CutStatus.PUBLISHED)
    if is_published:
        log.info("cut_already_published", pipeline=pipeline.name, cut=result.cut)
        return result
    _refuse_unaudited(staged, read_verdicts(pipeline, world, attempt))
    _refuse_stale(pipeline, staged, read_progress(world.catalog, tables).cut)
    move_mains(world.catalog, _remembering(staged, world, tables))
    log.info("cut_published", pipeline=pipeline.name, cut=result.cut, tables=len(result.tables))
    return result


def _remembering(staged: StagedCut, world: World, tables: SystemTables) -> tuple[Move, ...]:
    """The moves, the ledger's with what it is to go on saying of this cut and those before."""
    *moves, own = staged.moves
    now_ms = int(datetime.now(UTC).timestamp() * 1000)
    marks = read_history(world.catalog, tables).remembered(staged.result, now_ms)
    return (*moves, replace(own, marks=marks))


def _refuse_unaudited(staged: StagedCut, verdicts: tuple[Verdict, ...]) -> None:
    """Only what was audited, in exactly this snapshot, and did not block may be published."""
    passed = {v.snapshot_id for v in verdicts if v.outcome is not Outcome.BLOCK}
    failed = [table for table in staged.result.tables if table.snapshot_id not in passed]
    if failed:
        named = ", ".join(f"{table.target} ({table.outcome or 'no verdict'})" for table in failed)
        raise AuditBlockedError(
            f"cut {staged.result.cut} is blocked by the audit of {named}",
            state="main of every table is as it was; the staged branches are kept",
            next_step="mend the data at the source or the suite, then clear the task fold; "
            "the next cut starts from main",
        )


def _refuse_stale(pipeline: PipelineSpec, staged: StagedCut, published: int) -> None:
    if staged.result.cut != published + 1:
        raise SupersededError(
            f"cut {staged.result.cut} of pipeline {pipeline.name} was staged, but cut {published} "
            "is published already",
            state="this attempt changed nothing",
            next_step="nothing to do: the next run starts from what is published",
        )
