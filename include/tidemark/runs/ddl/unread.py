"""A record of a schema-change topic that cannot be read may be about any table (POISON-3)."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.errors import StatementUnreadableError
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.event import Kind
from tidemark.model.names import TopicName
from tidemark.model.profile import BatchProfile
from tidemark.model.progress import Progress
from tidemark.model.quarantine import RecordPlace
from tidemark.spec import PipelineSpec


def refuse_unread_statements(
    pipeline: PipelineSpec,
    progress: Progress,
    topics: Collection[TopicName],
    profile: BatchProfile,
    events: DataFrame,
) -> None:
    """Raise when the cut holds a record of ``topics``, for schema changes, that nobody can read.

    events: changelog rows with ``status``, looked at only where ``profile`` says that there are
    some. A record that a person takes for one without effect is no reason.
    """
    if not any(
        profile_entry.is_quarantined and profile_entry.at.topic in topics
        for profile_entry in profile.profile_entries
    ):
        return
    is_unread = (F.col("kind") == Kind.UNREADABLE.value) & (
        F.col("status") == CheckpointStatus.PENDING.value
    )
    rows = events.where(is_unread & F.col("topic").isin(*topics))
    reasons = {
        RecordPlace(row["topic"], row["partition"], row["offset"]): row["reason"]
        for row in rows.select("topic", "partition", "offset", "reason").collect()
    }
    open_places = [place for place in reasons if str(place) not in progress.acknowledged_records]
    if not open_places:
        return
    first = min(open_places, key=str)
    raise StatementUnreadableError(
        f"{len(open_places)} records of schema-change topics of pipeline {pipeline.name} cannot be "
        f"read, among them {first} ({reasons[first]}): what they did to which table is unknown",
        state="they are landed; nothing behind them is published, and no table is changed",
        next_step="look at the record and at the source; if it left all rows and columns as they "
        f"were, run tidemark skip {pipeline.name} --record {first} --reason WHY; else fold the "
        "tables by a new pipeline from a new snapshot of the source",
    )
