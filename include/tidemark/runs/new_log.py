"""A source whose log started over: the run goes on in the new one, or stops and asks (POS-16)."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.errors import EpochSuspectError
from tidemark.fold.falls import MILLIS, STREAMED, falls
from tidemark.formats.decoder import encoding_of
from tidemark.gate.epoch import LandedChange, NewLog, missing_between, new_log
from tidemark.log import get_logger
from tidemark.model.event import Kind
from tidemark.model.names import TableName, TopicName
from tidemark.model.offsets import Offsets, TopicPartition
from tidemark.model.position import OrderedBy, Place
from tidemark.model.progress import Progress
from tidemark.model.summary import PLACE
from tidemark.model.target_mode import TargetMode
from tidemark.runs.changelog import Changelog
from tidemark.runs.landing.land import Landed
from tidemark.runs.run import Run
from tidemark.runs.targets import is_folded, spec_of
from tidemark.spec import SourceFormat, TableSpec

log = get_logger()

BINLOGS = (SourceFormat.DEBEZIUM_MYSQL, SourceFormat.DEBEZIUM_MARIADB)
HOUR_MS = 3_600_000
SECOND_MS = 1_000
TABLE = ("source_schema", "source_table")
BEGINS = "MAP<STRING, BIGINT>"


def in_newest_log(run: Run, changelog: Changelog, landed: Landed) -> Run:
    """``run``, in the log that its newest records are of.

    It is another one than before where positions fall and GTIDs show that nothing is missing
    between the two; the cut says so with what it publishes. Raises `EpochSuspectError` where they
    show something else, or nothing.
    """
    progress, is_canal = run.progress, run.pipeline.source.format.is_canal
    if is_canal or landed.mark.ordered_by is not OrderedBy.POSITION:
        return run  # A commitTs is a time itself, and an offset is of its partition alone.
    end = progress.log_end
    if _rises(progress, landed) or not falls(changelog.waiting(), end, progress.landing):
        return run
    next_log = new_log(_changes(changelog, progress), end)
    if next_log is None:
        return run
    starts = {at: next_log.starts.get(at, end) for at, end in landed.mark.offsets.items()}
    warning = _warning(run, changelog, landed, next_log, starts)
    if warning:
        raise EpochSuspectError(
            f"changes of pipeline {run.pipeline.name} are newer than all that came before them, "
            f"and stand at lower positions, the first one at offset {next_log.fell_at.offset} of "
            f"{next_log.fell_at.at}: the source's log has started over, and {warning}",
            state="they are landed; nothing of them is published, and no table is changed",
            next_step="find out what happened to the source; if its log started over, say so: "
            f"tidemark handover {run.pipeline.name} --help",
        )
    log.warning(
        "log_started_over",
        pipeline=run.pipeline.name,
        first=f"{next_log.fell_at.at}:{next_log.fell_at.offset}",
        because="GTIDs show that the new log goes on behind the old one",
    )
    ledger = replace(run.heads.ledger, progress=run.heads.ledger.progress.in_new_log(starts))
    return replace(run, heads=replace(run.heads, ledger=ledger))


def _rises(progress: Progress, landed: Landed) -> bool:
    """Whether the landing is all that waits, and looked at its changes while it read them."""
    is_alone = landed.mark.number == progress.landing + 1 == progress.oldest_held
    return landed.rises and is_alone and not (progress.epochs or progress.behind)


def _changes(changelog: Changelog, progress: Progress) -> list[LandedChange]:
    """What waits, and of earlier landings what may be sent again in the second of the newest."""
    rows = _since(changelog, progress, progress.newest_ms - SECOND_MS)
    changes = rows.select(
        *("topic", "partition", "offset", F.expr(MILLIS).alias("millis")),
        F.when(F.expr(STREAMED), F.expr(PLACE)).alias("place"),
        (F.col("landing") <= progress.landing).alias("is_gated"),
    )
    return [
        LandedChange(
            TopicPartition(TopicName(row["topic"]), row["partition"]),
            row["offset"],
            Place(row["place"] or ""),
            row["millis"],
            row["is_gated"],
        )
        for row in changes.toArrow().to_pylist()
    ]


def _since(changelog: Changelog, progress: Progress, time_ms: int) -> DataFrame:
    """What no cut has seen yet; and of the rest what is not older than ``time_ms``, source time."""
    is_new = F.col("landing") > progress.landing
    new = changelog.waiting().where(is_new & F.col("commit_time").isNotNull())
    if not progress.landing:
        return new
    since = F.lit(datetime.fromtimestamp(time_ms / SECOND_MS, UTC))
    return new.unionByName(changelog.landed().where(~is_new & (F.col("commit_time") >= since)))


def _warning(
    run: Run, changelog: Changelog, landed: Landed, next_log: NewLog, starts: Offsets
) -> str:
    """Why the new log may lack changes behind the old one; empty where it is shown to hold all."""
    if run.pipeline.source.format not in BINLOGS:
        return "nothing in its records shows whether it holds everything behind the old one"
    if not next_log.is_behind:
        return "its first changes are not newer than the last ones of the old log"
    old, new = set(), set()
    for row in _transactions(run, changelog, landed).toArrow().to_pylist():
        begins_at = starts.get(TopicPartition(TopicName(row["topic"]), row["partition"]), 0)
        if row["first"] < begins_at:
            old.add(row["id"])
        if row["last"] >= begins_at:
            new.add(row["id"])
    missing = missing_between(old, new)
    return missing or _counted_twice(run, changelog, landed, starts, old & new)


def _counted_twice(
    run: Run, changelog: Changelog, landed: Landed, starts: Offsets, shared: Collection[str | None]
) -> str:
    """Which changes of transactions of both logs would count twice; empty where none does.

    They stand at other places in the new log, so that their content alone shows them (POS-14). By
    its key a mirror takes one twice without harm. shared: ids of the transactions.
    """
    if not shared:
        return ""
    encoding = encoding_of(run.pipeline.source, landed.schemas)
    images = "op STRING, before STRING, after STRING, source STRUCT<gtid STRING>"
    begins = F.from_json(F.lit(json.dumps({str(at): n for at, n in starts.items()})), BEGINS)
    begins_at = F.try_element_at(begins, F.concat_ws("-", "topic", "partition"))
    rows = _since(changelog, run.progress, run.progress.newest_ms - HOUR_MS)
    rows = rows.where(f"{STREAMED} AND kind = '{Kind.ROW}'").select(
        *TABLE,
        F.col("key").isNull().alias("is_without_key"),
        (F.col("offset") >= F.coalesce(begins_at, F.lit(0))).alias("is_new"),
        encoding.value(images).alias("change"),
    )
    of_both = (
        rows.where(F.col("change.source.gtid").isin(*shared))
        .groupBy(*TABLE, "change.source.gtid", "change")
        .agg(F.bool_or("is_without_key").alias("is_without_key"), F.min("is_new"), F.max("is_new"))
        .where("min(is_new) <> max(is_new)")
        .groupBy(*TABLE, "gtid")
        .agg(F.bool_or("is_without_key").alias("is_without_key"))
    )
    named = {rename.old: rename.new for rename in run.pipeline.renames}
    twice = []
    for row in of_both.orderBy("gtid", *TABLE).toArrow().to_pylist():
        name = TableName(row["source_schema"], row["source_table"])
        table = named.get(name, name)
        is_followed = is_folded(run.pipeline, (table.schema, table.table))
        if is_followed and _may_double(spec_of(run.pipeline, table), row["is_without_key"]):
            twice.append(f"{row['gtid']} in {name}")
    if not twice:
        return ""
    return f"it has changes of {', '.join(twice)} that the old log had, which would count twice"


def _may_double(spec: TableSpec, is_without_key: bool) -> bool:
    """Whether a change counts twice in the table where it stands at two places of the log."""
    keeps_changes = spec.mode in (TargetMode.HISTORY, TargetMode.APPEND)
    return keeps_changes or (is_without_key and not spec.key)


def _transactions(run: Run, changelog: Changelog, landed: Landed) -> DataFrame:
    """The transactions of the last hour before the newest that is published, and of all since.

    Out: ``id``, null where a change has none, ``topic``, ``partition``, offsets ``first`` and
    ``last``.
    """
    encoding = encoding_of(run.pipeline.source, landed.schemas)
    gtid = encoding.value("source STRUCT<gtid STRING>")["source"]["gtid"]
    is_boundary = F.col("kind").isin(Kind.BEGIN, Kind.END)
    rows = _since(changelog, run.progress, run.progress.newest_ms - HOUR_MS)
    offsets = (F.min("offset").alias("first"), F.max("offset").alias("last"))
    transaction_id = F.when(is_boundary, F.col("transaction_id")).otherwise(gtid)
    rows = rows.where(F.expr(STREAMED) | is_boundary)
    return rows.groupBy(transaction_id.alias("id"), "topic", "partition").agg(*offsets)
