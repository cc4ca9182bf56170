"""PUB-5: a COMMIT whose reply is lost harms no table, loses no cut, and doubles none."""

from __future__ import annotations

import random

import pytest

from tests.support.commit_proxy import CommitProxy, Fault
from tests.support.staged_cut import (
    PIPELINE,
    SYSTEM,
    TARGETS,
    missing_files,
    rows,
    stage,
    world_through,
)
from tidemark.errors import OutcomeUnknownError, RetryableError
from tidemark.lake.ledger import read_progress
from tidemark.lake.unfinished import finish_publication
from tidemark.model.names import AttemptId
from tidemark.model.result import CutStatus
from tidemark.runs.publish import publish_cut
from tidemark.runs.world import World

ROUNDS = 10
LAPS = [*(("postgres", lap) for lap in range(5)), ("rest", 0), ("rest", 1)]
MOST_LATE_SECONDS = 0.3


def publish(world: World, attempt: AttemptId) -> OutcomeUnknownError | None:
    """Publish, as a task does that may fail; None when it was published."""
    try:
        assert publish_cut(PIPELINE, world, attempt).status is CutStatus.PUBLISHED
    except OutcomeUnknownError as error:
        return error
    return None


def run_again(world: World, number: int) -> None:
    """What the next runs do, each an attempt of its own: find cut ``number`` published, or make it.

    It may be published by the lost COMMIT at any moment of theirs.
    """
    for again in range(20):
        try:
            finish_publication(world.catalog, SYSTEM)  # As every run begins.
            if read_progress(world.catalog, SYSTEM).cut == number:
                return
            attempt = AttemptId(f"again_{number}_{again}")
            stage(world, attempt, number, [number])
            publish_cut(PIPELINE, world, attempt)
        except RetryableError:
            continue
    raise AssertionError(f"cut {number} was not published in 20 runs")


def state(world: World) -> tuple[int, list[list[int]]]:
    return read_progress(world.catalog, SYSTEM).cut, [rows(world, table) for table in TARGETS]


@pytest.mark.parametrize(("uri", "lap"), LAPS, indirect=["uri"])
@pytest.mark.parametrize("fault", list(Fault))
def test_cut_is_published_whole_and_once(
    world: World, proxy: CommitProxy, fault: Fault, lap: int
) -> None:
    """Many rounds per fault, in laps, as tables of many small files are slow to read."""
    chance = random.Random(f"{fault} {lap}")  # noqa: S311  no secret
    through = world_through(proxy.uri, world)
    expected: list[int] = []
    unknown = 0
    for number in range(1, ROUNDS + 1):
        attempt = AttemptId(f"try_{number}")
        stage(world, attempt, number, [number], has_fork=number % 3 == 0)
        is_done = proxy.arm(fault, chance.uniform(0, MOST_LATE_SECONDS))
        error = publish(through, attempt)
        unknown += error is not None
        if chance.random() < 0.5:  # else the next attempt comes while COMMIT is on its way
            assert is_done.wait(10)
            assert state(world)[0] in (number - 1, number)
            assert len({tuple(ids) for ids in state(world)[1]}) == 1
            assert missing_files(world) == []
        if chance.random() < 0.7:
            assert publish(world, attempt) is None
        else:
            run_again(world, number)
        assert is_done.wait(10)
        finish_publication(world.catalog, SYSTEM)
        expected.append(number)
        assert missing_files(world) == []
        assert state(world) == (number, [expected] * len(TARGETS))
    assert unknown == ROUNDS if fault is Fault.NEVER else unknown <= ROUNDS
