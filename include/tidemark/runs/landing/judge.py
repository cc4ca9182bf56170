"""What the records of a landing count as, and why they must not be landed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.errors import NOT_LANDED, PreflightError, UnreadableRecordsError
from tidemark.formats.avro.framing import SETTING, Framing
from tidemark.model.cut import GateMode
from tidemark.model.event import Kind, Reason
from tidemark.runs.landing.compacted import compaction_counts, misnamed_topic
from tidemark.runs.landing.ordering import (
    ordering_counts,
)
from tidemark.runs.landing.unread import Reading
from tidemark.runs.landing.writer_schemas import FRAMED, FRAMING, schema_counts
from tidemark.spec import PipelineSpec

HISTORY = "history_topic"
COUNTED = ("records", "unreadable", "unplaced", "mismatched", "understood", "changes")
LEAST = ("lowest_uncommitted",)


def landing_counts(pipeline: PipelineSpec, reading: Reading) -> tuple[Column, ...]:
    """Aggregates over the records of a landing, by which it is refused or decoded once more."""
    # `count_if` would put its condition beside each record first, and then write records once more
    # to drop it: a fourteenth of a landing.
    unreadable = F.col("kind") == Kind.UNREADABLE.value
    unplaced = F.col("reason") == Reason.POSITION_MISSING.value
    return (
        F.count(F.lit(1)).alias("records"),
        F.count(F.when(unreadable, 1)).alias("unreadable"),
        F.count(F.when(unplaced, 1)).alias("unplaced"),
        F.count(F.when(F.col("reason") == Reason.FORMAT_MISMATCH.value, 1)).alias("mismatched"),
        F.max(F.when(F.col("reason") == Reason.SCHEMA_HISTORY.value, F.col("topic"))).alias(
            HISTORY
        ),
        F.count(F.when(F.col("kind").isin(*understood_kinds(pipeline)), 1)).alias("understood"),
        F.max("reason").alias("reason"),
        *ordering_counts(pipeline, reading.ordering, reading.schemas),
        *schema_counts(pipeline),
        *compaction_counts(pipeline),
    )


def merged_counts(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What records count as, of which each of ``parts`` has counted some, as `landing_counts`.

    What a part does not count, it has none of.
    """
    merged: dict[str, Any] = dict.fromkeys(COUNTED, 0) | dict.fromkeys((HISTORY, "reason"))
    for part in parts:
        for name, value in part.items():
            before = merged.get(name)
            if value is None or before is None:
                merged[name] = before if value is None else value
            elif isinstance(value, int):
                merged[name] = before + value
            else:
                merged[name] = min(before, value) if name in LEAST else max(before, value)
    return merged


def landing_refusal(
    pipeline: PipelineSpec, counts: Mapping[str, Any]
) -> PreflightError | UnreadableRecordsError | None:
    """Why records with these ``counts`` must not be landed; None when they may."""
    is_gated = pipeline.source.gate is GateMode.WATERMARK
    if is_gated and counts["unplaced"] and not counts["understood"]:
        return PreflightError(
            f"{counts['unplaced']} of {counts['records']} records of pipeline {pipeline.name} have "
            "no _tidb.commitTs, so no watermark can gate them (MSG-50), and none of the others is "
            "placed",
            state=NOT_LANDED,
            next_step="set enable-tidb-extension=true on the changefeed and start it again, or "
            "set gate: none for a topic with one partition",
        )
    if counts[HISTORY] is not None:
        return PreflightError(
            f"topic {counts[HISTORY]} of pipeline {pipeline.name} holds a connector's own history "
            "of schemas, which nobody else is to read (MSG-8)",
            state=NOT_LANDED,
            next_step="leave it out of source.topics; list the topic that is called like the "
            "connector's topic.prefix as schema-changes",
        )
    is_meant = "max_unreadable" in pipeline.limits.model_fields_set
    # One alone has strayed into the topic, here and where it is framed otherwise.
    if counts["mismatched"] > 1 and not counts["understood"] and not is_meant:
        return _other_form(pipeline, counts)
    framing = counts.get(FRAMING)
    is_framed = framing is not None and counts[FRAMED] > 1 and not counts["understood"]
    if is_framed and not is_meant:
        return _other_framing(pipeline, counts, Framing(str(framing)))
    if counts["unreadable"] > pipeline.limits.max_unreadable:
        look = "look whether source.format fits the topics"
        if is_gated and counts["unplaced"]:
            look = "set enable-tidb-extension=true on the changefeed if it is not set"
        if framing is not None:
            look = f"where records have {framing}, {SETTING[Framing(framing)]}"
        return UnreadableRecordsError(
            f"{counts['unreadable']} of {counts['records']} records of pipeline {pipeline.name} "
            f"cannot be read ({counts['reason']}); the limit is {pipeline.limits.max_unreadable}",
            state=NOT_LANDED,
            next_step=f"{look}; to quarantine the records, raise limits.max-unreadable in the "
            "pipeline file",
        )
    return misnamed_topic(counts)


def understood_kinds(pipeline: PipelineSpec) -> tuple[str, ...]:
    """What shows that a topic of rows is of the format of its source."""
    kinds = (Kind.ROW, Kind.TRUNCATE)
    beside_rows = (Kind.DDL, Kind.WATERMARK) if pipeline.source.format.is_canal else ()
    return tuple(kind.value for kind in (*kinds, *beside_rows))


def _other_framing(
    pipeline: PipelineSpec, counts: Mapping[str, Any], framing: Framing
) -> PreflightError:
    """Why nothing of the topics can be read, where Avro is not in Confluent's wire format."""
    return PreflightError(
        f"none of {counts['records']} records of pipeline {pipeline.name} is Avro in Confluent's "
        f"wire format: they have {framing} ({counts['reason']}, MSG-19)",
        state=NOT_LANDED,
        next_step=f"{SETTING[framing]}, and let the connector write new topics; to quarantine the "
        "records, say in limits.max-unreadable how many may be",
    )


def _other_form(pipeline: PipelineSpec, counts: Mapping[str, Any]) -> PreflightError:
    """Why nothing of the topics can be followed, where no record is what it is declared to be."""
    source = pipeline.source
    next_step = (
        "set source.format to what writes the topics, or leave them out of source.topics; to "
        "quarantine the records, say in limits.max-unreadable how many may be"
    )
    if not source.format.is_canal:
        next_step = (
            "if they hold the columns of rows alone, take the transform that flattens them, "
            "ExtractNewRecordState, off the connector: it throws away what a change does and where "
            f"it stands. Else {next_step}"
        )
    return PreflightError(
        f"none of {counts['records']} records of pipeline {pipeline.name} is a change as "
        f"{source.format} writes it, and {counts['mismatched']} of them are of another format "
        "(FORMAT_MISMATCH)",
        state=NOT_LANDED,
        next_step=next_step,
    )
