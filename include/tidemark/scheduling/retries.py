"""What becomes of a task that failed: another try, or a stop until somebody acts.

The branch of the error decides, and nothing else: `TerminalError` stops, everything else is tried
again as often as the DAG allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from tidemark.errors import TerminalError
from tidemark.model.maintenance import MaintenanceResult
from tidemark.model.result import CutResult


@contextmanager
def stop_on_terminal_errors() -> Iterator[None]:
    """Fail the task for good when the block raises a `TerminalError`."""
    try:
        yield
    except TerminalError as error:
        raise AirflowFailException(str(error)) from error


def failure_of(
    result: CutResult | MaintenanceResult | None, submit: AirflowException
) -> AirflowException:
    """What a failed spark-submit means: told by the result that its job left, if it left one.

    A job that was killed leaves none, or had left one of what it did well, and then another try is
    worth it.
    """
    if result is None or not result.error:
        return submit
    if result.retryable:
        return AirflowException(result.error)
    return AirflowFailException(result.error)
