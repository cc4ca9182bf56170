"""What ``--json`` prints; `tidemark schema` prints the schema of each document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from tidemark.runs.status import PipelineStatus, TableStatus


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TableDocument(_Document):
    """How far one table is."""

    table: str = Field(description="the source table, database.table")
    target: str = Field(description="the Iceberg table, namespace.table")
    exists: bool = Field(description="whether the target was made yet")
    complete_until_ms: int = Field(description="source time in ms since 1970; 0 when unknown")
    changed_in_cut: int | None = Field(description="the newest cut that changed it")
    audit: str | None = Field(description="pass, warn or fail, of its newest audit")
    behind: str = Field(description="why it is behind the pipeline; empty when it is not")


class FailedDocument(_Document):
    """An attempt that failed since the newest cut."""

    attempt: str
    at_ms: int = Field(description="when, in ms since 1970")
    error: str = Field(description="name, condition, state: and next:")


class StatusDocument(_Document):
    """How far one pipeline is, and what is next."""

    pipeline: str
    gate: str
    cut: int | None = Field(description="the newest published cut")
    published_ms: int | None = Field(description="when it was published, in ms since 1970")
    complete_until_ms: int = Field(description="source time in ms since 1970; 0 when unknown")
    unread: int | None = Field(description="offsets that are not landed; null when unknown")
    landed: int | None = Field(description="records that are landed and in no cut yet")
    held: int | None = Field(description="records above the newest cut")
    hold: str = Field(description="why the newest cut goes no further; empty when nothing waits")
    stalled_ms: int = Field(description="for how long, once that is longer than the limit; else 0")
    quarantined: int = Field(description="changes that wait in quarantine")
    is_blocked: bool = Field(description="a table is blocked, or the newest attempt by its audit")
    failed: list[FailedDocument] = Field(description="newest first")
    tables: list[TableDocument]
    trouble: str = Field(description="why a run could not read its topics; empty when it can")
    next: str = Field(description="the next command, or that there is nothing to do")


class StatusesDocument(_Document):
    """All that `tidemark status --json` was asked for."""

    pipelines: list[StatusDocument]


def statuses_document(pipelines: list[PipelineStatus]) -> StatusesDocument:
    """What `tidemark status` shows, for programs."""
    return StatusesDocument(pipelines=[_status(found) for found in pipelines])


def _status(found: PipelineStatus) -> StatusDocument:
    newest, lag = found.published, found.lag
    return StatusDocument(
        pipeline=found.pipeline,
        gate=found.gate,
        cut=newest.result.cut if newest else None,
        published_ms=newest.at_ms if newest else None,
        complete_until_ms=found.complete_until_ms,
        unread=lag.unread if lag else None,
        landed=lag.landed if lag else None,
        held=lag.held if lag else None,
        hold=found.hold,
        stalled_ms=found.stalled_ms,
        quarantined=found.quarantined,
        is_blocked=found.is_blocked,
        failed=[
            FailedDocument(attempt=one.attempt, at_ms=one.at_ms, error=one.error)
            for one in found.failed
        ],
        tables=[_table(row) for row in found.tables],
        trouble=f"{type(found.trouble).__name__}: {found.trouble}" if found.trouble else "",
        next=found.next_step,
    )


def _table(row: TableStatus) -> TableDocument:
    return TableDocument(
        table=str(row.table),
        target=row.target,
        exists=row.exists,
        complete_until_ms=row.complete_until_ms,
        changed_in_cut=row.changed.result.cut if row.changed else None,
        audit=row.verdict.outcome if row.verdict else None,
        behind=row.why,
    )
