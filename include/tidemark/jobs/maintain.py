"""spark-submit entry point of maintenance: do what is due, leave a result as JSON.

spark-submit jobs/maintain.py --pipeline=NAME --result=PATH [--table=DATABASE.TABLE]...
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from structlog.contextvars import bind_contextvars

from tidemark.errors import RetryableError, TidemarkError
from tidemark.jobs.arguments import add_tables, tables_of
from tidemark.lake.results import write_maintenance
from tidemark.log import configure, get_logger
from tidemark.model.maintenance import MaintenanceResult
from tidemark.runs.jvm import stop_session
from tidemark.runs.maintain import maintain
from tidemark.runs.world import open_spark_world
from tidemark.spec import load_installation, pipeline_named

log = get_logger()


def main(arguments: Sequence[str]) -> int:
    """Maintain the tables that ``arguments`` name; 0 when all of it was done."""
    configure()
    asked = _parse(arguments)
    bind_contextvars(pipeline=asked.pipeline)
    try:
        result = _maintain(asked)
    except TidemarkError as error:
        text = f"{type(error).__name__}: {error}"
        result = MaintenanceResult(error=text, retryable=isinstance(error, RetryableError))
        log.error("maintenance_failed", error=text)
    except Exception as error:
        traceback.print_exc()
        text = f"{type(error).__name__}: see the traceback in the log"
        result = MaintenanceResult(error=text, retryable=True)
    write_maintenance(result, asked.result)
    return 1 if result.error else 0


def _maintain(asked: argparse.Namespace) -> MaintenanceResult:
    pipeline, tables = pipeline_named(asked.pipeline), tables_of(asked.tables)
    world = open_spark_world(load_installation(), conf=pipeline.spark.conf)
    try:
        return MaintenanceResult(tuple(maintain(pipeline, world, tables)))
    finally:
        stop_session(world.spark)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="spark-submit jobs/maintain.py")
    parser.add_argument("--pipeline", required=True)
    add_tables(parser)
    parser.add_argument("--result", required=True, type=Path, help="file for the result, as JSON")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
