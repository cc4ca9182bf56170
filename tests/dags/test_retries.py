"""The branch of an error decides whether a task is tried again."""

from __future__ import annotations

from pathlib import Path

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from tidemark.errors import (
    BrokerUnreachableError,
    OutcomeUnknownError,
    RetryableError,
    SupersededError,
    TerminalError,
    TidemarkError,
    TopicMissingError,
)
from tidemark.lake.results import read_result
from tidemark.model.maintenance import MaintenanceResult
from tidemark.model.names import AttemptId
from tidemark.model.result import CutResult, CutStatus
from tidemark.scheduling.retries import failure_of, stop_on_terminal_errors

SUBMIT = AirflowException("spark-submit ended with 1")
WORDS = {"state": "as it was", "next_step": "look"}


@pytest.mark.parametrize(
    ("error", "is_final"),
    [
        (TopicMissingError, True),
        (BrokerUnreachableError, False),
        (SupersededError, False),
        (OutcomeUnknownError, False),
    ],
)
def test_result_of_the_job_decides(error: type[TidemarkError], is_final: bool) -> None:
    result = CutResult.failed(AttemptId("a"), error("it is so", **WORDS))
    failure = failure_of(result, SUBMIT)
    assert isinstance(failure, AirflowFailException) == is_final
    assert str(failure) == f"{error.__name__}: it is so\n  state: as it was\n  next:  look"


def test_job_that_left_nothing_is_tried_again(tmp_path: Path) -> None:
    assert failure_of(read_result(tmp_path / "none.json"), SUBMIT) is SUBMIT


@pytest.mark.parametrize(
    "result",
    [
        CutResult(CutStatus.STAGED, AttemptId("a"), cut=7),
        CutResult(CutStatus.IDLE, AttemptId("a")),
        MaintenanceResult(),
    ],
    ids=["staged", "idle", "maintained"],
)
def test_job_that_was_killed_behind_its_result_is_tried_again(
    result: CutResult | MaintenanceResult,
) -> None:
    assert failure_of(result, SUBMIT) is SUBMIT


def test_terminal_error_stops_a_task() -> None:
    with pytest.raises(AirflowFailException, match="state: as it was"), stop_on_terminal_errors():
        raise TerminalError("no", **WORDS)


def test_retryable_error_is_left_to_the_retries() -> None:
    with pytest.raises(RetryableError), stop_on_terminal_errors():
        raise RetryableError("not now", **WORDS)
