"""`tidemark doctor` on the topics of a real broker."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.support.records import ticdc_row
from tidemark.model.finding import Finding, Grade
from tidemark.model.names import TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.progress import LandingMark
from tidemark.runs.doctor.topics import DAY_MS, topic_findings
from tidemark.spec import KafkaSpec, PipelineSpec
from tidemark.topics.client import Broker

HOUR_MS = DAY_MS // 24
KEPT = {"retention.ms": str(7 * DAY_MS)}


def pipeline(topic: str, **source: Any) -> PipelineSpec:
    return PipelineSpec.model_validate(
        {
            "name": "examined",
            "description": "a test",
            "owner": "tests",
            "schedule": "0 * * * *",
            "source": {
                "format": "ticdc-canal-json",
                "gate": "watermark",
                "topics": {"data": [topic]},
                **source,
            },
            "other-tables": "follow",
        }
    )


def topic(broker: str, name: str, config: Mapping[str, str], *ages_ms: int) -> None:
    """Make it, with a record of each of ``ages_ms``."""
    admin = AdminClient({"bootstrap.servers": broker})
    for made in admin.create_topics([NewTopic(name, 1, 1, config=dict(config))]).values():
        made.result(timeout=30)
    producer = Producer({"bootstrap.servers": broker})
    for number, age_ms in enumerate(ages_ms):
        value = ticdc_row("INSERT", number, 100 + number).value
        producer.produce(name, value, timestamp=int(time.time() * 1000) - age_ms)
    assert producer.flush(30) == 0


def worse(broker: str, spec: PipelineSpec, mark: LandingMark | None = None) -> list[Finding]:
    client = Broker(KafkaSpec(bootstrap_servers=broker))
    findings = topic_findings(spec, client, mark or LandingMark(), int(time.time() * 1000))
    return [finding for finding in findings if finding.grade is not Grade.GOOD]


def test_a_topic_that_is_as_it_should_be(broker: str) -> None:
    topic(broker, "good", KEPT, HOUR_MS)
    topic(broker, "good-signals", KEPT)
    signals = {"topic-prefix": "a", "signal-topic": "good-signals"}
    spec = pipeline("good", **{"format": "debezium-mysql", "gate": "none", **signals})
    assert worse(broker, spec) == []


@pytest.mark.parametrize(
    ("name", "config", "age_ms", "expected"),
    [
        ("short", {"retention.ms": "7200000"}, 0, "retention.ms=7200000, 2.0 hours"),
        ("small", {**KEPT, "retention.bytes": "1000000"}, 0, "retention.bytes=1000000"),
        ("ahead", KEPT, -HOUR_MS, "the newest record is of"),
        ("compacted", {"cleanup.policy": "compact"}, 0, "PreflightError: topic compacted is"),
    ],
)
def test_what_a_topic_lets_go_or_tells_wrong(
    broker: str, name: str, config: Mapping[str, str], age_ms: int, expected: str
) -> None:
    """TOP-2, KEY-13"""
    if name == "compacted":
        topic(broker, name, config)
    else:
        topic(broker, name, config, age_ms)
    (finding,) = worse(broker, pipeline(name))
    assert finding.what.startswith(expected)
    assert finding.cost
    assert finding.fix


def test_unread_records_that_retention_is_about_to_delete(broker: str) -> None:
    """TOP-2: what is landed already may go."""
    topic(broker, "late", KEPT, 7 * DAY_MS - 2 * HOUR_MS, HOUR_MS)
    (finding,) = worse(broker, pipeline("late"))
    assert (finding.grade, finding.about) == (Grade.ERROR, "topic late")
    assert finding.what.startswith("the oldest unread record is of ")
    landed = LandingMark(offsets={TopicPartition(TopicName("late"), 0): 1})
    assert worse(broker, pipeline("late"), landed) == []


def test_topics_that_are_not_there(broker: str) -> None:
    (missing,) = worse(broker, pipeline("absent"))
    assert missing.what.startswith("TopicMissingError: topic absent is not on the broker")
    (unmatched,) = worse(broker, pipeline("^absent[.].*"))
    assert unmatched.grade is Grade.WARNING
    signals = {"format": "debezium-mysql", "gate": "none", "topic-prefix": "a"}
    topic(broker, "rows", KEPT)
    (unsent,) = worse(broker, pipeline("rows", **signals, **{"signal-topic": "unmade"}))
    assert unsent.what.startswith("TopicMissingError: topic unmade")
