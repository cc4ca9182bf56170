"""`tidemark history`: what cuts did to one table, from the ledger of a real catalog."""

from __future__ import annotations

import pytest

from tests.support.staged_cut import PASSED, PIPELINE, TARGETS, stage
from tidemark.errors import ActionRefusedError
from tidemark.lake import target_cuts
from tidemark.model.names import AttemptId, TableName
from tidemark.model.verdict import CheckResult, Outcome, Severity
from tidemark.runs.accept import accept_audit
from tidemark.runs.publish import publish_cut
from tidemark.runs.table_history import table_history
from tidemark.runs.world import World

FINDING = CheckResult(
    "expect_x()", success=False, severity=Severity.CRITICAL, observed="3 rows", of_suite=True
)
TABLE = TableName.parse(str(TARGETS[0]))
IN_DB = PIPELINE.model_copy(update={"target_namespace": TARGETS[0].namespace})


@pytest.fixture
def _cuts(world: World) -> None:
    """Five published cuts, of which an operator accepted the third; each had a dead attempt."""
    for cut in range(1, 6):
        attempt, checks = AttemptId(f"run_{cut}"), (PASSED, FINDING) if cut == 3 else (PASSED,)
        stage(world, AttemptId(f"dead_{cut}"), cut, [-cut])
        stage(world, attempt, cut, [cut], checks=checks)
        if cut == 3:
            accept_audit(PIPELINE, world, attempt, "the shop was closed")
        else:
            publish_cut(PIPELINE, world, attempt)


@pytest.mark.usefixtures("_cuts")
def test_the_newest_cuts_come_first_and_are_bounded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PUB-9: whatever is published stands in the ledger."""
    monkeypatch.setattr(target_cuts, "WINDOW", 1)
    target = world.catalog.load_table(TARGETS[0].parts)
    for last in (1, 3, 20):
        history = table_history(IN_DB, world, TABLE, last)
        assert history.target == str(TARGETS[0])
        numbers = [change.cut.result.cut for change in history.changes]
        assert numbers == [5, 4, 3, 2, 1][:last]
    newest, _, accepted, *_ = history.changes
    assert newest.cut.of_target.snapshot_id == target.refs()["main"].snapshot_id
    assert newest.cut.result.attempt == "run_5"
    assert newest.verdict is not None
    assert (newest.verdict.outcome, newest.verdict.checks) == (Outcome.PASS, (PASSED,))
    assert accepted.verdict is not None
    assert accepted.verdict.accepted == "the shop was closed"
    assert accepted.verdict.failures == (FINDING,)


def test_a_table_that_nothing_has_changed_has_no_history(world: World) -> None:
    assert table_history(IN_DB, world, TABLE, 20).changes == ()
    with pytest.raises(ActionRefusedError, match="db.z has no target"):
        table_history(IN_DB, world, TableName("db", "z"), 20)
