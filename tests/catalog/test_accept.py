"""PUB-7: what expectations found is published if an operator says so, and nothing else is."""

from __future__ import annotations

import pytest

from tests.support.staged_cut import PASSED, PIPELINE, SYSTEM, TARGETS, rows, stage
from tidemark.errors import ActionRefusedError, AuditBlockedError, SupersededError
from tidemark.lake.ledger import newest_cuts
from tidemark.lake.verdicts import SCHEMA
from tidemark.model.names import AttemptId
from tidemark.model.verdict import CheckResult, Outcome, Severity
from tidemark.runs.accept import accept_audit, blocked_attempt
from tidemark.runs.publish import publish_cut, read_verdicts
from tidemark.runs.world import World

FIRST, SECOND, THIRD = (AttemptId(f"run_{number}") for number in (1, 2, 3))
FINDING = CheckResult(
    "expect_x()", success=False, severity=Severity.CRITICAL, observed="3 rows", of_suite=True
)
FAULT = CheckResult("keys are unique", success=False, severity=Severity.CRITICAL, observed="1 key")


def test_findings_are_accepted_once(world: World) -> None:
    stage(world, FIRST, 1, [1], checks=(PASSED, FINDING))
    assert blocked_attempt(PIPELINE, world) == FIRST
    with pytest.raises(AuditBlockedError, match="tidemark accept p --reason"):
        publish_cut(PIPELINE, world, FIRST)
    for _ in range(2):
        result = accept_audit(PIPELINE, world, FIRST, "the shop was closed")
    assert [rows(world, table) for table in TARGETS] == [[1], [1]]
    assert {table.outcome for table in result.tables} == {Outcome.WARN}
    for verdict in read_verdicts(PIPELINE, world, FIRST, 1):
        assert (verdict.accepted, verdict.failures) == ("the shop was closed", (FINDING,))
    assert [entry.result.cut for entry in newest_cuts(world.catalog, SYSTEM, 5)] == [1]
    stage(world, SECOND, 2, [2], checks=(PASSED, FINDING))
    with pytest.raises(AuditBlockedError):
        publish_cut(PIPELINE, world, SECOND)
    stage(world, THIRD, 2, [3])
    publish_cut(PIPELINE, world, THIRD)
    with pytest.raises(SupersededError):
        accept_audit(PIPELINE, world, SECOND, "too late")
    assert [rows(world, table) for table in TARGETS] == [[1, 3], [1, 3]]


def test_a_fault_of_the_fold_is_not_accepted(world: World) -> None:
    stage(world, FIRST, 1, [1], checks=(FINDING, FAULT))
    with pytest.raises(ActionRefusedError, match="cannot be accepted: keys are unique: 1 key"):
        accept_audit(PIPELINE, world, FIRST, "go on")
    with pytest.raises(AuditBlockedError):
        publish_cut(PIPELINE, world, FIRST)
    assert [rows(world, table) for table in TARGETS] == [[], []]


def test_an_attempt_that_nothing_blocks_needs_no_one(world: World) -> None:
    stage(world, FIRST, 1, [1])
    with pytest.raises(ActionRefusedError, match="no attempt of pipeline p is blocked"):
        blocked_attempt(PIPELINE, world)


def test_verdicts_of_an_older_version_are_not_accepted(world: World) -> None:
    """Nobody knows which of their checks were expectations."""
    stage(world, FIRST, 1, [1], checks=(FINDING,))
    verdicts = world.catalog.load_table(SYSTEM.verdicts.parts)
    with verdicts.update_schema(allow_incompatible_changes=True) as change:
        change.delete_column("said_by")
    assert verdicts.schema().column_names == [name for name in SCHEMA.names if name != "said_by"]
    with pytest.raises(ActionRefusedError, match="cannot be accepted"):
        accept_audit(PIPELINE, world, FIRST, "go on")
