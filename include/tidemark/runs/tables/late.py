"""Late: what came below a published watermark must be there already, or the promise was broken.

A watermark says that everything below it was sent. What comes below it all the same is a repeat,
and the changelog holds the first copy, in this form or another, or the quarantine holds the key of
one that was too large. What has no first copy was missing from published tables:
it is neither dropped nor applied, and its table stops (GATE-5, GATE-W6). Nothing is left of an
erased record that shows its copies, so that these stop the table, too (ERASE-1).
"""

from __future__ import annotations

from pyiceberg.expressions import IsNull
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from tidemark.formats.canal_json.copies import canal_commit, canal_contents
from tidemark.lake.quarantine import read_entries
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.cut import GateMode
from tidemark.model.event import Kind, Reason
from tidemark.model.names import TableName
from tidemark.model.position import EPOCH_DIGITS, LAST, NUMBER_DIGITS, commit_ts_at
from tidemark.model.profile import ProfileEntry
from tidemark.model.progress import Progress
from tidemark.runs.choose import Chosen
from tidemark.runs.run import Run
from tidemark.runs.targets import is_folded

_COMMIT_DIGITS = EPOCH_DIGITS + NUMBER_DIGITS
TABLE = ("source_schema", "source_table")
COMMIT = (*TABLE, "_commit")
PARTIAL = (Reason.HANDLE_KEY_ONLY, Reason.CLAIM_CHECK_MISSING)
EXAMPLE = ("position", "topic", "partition", "offset")


def late_tables(run: Run, chosen: Chosen, progress: Progress) -> dict[TableName, str]:
    """The tables with late changes that nobody has seen before -> what came.

    Costs a read of the changelog from the least commit of what is late to its greatest one, and
    nothing when nothing is.
    """
    profile_entries = [
        profile_entry for profile_entry in chosen.profile.profile_entries if _is_late(profile_entry)
    ]
    if run.pipeline.source.gate is not GateMode.WATERMARK or not profile_entries:
        return {}
    newest = max(profile_entry.highest or "" for profile_entry in profile_entries)
    oldest = min(profile_entry.lowest_place or "" for profile_entry in profile_entries)
    is_about = F.col("position").between(
        oldest[:_COMMIT_DIGITS], f"{newest[:_COMMIT_DIGITS]}{LAST}"
    )
    before = _at_commits(chosen.changelog.published().where(is_about))
    events = chosen.waiting.events
    came = events.where(
        (F.col("status") == CheckpointStatus.DUPLICATE.value)
        & (F.col("landing") > progress.landing)
    )
    first = F.min(F.struct(*EXAMPLE)).alias("first")
    erased = before.where(F.col("kind") == Kind.ERASED.value).select(*COMMIT).distinct()
    is_erased = F.coalesce(F.max("is_erased"), F.lit(False)).alias("is_erased")
    unknown = (
        _at_commits(came)
        .withColumn("content_or_key", _content_or_key())
        .join(_known(before), on=[*COMMIT, "content_or_key"], how="left_anti")
    )
    quarantined = _quarantined(run, chosen)
    if quarantined is not None:
        unknown = unknown.join(quarantined, on=list(quarantined.columns), how="left_anti")
    late = (
        unknown.join(erased.withColumn("is_erased", F.lit(True)), on=list(COMMIT), how="left")
        .groupBy(*TABLE)
        .agg(F.count_distinct(F.struct(*EXAMPLE)).alias("changes"), is_erased, first)
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


def _at_commits(changes: DataFrame) -> DataFrame:
    """The changes by COMMIT, one row for each of their `canal_contents`; an erased one has none."""
    return changes.where(F.col("position").isNotNull()).select(
        *TABLE,
        F.substring("position", 1, _COMMIT_DIGITS).alias("_commit"),
        F.substring("position", EPOCH_DIGITS + 1, NUMBER_DIGITS).alias("_commit_ts"),
        "kind",
        *EXAMPLE,
        F.inline_outer(canal_contents(F.col("value"))),
    )


def _content_or_key() -> Column:
    """What a copy has to tell: of the end of a row its key, of all else everything."""
    whole = F.concat(F.when(F.col("ends"), "end ").otherwise("row "), F.col("content"))
    return F.coalesce(F.when(F.col("ends"), _key()), F.sha2(whole, 256))


def _key() -> Column:
    return F.concat(F.lit("key "), F.col("key"))


def _known(before: DataFrame) -> DataFrame:
    """What changes tell, by COMMIT. One that leaves a row says as much as the end of the former."""
    content_or_key = F.explode(F.array_compact(F.array(_content_or_key(), _key())))
    return before.select(*COMMIT, content_or_key.alias("content_or_key"))


def _quarantined(run: Run, chosen: Chosen) -> DataFrame | None:
    """The keys of changes of which the key alone came, as they were too large (UNAV-9)."""
    entries = read_entries(run.world.catalog, run.system, wanted=IsNull(term="row"))
    places = {entry.place for entry in entries if entry.code in PARTIAL}
    if not places:
        return None
    records = chosen.changelog.published_at(places)
    contents = records.select(
        *TABLE,
        canal_commit(F.col("value")).alias("_commit_ts"),
        F.inline(canal_contents(F.col("value"))),
    )
    return contents.where(F.col("key").isNotNull()).select(*TABLE, "_commit_ts", "key").distinct()


def _sentence(changes: int, first: Row, *, is_erased: bool) -> str:
    commit_ts = commit_ts_at(first["position"])
    again = "; records of that commit were erased: if these are copies, erase their keys again"
    return (
        f"LATE_VIOLATION: {changes} changes came below a watermark that is published, and were "
        f"never sent before; the first is of commitTs {commit_ts}, at offset {first['offset']} "
        f"of partition {first['partition']} of topic {first['topic']}{again if is_erased else ''}"
    )
