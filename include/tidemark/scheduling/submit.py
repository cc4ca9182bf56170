"""From a pipeline, the installation and an order to what spark-submit is given. Pure.

Whatever stands here is seen by everybody who may list processes: no secret comes near it. The job
reads the installation file itself, in its own process.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tidemark.errors import UNCHANGED, ActionRefusedError, NameRefusedError
from tidemark.lake.results import maintenance_file, preview_file, result_file
from tidemark.model.names import AttemptId, PipelineName, TableName, interval_tag
from tidemark.model.until import Until
from tidemark.spec import InstallationSpec, PipelineSpec
from tidemark.spec.jvm import with_limits
from tidemark.spec.launch import CLASS_PATH, launch_arguments, launch_settings
from tidemark.spec.until import until_of

JOBS = Path(__file__).parents[1] / "jobs"
BACKFILL = "backfill"
"""Airflow's type of the runs that `airflow backfill create` makes."""
CUT_JOB, MAINTAIN_JOB = JOBS / "cut.py", JOBS / "maintain.py"


@dataclass(frozen=True, slots=True)
class FoldRequest:
    """What one try of the fold is asked for.

    until: where the cut is capped, or empty. dry_run: only say what the cut would hold. tag: what
    the targets get if they stand at ``until`` then, or empty.
    """

    attempt: AttemptId
    until: str = ""
    tables: tuple[str, ...] = ()
    reason: str = ""
    dry_run: bool = False
    tag: str = ""

    def result(self, state: Path, pipeline: PipelineName) -> Path:
        """The file for the result, in the state folder of the installation."""
        file = preview_file if self.dry_run else result_file
        return file(state, pipeline, self.attempt)


@dataclass(frozen=True, slots=True)
class Submission:
    """The arguments of SparkSubmitOperator that depend on where it runs."""

    application: str
    application_args: tuple[str, ...]
    name: str
    driver_class_path: str
    conf: Mapping[str, str]


def submission(
    pipeline: PipelineSpec, installation: InstallationSpec, order: FoldRequest
) -> Submission:
    """How the fold of ``order`` is submitted."""
    arguments = (
        f"--pipeline={pipeline.name}",
        f"--attempt={order.attempt}",
        f"--until={order.until}",
        *(f"--table={table}" for table in order.tables),
        f"--reason={order.reason}",
        *([f"--tag={order.tag}"] if order.tag else []),
        f"--result={order.result(installation.state, pipeline.name)}",
        *(["--dry-run"] if order.dry_run else []),
    )
    name = f"cut__{pipeline.name}__{order.attempt}"
    return _submitted(pipeline, installation, CUT_JOB, arguments, name)


def maintenance_submission(
    pipeline: PipelineSpec, installation: InstallationSpec, run: str, tables: Sequence[str]
) -> Submission:
    """How maintenance of ``tables``, of all where there are none, is submitted as ``run``."""
    arguments = (
        f"--pipeline={pipeline.name}",
        *(f"--table={table}" for table in tables),
        f"--result={maintenance_file(installation.state, pipeline.name, run)}",
    )
    name = f"maintain__{pipeline.name}__{run}"
    return _submitted(pipeline, installation, MAINTAIN_JOB, arguments, name)


def _submitted(
    pipeline: PipelineSpec,
    installation: InstallationSpec,
    job: Path,
    arguments: tuple[str, ...],
    name: str,
) -> Submission:
    settings = with_limits({**installation.spark.conf, **pipeline.spark.conf})
    on_s3 = installation.catalog.is_on_s3
    settings |= launch_settings(installation.spark.jars, settings, on_s3=on_s3)
    return Submission(
        application=str(job),
        application_args=arguments,
        name=name,
        driver_class_path=settings.pop(CLASS_PATH),
        conf=launch_arguments(settings),
    )


def attempt_stem(run_id: str, token: str) -> str:
    """What the attempts of a run have in common: readable, and by ``token`` (6 of a-f0-9) its own.

    A run id alone would come again when Airflow's database is lost and a run is recreated.
    >>> attempt_stem("scheduled__2026-01-01T00:10:00+00:00", "3f9a1c")
    'scheduled_20260101t001000_3f9a1c'
    """
    slug = re.sub(r"[^a-z0-9]+", "_", re.sub(r"[-:]", "", run_id).lower()).strip("_")
    return f"{slug[:25].rstrip('_')}_{token}"


def attempt_of(stem: str, try_number: int) -> AttemptId:
    """The attempt of one try of the fold; clearing the task counts the tries on.

    >>> attempt_of("scheduled_20260101t001000_3f9a1c", 2)
    'scheduled_20260101t001000_3f9a1c_2'
    """
    return AttemptId(f"{stem}_{try_number}")


def cap_of(
    pipeline: PipelineSpec, asked: str | None, run_type: str, interval_end: datetime | None
) -> Until | None:
    """What caps the cut of a run: what was asked for, else the end of its interval.

    A run that a person starts has no interval of its own: without a wish it goes as far as it can.
    Raises what `until_of` refuses.
    """
    if not asked and interval_end is not None and run_type in {"scheduled", BACKFILL}:
        return Until.at_time(interval_end)
    return until_of(pipeline, asked)


def tag_of(params: Mapping[str, Any], run_type: str, interval_end: datetime | None) -> str:
    """The tag of a run that fills an interval, of all tables and to its end; else empty."""
    is_other = params["until"] or params["tables"] or params["dry_run"]
    if run_type != BACKFILL or interval_end is None or is_other:
        return ""
    return interval_tag(interval_end)


def tables_named(names: Sequence[str] | None) -> list[str]:
    """The tables that a form names; `ActionRefusedError` where one is no ``database.table``."""
    return [str(_table(name)) for name in names or ()]


def _table(name: str) -> TableName:
    try:
        return TableName.parse(name)
    except NameRefusedError as error:
        raise ActionRefusedError(
            f"{name!r} is no DATABASE.TABLE",
            state=UNCHANGED,
            next_step="trigger again with names such as shop.orders, or with none for all tables",
        ) from error
