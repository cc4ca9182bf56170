"""A record of a schema-change topic that cannot be read may be about any table (POISON-3)."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.errors import StatementUnreadableError
from tidemark.model.event import Kind
from tidemark.model.names import TopicName
from tidemark.model.progress import Progress
from tidemark.model.quarantine import RecordPlace
from tidemark.model.survey import Survey
from tidemark.model.zone import Zone
from tidemark.spec import PipelineSpec


def refuse_unread_statements(
    pipeline: PipelineSpec,
    progress: Progress,
    topics: Collection[TopicName],
    found: Survey,
    events: DataFrame,
) -> None:
    """Raise when the cut holds a record of ``topics``, for schema changes, that nobody can read.

    events: changelog rows with ``zone``, looked at only where ``found`` says that there are some. A
    record that a person takes for one without effect is no reason.
    """
    if not any(group.is_set_aside and group.at.topic in topics for group in found.groups):
        return
    is_unread = (F.col("kind") == Kind.UNREADABLE.value) & (F.col("zone") == Zone.CUT.value)
    rows = events.where(is_unread & F.col("topic").isin(*topics))
    told = {
        RecordPlace(row["topic"], row["partition"], row["offset"]): row["reason"]
        for row in rows.select("topic", "partition", "offset", "reason").collect()
    }
    open_ones = [place for place in told if str(place) not in progress.judged_records]
    if not open_ones:
        return
    first = min(open_ones, key=str)
    raise StatementUnreadableError(
        f"{len(open_ones)} records of schema-change topics of pipeline {pipeline.name} cannot be "
        f"read, among them {first} ({told[first]}): what they did to which table is unknown",
        state="they are landed; nothing behind them is published, and no table is changed",
        next_step="look at the record and at the source; did it leave all rows and columns as they "
        f"were? Then: tidemark skip {pipeline.name} --record {first} --reason WHY; else fold the "
        "tables by a new pipeline from a new snapshot of the source",
    )
