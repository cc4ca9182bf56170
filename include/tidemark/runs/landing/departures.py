"""Statements after which a table is not in its topic any more (GATE-W7)."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.formats.decoder import decoder_of
from tidemark.gate.retired_topics import Departure
from tidemark.model.event import Kind
from tidemark.model.names import TopicName
from tidemark.model.position import commit_ts_at
from tidemark.schema.ddl import parse_ddl
from tidemark.schema.ddl_operations import DropDatabase, DropTable, RenameTable
from tidemark.spec import PipelineSpec


def departures(pipeline: PipelineSpec, events: DataFrame) -> tuple[Departure, ...]:
    """Those of TiCDC among ``events``, changelog rows that may be held."""
    text = decoder_of(pipeline.source, {}).text
    rows = (
        events.where(F.col("kind") == Kind.DDL.value)
        .select("topic", "position", "source_schema", text.alias("text"))
        .collect()
    )
    left: list[Departure] = []
    for row in rows:
        topic, commit_ts = TopicName(row["topic"]), commit_ts_at(row["position"])
        statement = str(json.loads(row["text"]).get("sql") or "")
        left += _departures(statement, row["source_schema"] or "", topic, commit_ts)
    return tuple(left)


def _departures(
    statement: str, schema: str, topic: TopicName, commit_ts: int
) -> Iterator[Departure]:
    """TiCDC writes the statement to the topic of its table, by the name that it had."""
    for operation in parse_ddl(statement, schema):
        if isinstance(operation, (DropTable, RenameTable)):
            yield Departure(topic, commit_ts)
        elif isinstance(operation, DropDatabase):
            yield Departure(None, commit_ts)
