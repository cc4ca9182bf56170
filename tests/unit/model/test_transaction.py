"""Records of the transaction topic."""

from __future__ import annotations

import json

from tidemark.model.names import TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.transaction import boundary_of

AT = TopicPartition(TopicName("t"), 0)


def test_an_end_counts_no_logical_messages() -> None:
    """MSG-30: Debezium counts them under the name of a class, which is no table."""
    name = "io.debezium.connector.postgresql.LogicalDecodingMessageMonitor"
    counts = {"app.items": 2, f"{name}$LogicalDecodingMessageId@5a478251": 1}
    listed = [{"data_collection": of, "event_count": count} for of, count in counts.items()]
    end = {"status": "END", "id": "826:26612216", "event_count": 3, "data_collections": listed}
    boundary = boundary_of(AT, 7, json.dumps(end))
    assert boundary.counts == {"app.items": 2}
    alone = boundary_of(AT, 8, json.dumps({**end, "data_collections": listed[1:]}))
    assert alone.is_empty
