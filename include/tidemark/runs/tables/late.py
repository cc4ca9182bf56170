"""Late: what came below a published watermark must be there already, or the promise was broken.

A watermark says that everything below it was sent. What comes below it all the same is a repeat,
and the changelog holds the first copy. What has no first copy was missing from published tables:
it is neither dropped nor applied, and its table stops (GATE-5, GATE-W6). Nothing is left of an
erased record that shows its copies, so that these stop the table, too (ERASE-1).
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.cut import GateMode
from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.position import COMMIT_DIGITS, commit_ts_at
from tidemark.model.profile import ProfileEntry
from tidemark.model.progress import Progress
from tidemark.runs.choose import Chosen
from tidemark.runs.run import Run
from tidemark.runs.targets import is_folded

COMMIT = ("source_schema", "source_table", "_commit")
EVENT = (*COMMIT, "_content")
EXAMPLE = ("position", "topic", "partition", "offset")


def late_tables(run: Run, chosen: Chosen, progress: Progress) -> dict[TableName, str]:
    """The tables with late changes that nobody has seen before -> what came.

    Costs a read of the changelog from the least commit of what is late to its greatest position,
    and nothing when nothing is.
    """
    profile_entries = [
        profile_entry for profile_entry in chosen.profile.profile_entries if _is_late(profile_entry)
    ]
    if run.pipeline.source.gate is not GateMode.WATERMARK or not profile_entries:
        return {}
    newest = max(profile_entry.highest or "" for profile_entry in profile_entries)
    oldest = min(profile_entry.lowest_place or "" for profile_entry in profile_entries)
    is_about = F.col("position").between(oldest[:COMMIT_DIGITS], newest)
    before = chosen.changelog.published().where(is_about)
    zoned = reduce(DataFrame.unionByName, chosen.zoned.values())
    came = zoned.where(
        (F.col("status") == CheckpointStatus.DUPLICATE.value)
        & (F.col("landing") > progress.landing)
    )
    first = F.min(F.struct(*EXAMPLE)).alias("first")
    known = _events(before)
    erased = known.where(F.col("kind") == Kind.ERASED.value).select(*COMMIT).distinct()
    is_erased = F.coalesce(F.max("is_erased"), F.lit(False)).alias("is_erased")
    late = (
        _events(came)
        .join(known.select(*EVENT), on=list(EVENT), how="left_anti")
        .join(erased.withColumn("is_erased", F.lit(True)), on=list(COMMIT), how="left")
        .groupBy("source_schema", "source_table")
        .agg(F.count(F.lit(1)).alias("changes"), is_erased, first)
    )
    return {
        TableName(row["source_schema"], row["source_table"]): _sentence(
            row["changes"], row["first"], is_erased=row["is_erased"]
        )
        for row in late.collect()
        if is_folded(run.pipeline, (row["source_schema"], row["source_table"]))
    }


def _is_late(profile_entry: ProfileEntry) -> bool:
    return (
        profile_entry.status is CheckpointStatus.DUPLICATE
        and profile_entry.is_new
        and profile_entry.table is not None
    )


def _events(changes: DataFrame) -> DataFrame:
    """What copies of one event share: table, commit, and the row or statement as it is written."""
    text = F.col("value").cast("string")
    content = F.coalesce(F.get_json_object(text, "$.data"), F.get_json_object(text, "$.sql"))
    return changes.where(F.col("position").isNotNull()).select(
        "source_schema",
        "source_table",
        F.substring("position", 1, COMMIT_DIGITS).alias("_commit"),
        content.alias("_content"),
        "kind",
        *EXAMPLE,
    )


def _sentence(changes: int, first: Row, *, is_erased: bool) -> str:
    commit_ts = commit_ts_at(first["position"])
    again = "; records of that commit were erased: if these are copies, erase their keys again"
    return (
        f"LATE_VIOLATION: {changes} changes came below a watermark that is published, and were "
        f"never sent before; the first is of commitTs {commit_ts}, at offset {first['offset']} "
        f"of partition {first['partition']} of topic {first['topic']}{again if is_erased else ''}"
    )
