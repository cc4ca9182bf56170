"""A real connector that is asked for a snapshot by Kafka: a stopped table comes back by itself."""

from __future__ import annotations

import itertools
import random
import time
from contextlib import suppress
from typing import Any

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # re-exported bare
    AdminClient,
    NewTopic,
)

from embedded.ports import HOST
from tests.live.mariadb import MariaDb, running_source
from tests.live.recorder import Recorder
from tests.live.worker import Worker
from tests.support.binlog_server import DATABASE
from tidemark.errors import TopicMissingError
from tidemark.model.finding import Grade
from tidemark.model.names import AttemptId
from tidemark.runs.cut import run_cut
from tidemark.runs.doctor.connectors import connect_findings
from tidemark.runs.run import CutRequest
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec
from tidemark.spec.connect import ConnectSpec

NAME = "asked"
SIGNALS = f"{NAME}-signals"
PATIENCE_SECONDS = 180
PIPELINE = PipelineSpec.model_validate(
    {
        "name": NAME,
        "description": "a test",
        "owner": "tests",
        "schedule": None,
        "source": {
            "format": "debezium-mariadb",
            "gate": "none",
            "topics": {"data": [rf"^{NAME}\.{DATABASE}\..*"], "schema-changes": [NAME]},
            "signal-table": f"{DATABASE}.signals",
            "signal-topic": SIGNALS,
            "topic-prefix": NAME,
        },
        "on-stop": "resync",
        "publish": {"consistency": "table"},
        "tables": [
            {"source": f"{DATABASE}.{name}", "expectations": "none"} for name in ("items", "others")
        ],
    }
)


def test_a_connector_reads_a_stopped_table_again(world: World, worker: Worker) -> None:
    """SCHEMA-37: the server may have cut values to make them fit; the others never wait."""
    admin = AdminClient({"bootstrap.servers": worker.servers})
    admin.create_topics([NewTopic(SIGNALS, 1, 1)])[SIGNALS].result(timeout=30)
    channel = {
        "signal.enabled.channels": "source,kafka",
        "signal.kafka.topic": SIGNALS,
        "signal.kafka.bootstrap.servers": worker.servers,
    }
    with running_source(NAME, random.Random(0), worker.servers) as source:  # noqa: S311
        source.run(
            [
                "CREATE TABLE items (id int PRIMARY KEY, w int)",
                "CREATE TABLE others (id int PRIMARY KEY, w int)",
                "CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32), data text)",
                *(f"INSERT INTO items VALUES ({n}, {n})" for n in range(20)),
                "INSERT INTO others VALUES (1, 1)",
            ]
        )
        config = Recorder(source, worker, has_schemas=False).config
        worker.create(source.name, {**config, **channel})
        assert errors_of(worker) == ["bigint.unsigned.handling.mode=precise"]
        cuts = map(AttemptId, map("t{}".format, itertools.count(1)))
        assert not cut_until_equal(world, source, cuts)
        source.run(
            [
                "INSERT INTO items VALUES (100, 7)",
                "ALTER TABLE items MODIFY w varchar(3)",
                "UPDATE items SET w = 9 WHERE id = 3",
                "DELETE FROM items WHERE id = 4",
                "UPDATE others SET w = 2",
            ]
        )
        assert cut_until_equal(world, source, cuts), "the table has stopped meanwhile"
        worker.delete(source.name)


def errors_of(worker: Worker) -> list[str]:
    """What `tidemark doctor` has against the connector, which the file does not say all of."""
    spec = ConnectSpec(f"http://{HOST}:{worker.port}")
    findings = connect_findings([PIPELINE], spec)
    return [finding.what for finding in findings if finding.grade is Grade.ERROR]


def cut_until_equal(world: World, source: MariaDb, cuts: Any) -> bool:
    """Run cuts until the targets are what the source selects; whether one of them stopped a table.

    cuts: names of attempts.
    """
    until, has_stopped = time.monotonic() + PATIENCE_SECONDS, False
    while time.monotonic() < until:
        with suppress(TopicMissingError):  # The connector makes them with their first record.
            result = run_cut(PIPELINE, world, CutRequest(next(cuts)))
            has_stopped = has_stopped or bool(result.stopped)
        if all(published(world, name) == selected(source, name) for name in ("items", "others")):
            return has_stopped
        time.sleep(1)
    raise AssertionError(f"items: {published(world, 'items')}, not {selected(source, 'items')}")


def selected(source: MariaDb, table: str) -> list[dict[str, Any]]:
    """The rows at the source."""
    return sorted(source.rows(table), key=lambda row: row["id"])


def published(world: World, target: str) -> list[dict[str, Any]]:
    """The rows of a target; none when there is no such table."""
    if not world.catalog.table_exists((NAME, target)):
        return []
    rows = world.catalog.load_table((NAME, target)).scan().to_arrow().to_pylist()
    plain = (
        {name: value for name, value in row.items() if not name.startswith("_tidemark_")}
        for row in rows
    )
    return sorted(plain, key=lambda row: row["id"])
