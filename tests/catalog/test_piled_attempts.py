"""A cut that nobody publishes is tried at every run, and what the tries leave stays little."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from tests.support.staged_cut import (
    PASSED,
    PIPELINE,
    SYSTEM,
    TARGETS,
    rows,
    stage,
)
from tidemark.errors import NoAttemptError
from tidemark.lake.catalog import TableId
from tidemark.lake.history import newest_verdicts, read_history
from tidemark.lake.ledger import Entry
from tidemark.lake.refs import attempt_ref, create_branch, main_head
from tidemark.lake.results import FailedAttempt, result_file, write_result
from tidemark.model.names import AttemptId
from tidemark.model.result import CutResult, CutStatus
from tidemark.model.verdict import CheckResult, Severity
from tidemark.runs.accept import accept_audit, blocked_attempt
from tidemark.runs.publish import publish_cut
from tidemark.runs.surplus import MAX_ATTEMPTS, drop_surplus, surplus_attempts
from tidemark.runs.world import World

FINDING = CheckResult(
    "expect_x()", success=False, severity=Severity.CRITICAL, observed="3 rows", of_suite=True
)
P = PIPELINE.model_copy(update={"target_namespace": TARGETS[0].namespace})
SOME = 3


def attempts_of(world: World, table: TableId) -> set[str]:
    """Branches of attempts on a table, and what it says beside them."""
    loaded = world.catalog.load_table(table.parts)
    staged = {name.removeprefix("tidemark.staged.") for name in loaded.properties}
    refs = {name for name in loaded.refs() if name.startswith("tidemark_")}
    return refs | {name for name in staged if name.startswith("tidemark_")}


def forks(world: World) -> list[str]:
    names = world.catalog.list_tables(SYSTEM.ledger.namespace)
    return [name for _, name in names if name.startswith("tidemark_")]


def fail(world: World, attempt: AttemptId, at: datetime) -> None:
    """Have an attempt die inside its fold, with a branch on one table."""
    table = world.catalog.load_table(TARGETS[0].parts)
    head = main_head(table)
    assert head is not None
    create_branch(table, attempt_ref(1, attempt), head)
    file = result_file(world.installation.state, P.name, attempt)
    write_result(CutResult.died(attempt), file)
    os.utime(file, (at.timestamp(), at.timestamp()))


def test_newest_attempts_at_a_blocked_cut_stay(world: World) -> None:
    names = [AttemptId(f"run_{number}") for number in range(MAX_ATTEMPTS + SOME)]
    for number, attempt in enumerate(names):
        stage(world, attempt, 1, [number], has_fork=number > 0, checks=(PASSED, FINDING))
    drop_surplus(P, world)
    stay = {attempt_ref(1, attempt) for attempt in names[SOME:]}
    assert attempts_of(world, TARGETS[0]) == stay
    assert attempts_of(world, SYSTEM.ledger) == stay
    assert {name.rpartition("_")[0] for name in forks(world)} == stay
    assert blocked_attempt(P, world) == names[-1]
    with pytest.raises(NoAttemptError):
        publish_cut(P, world, names[0])
    accept_audit(P, world, names[-1], "it is right")
    assert [rows(world, table) for table in TARGETS] == [[len(names) - 1]] * 2


def test_branches_of_attempts_that_died_stay_few(world: World) -> None:
    """Memory that is too small kills each run of a weekend; one that is alive has no result."""
    alive = AttemptId("alive")
    stage(world, alive, 1, [7])
    now = datetime.now(UTC).timestamp()
    for number in range(MAX_ATTEMPTS + SOME):
        fail(world, AttemptId(f"died_{number}"), datetime.fromtimestamp(now + number, UTC))
    drop_surplus(P, world)
    stay = {attempt_ref(1, AttemptId(f"died_{n}")) for n in range(SOME, MAX_ATTEMPTS + SOME)}
    assert attempts_of(world, TARGETS[0]) == stay | {attempt_ref(1, alive)}
    publish_cut(P, world, alive)
    assert [rows(world, table) for table in TARGETS] == [[7], [7]]


def test_status_reads_verdicts_of_the_attempts_that_stay(world: World) -> None:
    """Verdicts of the others are rows for good, and nobody asks for them."""
    for number in range(MAX_ATTEMPTS + 1):
        checks = (PASSED, FINDING) if number == 0 else (PASSED,)
        stage(world, AttemptId(f"run_{number}"), 1, [number], checks=checks)
    drop_surplus(P, world)
    history = read_history(world.catalog, SYSTEM)
    verdicts = newest_verdicts(world.catalog, SYSTEM, history, ())
    assert sorted(verdicts) == [str(target) for target in TARGETS]
    assert not any(verdict.failures for verdict in verdicts.values())


@pytest.mark.parametrize(
    ("staged", "failed", "surplus"),
    [
        pytest.param("", "", "", id="nothing"),
        pytest.param("edcba", "jihgf", "", id="as many as stay"),
        pytest.param("fedcba", "", "a", id="one staged too many"),
        pytest.param("a", "gfedcb", "b", id="one failed too many"),
        pytest.param("f", "fedcba", "", id="one that failed to be published counts once"),
    ],
)
def test_surplus(staged: Sequence[str], failed: Sequence[str], surplus: Sequence[str]) -> None:
    """The oldest go; both are newest first."""
    entries = [Entry(CutResult(CutStatus.BLOCKED, AttemptId(name), 1), 0) for name in staged]
    over = [FailedAttempt(AttemptId(name), 0, "") for name in failed]
    assert surplus_attempts(entries, over) == set(surplus)
