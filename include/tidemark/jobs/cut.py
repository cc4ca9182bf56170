"""spark-submit entry point of a cut: stage it on branches, leave its result as JSON, exit with it.

spark-submit jobs/cut.py --pipeline=NAME --attempt=ID --result=PATH
    [--until=TIME|POSITION] [--table=DATABASE.TABLE]... [--reason=TEXT] [--tag=NAME] [--dry-run]
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from structlog.contextvars import bind_contextvars

from tidemark.errors import TidemarkError
from tidemark.jobs.arguments import add_tables, tables_of
from tidemark.lake.results import write_result
from tidemark.log import configure, get_logger
from tidemark.model.names import AttemptId, tag_name
from tidemark.model.result import CutResult, CutStatus
from tidemark.runs.jvm import stop_session
from tidemark.runs.session import start_session
from tidemark.spec import load_installation, pipeline_named
from tidemark.spec.until import until_of

DRY_RUN = "this was a dry run; the log of fold says what the cut would hold"

log = get_logger()


def main(arguments: Sequence[str]) -> int:
    """Stage the cut that ``arguments`` ask for; the exit code of its result."""
    configure()
    asked = _parse(arguments)
    bind_contextvars(pipeline=asked.pipeline, attempt=asked.attempt)
    try:
        result = _stage(asked)
    except TidemarkError as error:
        result = CutResult.failed(asked.attempt, error)
        log.error("cut_failed", error=result.error)
    except Exception as error:
        traceback.print_exc()
        result = _unforeseen(asked.attempt, error)
    write_result(result, asked.result)
    return result.exit_code


def _stage(asked: argparse.Namespace) -> CutResult:
    pipeline = pipeline_named(asked.pipeline)
    until, tables = until_of(pipeline, asked.until), tables_of(asked.tables)
    installation = load_installation()
    with ThreadPoolExecutor() as threads:
        starting = threads.submit(start_session, installation, pipeline.spark.conf)
        # What a cut needs is loaded while Spark starts, and what its audit needs while Spark works.
        from tidemark.runs.cut import stage_cut
        from tidemark.runs.run import CutRequest
        from tidemark.runs.world import open_world

        if any(table.suite for table in pipeline.tables):
            from tidemark.quality.audit import load_great_expectations

            threads.submit(load_great_expectations)
        session = starting.result()
        log.info("spark_started")
        try:
            world = replace(open_world(installation), session=session)
            if asked.dry_run:
                from tidemark.cli.console import stdout
                from tidemark.cli.plan import show_preview
                from tidemark.runs.preview import preview_cut

                show_preview(stdout(), preview_cut(pipeline, world, until=until, tables=tables))
                return CutResult(CutStatus.IDLE, asked.attempt, hold=DRY_RUN)
            tag = tag_name(asked.tag) if asked.tag else None
            request = CutRequest(asked.attempt, until, tables, asked.reason, tag)
            return stage_cut(pipeline, world, request)
        finally:
            stop_session(session)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="spark-submit jobs/cut.py")
    parser.add_argument("--pipeline", required=True)
    parser.add_argument("--attempt", required=True, type=AttemptId, help="named by nobody before")
    parser.add_argument("--until", default="", help="where the cut is capped")
    add_tables(parser)
    parser.add_argument("--reason", default="", help="kept in the ledger")
    parser.add_argument("--tag", default="", help="of all targets, if they stand at --until")
    parser.add_argument("--dry-run", action="store_true", help="only say what it would hold")
    parser.add_argument("--result", required=True, type=Path, help="file for the result, as JSON")
    return parser.parse_args(arguments)


def _unforeseen(attempt: AttemptId, error: Exception) -> CutResult:
    """The words of an error that nobody foresaw may hold anything: they stay in the log."""
    return CutResult(
        CutStatus.FAILED,
        attempt,
        error=f"{type(error).__name__}: see the traceback in the log",
        retryable=True,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
