"""When runs begin, how long they may take, and when one is late."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

from airflow.sdk import CronDataIntervalTimetable, CronTriggerTimetable
from airflow.sdk.definitions.callback import Callback
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference

from tidemark.spec import PipelineSpec

RETRIES = 2
RETRY_DELAY = timedelta(minutes=1)


def longest_attempts(pipeline: PipelineSpec) -> timedelta:
    """How long a task may take with all its tries: a run that takes longer waits for nothing."""
    return (RETRIES + 1) * (timedelta(minutes=pipeline.limits.task_timeout) + RETRY_DELAY)


def deadline_of(pipeline: PipelineSpec, late: Callback | None) -> DeadlineAlert | None:
    """When a run is too late for its tables to be as fresh as the pipeline file has them.

    From when it was queued: of a backfill, the interval is past already.
    """
    if late is None or not pipeline.freshness_ms:
        return None
    return DeadlineAlert(
        reference=DeadlineReference.DAGRUN_QUEUED_AT,
        interval=timedelta(milliseconds=pipeline.freshness_ms),
        callback=late,
        name="freshness",
    )


def intervals_of(cron: str | None) -> CronDataIntervalTimetable | None:
    """A schedule whose runs have data intervals; None where runs are started by hand."""
    # Airflow's default for a cron text has intervals of no length; a cut is capped by a real one.
    return None if cron is None else CronDataIntervalTimetable(cron, timezone="UTC")


def moments_of(cron: str | None) -> CronTriggerTimetable | None:
    """A schedule of moments, of which a missed one is not made up for."""
    # A DAG that is new, with no start date, waits for the next one, however long that takes.
    if cron is None:
        return None
    return CronTriggerTimetable(cron, timezone="UTC", run_immediately=timedelta())


def start_of(pipeline: PipelineSpec) -> datetime | None:
    """The first moment of the schedule; None where the file names no day."""
    if pipeline.start_date is None:
        return None
    return datetime.combine(pipeline.start_date, time.min, UTC)
