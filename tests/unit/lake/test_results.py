"""Results of attempts: written whole, bounded, and read for what failed since a cut."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from tidemark.errors import StorageError, SupersededError
from tidemark.lake.results import (
    MAX_RESULT_FILES,
    FailedAttempt,
    failed_attempts,
    read_result,
    result_file,
    write_result,
)
from tidemark.model.names import AttemptId, PipelineName
from tidemark.model.result import CutResult, CutStatus

SHOP = PipelineName("shop")
FULL = StorageError("the disk is full", state="main is as it was", next_step="make room")
PUBLISHED = CutResult(CutStatus.PUBLISHED, AttemptId("made"), cut=7)


def left(state: Path, result: CutResult, second: int) -> Path:
    file = result_file(state, SHOP, result.attempt)
    write_result(result, file)
    os.utime(file, (second, second))
    return file


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_result(left(tmp_path, PUBLISHED, 1)) == PUBLISHED
    assert read_result(result_file(tmp_path, SHOP, AttemptId("another"))) is None


def test_attempts_that_failed_since_a_cut_are_known(tmp_path: Path) -> None:
    assert failed_attempts(tmp_path, SHOP, 0) == ()
    superseded = SupersededError("cut 8 is there", state="nothing changed", next_step="run again")
    left(tmp_path, CutResult.failed(AttemptId("before"), FULL), 10)
    left(tmp_path, PUBLISHED, 20)
    left(tmp_path, CutResult.failed(AttemptId("full"), FULL), 30)
    left(tmp_path, CutResult.failed(AttemptId("late"), superseded), 35)
    left(tmp_path, CutResult.died(AttemptId("killed")), 40)
    killed, full = failed_attempts(tmp_path, SHOP, 20_000)
    assert full == FailedAttempt(AttemptId("full"), 30_000, f"StorageError: {FULL}")
    assert (killed.attempt, killed.at_ms) == ("killed", 40_000)
    assert failed_attempts(tmp_path, PipelineName("shop2"), 0) == ()
    left(tmp_path, CutResult(CutStatus.IDLE, AttemptId("idle"), cut=7), 50)
    assert failed_attempts(tmp_path, SHOP, 20_000) == (), "a run that went well ends them"


def test_the_newest_results_are_kept(tmp_path: Path) -> None:
    for number in range(MAX_RESULT_FILES + 3):
        file = left(tmp_path, replace(PUBLISHED, attempt=AttemptId(f"a{number}")), number + 1)
    assert len(list(file.parent.iterdir())) == MAX_RESULT_FILES
    assert file.exists()
    assert not result_file(tmp_path, SHOP, AttemptId("a2")).exists()
