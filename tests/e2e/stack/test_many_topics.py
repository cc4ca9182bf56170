"""A pattern that names very many topics, most of them silent: what they cost, and what they print.

By hand with TOPICS=1000: as many jobs and lines.
"""

from __future__ import annotations

import os

import pytest
from confluent_kafka import Producer
from confluent_kafka.cimpl import NewTopic

from tests.support.records import debezium_row
from tests.support.stack import Stream
from tidemark.model.names import AttemptId
from tidemark.runs.cut import run_cut
from tidemark.runs.plan import plan_cut
from tidemark.runs.run import CutRequest
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec

TOPICS = int(os.environ.get("TOPICS", "300"))
WITH_ROWS = range(0, TOPICS, TOPICS // 20)
ROWS = 3
JOBS_PER_TABLE = 8
JOBS_PER_CUT = 20


def pipeline(name: str) -> PipelineSpec:
    """Tables without a declared topic of their own: one pattern finds them all."""
    columns = {"id": "int", "name": "text"}
    return PipelineSpec.model_validate(
        {
            "name": name,
            "description": "many topics",
            "owner": "tests",
            "schedule": None,
            "source": {
                "format": "debezium-mysql",
                "gate": "none",
                "topics": {"data": [rf"^{name}\.shop\..*"]},
            },
            "tables": [
                {
                    "source": f"shop.t{number}",
                    "expectations": "none",
                    "key": ["id"],
                    "columns": columns,
                }
                for number in range(TOPICS)
            ],
        }
    )


def create(stream: Stream) -> None:
    topics = [NewTopic(f"{stream.name}.shop.t{number}", 1, 1) for number in range(TOPICS)]
    for made in stream.admin.create_topics(topics).values():
        made.result(timeout=120)


def send(stream: Stream) -> None:
    """A few rows into a few of the topics."""
    producer = Producer({"bootstrap.servers": stream.world.broker.servers})
    for number in WITH_ROWS:
        for row in range(ROWS):
            record = debezium_row("c", row, 10 + row)
            value = (record.value or b"").replace(b'"items"', b'"t%d"' % number)
            producer.produce(f"{stream.name}.shop.t{number}", value, record.key)
    assert producer.flush(30) == 0


def jobs(world: World) -> int:
    """How many jobs the Spark session has run so far."""
    count: int = world.spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs()
    return count


def test_silent_topics_cost_no_jobs_and_no_lines(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """GATE-2: all are planned; what is done is for those that have something to say."""
    stream = Stream(world)
    create(stream)
    send(stream)
    many, records = pipeline(stream.name), ROWS * len(WITH_ROWS)
    assert plan_cut(many, world).sentence == f"{records} offsets are unread"
    before = jobs(world)
    capsys.readouterr()
    result = run_cut(many, world, CutRequest(AttemptId("many")))
    assert (len(result.tables), result.buckets["applied"]) == (len(WITH_ROWS), records)
    assert jobs(world) - before < JOBS_PER_CUT + JOBS_PER_TABLE * len(WITH_ROWS)
    assert len(capsys.readouterr().out.splitlines()) < 3 * len(WITH_ROWS)
    made = {name for _, name in world.catalog.list_tables(stream.name)}
    assert made == {f"t{number}" for number in WITH_ROWS}
