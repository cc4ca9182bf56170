"""`make demo`: two recorded sources through Kafka, Spark, Iceberg and Airflow, told step by step.

Nothing here goes around the product: records enter by the broker, cuts are made by DAG runs, and
the rows that are compared at the end are those that any reader of the tables sees.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from pyiceberg.catalog import Catalog

from embedded.airflow import Airflow, RunReport, prepare_airflow, run_dag
from embedded.broker import running_broker
from embedded.compare import Comparison, compare, read_rows
from embedded.home import JARS, STATE, embedded_environment
from embedded.sample import (
    SourceTable,
    Stage,
    Stream,
    create_topics,
    inventory_stream,
    send,
    shop_stream,
)
from embedded.story import Story
from tidemark.errors import ServiceError, TidemarkError
from tidemark.lake.catalog import open_catalog
from tidemark.lake.results import read_result
from tidemark.log import configure
from tidemark.model.result import CutResult
from tidemark.scheduling.xcom import PLAN
from tidemark.spec import load_installation

HOME = STATE / "demo"


@dataclass(frozen=True, slots=True)
class Step:
    """Send a stream up to a stage, then run its DAG once; tells: what happened at the source."""

    pipeline: str
    stage: str
    tells: str


STEPS = (
    Step("inventory", "snapshot", "Debezium has read a MySQL database and sent every row once"),
    Step("inventory", "flink-dml", "rows are changed, added and deleted at the source"),
    Step(
        "shop", "no-watermark-on-partition-2", "TiCDC fills a shop; one partition is still silent"
    ),
    Step("shop", "first-load", "all three partitions have spoken"),
    Step("shop", "key-changes", "updates and deletes; keys change, two rows swap theirs"),
    Step("shop", "truncate-above-the-cut", "TRUNCATE of orders has arrived, above the watermark"),
    Step("shop", "truncated-and-half-refilled", "the watermark passes TRUNCATE and new orders"),
    Step("shop", "end", "customers get a new column; the last changes"),
)


@dataclass(frozen=True, slots=True)
class Demo:
    """What runs for the length of the demo."""

    servers: str
    airflow: Airflow
    catalog: Catalog
    story: Story


def main() -> int:
    """Run the demo; 0 when every published row is the source's."""
    configure(level=logging.WARNING)
    streams = {stream.pipeline: stream for stream in (inventory_stream(), shop_stream())}
    began = time.monotonic()
    with _alone(), _running_demo() as demo:
        sent = dict.fromkeys(streams, 0)
        comparisons: dict[str, list[Comparison]] = {}
        for number, step in enumerate(STEPS, start=1):
            stream = streams[step.pipeline]
            stage = stream.stage(step.stage)
            demo.story.step(number, len(STEPS), step.pipeline, step.tells)
            comparisons[step.pipeline] = _take(demo, stream, stage, sent[step.pipeline])
            sent[step.pipeline] = stage.end
        demo.story.end(comparisons, HOME, time.monotonic() - began)
    every = [table for tables in comparisons.values() for table in tables]
    return 0 if all(table.is_equal for table in every) else 1


def _take(demo: Demo, stream: Stream, stage: Stage, start: int) -> list[Comparison]:
    """Send a stage, let Airflow make the cut, and compare what is visible after it."""
    records = stream.records[start : stage.end]
    send(demo.servers, records)
    demo.story.sent(records)
    with demo.story.waiting(f"Airflow runs cut__{stream.pipeline}"):
        report = run_dag(demo.airflow, f"cut__{stream.pipeline}")
    result = _result(stream.pipeline, report)
    demo.story.run(report, result)
    if report.state != "success":
        raise _run_failed(demo.airflow, stream.pipeline, report, result)
    tables = _compare(demo.catalog, stream.pipeline, stage.tables)
    demo.story.visible(tables)
    return tables


def _compare(
    catalog: Catalog, namespace: str, tables: Mapping[str, SourceTable]
) -> list[Comparison]:
    return [
        compare(name, table, read_rows(catalog, namespace, name.partition(".")[2]))
        for name, table in tables.items()
    ]


def _result(pipeline: str, report: RunReport) -> CutResult | None:
    """What the job of the run's last attempt left; None when no job was started."""
    planned = report.left.get(PLAN, {}).get(PLAN)
    if not isinstance(planned, dict):
        return None
    files = sorted((HOME / "results" / pipeline).glob(f"{planned['stem']}_*.json"))
    return read_result(files[-1]) if files else None


@contextmanager
def _running_demo() -> Iterator[Demo]:
    """A fresh installation: broker, topics, Airflow and catalog, all below one folder."""
    story = Story()
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True)
    with story.waiting("a Kafka broker starts, Airflow makes its database"), ExitStack() as stack:
        servers = stack.enter_context(running_broker(HOME, JARS))
        settings = embedded_environment(HOME, servers)
        os.environ.update(settings)
        for stream in (inventory_stream(), shop_stream()):
            create_topics(servers, stream)
        airflow = prepare_airflow(HOME, settings)
        demo = Demo(servers, airflow, open_catalog(load_installation().catalog), story)
        started = stack.pop_all()
    with started:
        story.ready(servers, HOME)
        yield demo


@contextmanager
def _alone() -> Iterator[None]:
    """Hold the demo's folder; the kernel lets go of it when this process ends, however it ends."""
    STATE.mkdir(exist_ok=True)
    with (STATE / "demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ServiceError(
                f"another demo is running on {HOME}",
                state="it runs on undisturbed",
                next_step="wait for its end, or stop it with Ctrl-C where it runs",
            ) from error
        yield


def _run_failed(
    airflow: Airflow, pipeline: str, report: RunReport, result: CutResult | None
) -> ServiceError:
    failed = [task for task, state in report.tasks.items() if state == "failed"]
    why = f": {result.error.splitlines()[0]}" if result and result.error else ""
    return ServiceError(
        f"the run of cut__{pipeline} failed in {', '.join(failed) or 'no task'}{why}",
        state=f"everything is kept in {HOME} until the next make demo",
        next_step=f"read {airflow.log_file(f'test-cut__{pipeline}')}",
    )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TidemarkError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
