"""Publish a cut in spite of what its expectations found, as an operator has judged it. No JVM."""

from __future__ import annotations

from dataclasses import replace

from tidemark.errors import UNCHANGED, ActionRefusedError
from tidemark.lake.catalog import SystemTables
from tidemark.lake.history import read_history
from tidemark.lake.verdicts import write_accepted
from tidemark.log import get_logger
from tidemark.model.names import AttemptId
from tidemark.model.result import CutResult, CutStatus
from tidemark.model.verdict import Outcome, Verdict
from tidemark.runs.publish import cut_of, publish_cut, read_verdicts
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec

log = get_logger()


def blocked_attempt(pipeline: PipelineSpec, world: World) -> AttemptId:
    """The newest attempt of ``pipeline``, which its audit blocks; else `ActionRefusedError`."""
    attempts = read_history(world.catalog, SystemTables.of(pipeline.name)).attempts
    if not attempts or attempts[0].result.status is not CutStatus.BLOCKED:
        raise ActionRefusedError(
            f"no attempt of pipeline {pipeline.name} is blocked by its audit",
            state=UNCHANGED,
            next_step=f"tidemark status {pipeline.name}",
        )
    return attempts[0].result.attempt


def blocking(verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """Those that keep a cut from being published."""
    return tuple(verdict for verdict in verdicts if verdict.outcome is Outcome.BLOCK)


def refuse_faults(pipeline: PipelineSpec, verdicts: tuple[Verdict, ...]) -> None:
    """Raise where a check of the engine failed: such rows are not what the source has."""
    for verdict in verdicts:
        for check in verdict.faults:
            raise ActionRefusedError(
                f"the audit of {verdict.table} found a fold fault, which cannot be accepted: "
                f"{check.name}: {check.observed}",
                state="main of every table is as it was; the staged branches are kept",
                next_step=f"tidemark cut {pipeline.name}; if this repeats, report it",
            )


def accept_audit(
    pipeline: PipelineSpec, world: World, attempt: AttemptId, reason: str
) -> CutResult:
    """Publish ``attempt`` whatever its expectations found; the reason is kept with the verdicts.

    Safe to repeat. `ActionRefusedError` where a check of the engine failed; else as `publish_cut`.
    """
    cut = cut_of(pipeline, world, attempt)
    verdicts = () if cut is None else blocking(read_verdicts(pipeline, world, attempt, cut))
    refuse_faults(pipeline, verdicts)
    if cut is not None and verdicts:
        accepted = [replace(verdict, accepted=reason) for verdict in verdicts]
        write_accepted(world.catalog, SystemTables.of(pipeline.name), attempt, cut, accepted)
        tables = [verdict.table for verdict in verdicts]
        log.info("audit_accepted", attempt=attempt, tables=tables, reason=reason)
    return publish_cut(pipeline, world, attempt)
