"""Signals to a Debezium connector, by its Kafka topic for them."""

from __future__ import annotations

import json

from tidemark.model.names import TableName
from tidemark.spec import SourceSpec
from tidemark.topics.client import Broker


def signal_data(table: TableName) -> str:
    """What the signal for a snapshot has to say; names are regular expressions to the connector."""
    escaped = str(table).replace(".", "\\.")
    return json.dumps({"data-collections": [escaped], "type": "incremental"})


def send_snapshot_signal(broker: Broker, source: SourceSpec, table: TableName) -> None:
    """Have the connector take an incremental snapshot of ``table``; a file names its topic.

    `BrokerUnreachableError` where the broker does not confirm it.
    """
    if source.signal_topic is None or source.topic_prefix is None:
        raise RuntimeError("the pipeline file names no topic for signals")
    value = {"type": "execute-snapshot", "data": json.loads(signal_data(table))}
    broker.send(source.signal_topic, source.topic_prefix.encode(), json.dumps(value).encode())
