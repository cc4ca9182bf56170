"""What ``--json`` prints; `tidemark schema` prints the schema of each document."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from collections.abc import Collection

    from tidemark.model.erasure import Erasure
    from tidemark.model.finding import Finding
    from tidemark.model.maintenance import TableMaintenance
    from tidemark.model.names import TableName
    from tidemark.model.quarantine import Entry
    from tidemark.runs.draft.draft import Draft
    from tidemark.runs.preview import CutPreview, TablePreview
    from tidemark.runs.status import PipelineStatus, TableStatus
    from tidemark.runs.table_history import TableChange, TableHistory


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TableDocument(_Document):
    """How far one table is."""

    table: str = Field(description="the source table, database.table")
    target: str = Field(description="the Iceberg table, namespace.table")
    exists: bool = Field(description="whether the target was made yet")
    complete_until_ms: int = Field(description="source time in ms since 1970; 0 when unknown")
    changed_in_cut: int | None = Field(description="the newest cut that changed it")
    audit: str | None = Field(description="pass, warn or block, of its newest audit")
    behind: str = Field(description="why it is behind the pipeline; empty when it is not")
    refold: str = Field(description="the table that a refold makes of it; empty without one")
    dropped: str = Field(description="why its target stays; empty while the source has the table")


class FailedDocument(_Document):
    """An attempt that failed since the newest cut."""

    attempt: str
    at_ms: int = Field(description="when, in ms since 1970")
    error: str = Field(description="name, condition, state: and next:")


class StaleDocument(_Document):
    """A target that is older than the pipeline file allows."""

    target: str = Field(description="the Iceberg table, namespace.table")
    since_ms: int = Field(description="since when, in ms since 1970")


class QuarantinedDocument(_Document):
    """What waits in quarantine of one table, code and column."""

    table: str = Field(description="empty where unknown")
    code: str
    column: str = Field(description="empty where unknown")
    changes: int
    record: str = Field(description="the first of them, as TOPIC:PARTITION:OFFSET")


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
    statements: str = Field(description="what DDL is not seen; empty where statements are read")
    quarantined: int = Field(description="changes that wait in quarantine")
    quarantine: list[QuarantinedDocument] = Field(description="the same by cause")
    is_blocked: bool = Field(description="a table is blocked, or the newest attempt by its audit")
    stale: list[StaleDocument] = Field(description="tables older than freshness, the oldest first")
    failed: list[FailedDocument] = Field(description="newest first")
    tables: list[TableDocument]
    trouble: str = Field(description="why a run could not read its topics; empty when it can")
    next: str = Field(description="the next command, or that there is nothing to do")


class StatusesDocument(_Document):
    """All that `tidemark status --json` was asked for."""

    pipelines: list[StatusDocument]


class MaintainedTableDocument(_Document):
    """What was done to one table, or is due."""

    table: str = Field(description="the Iceberg table, namespace.table")
    rewritten: int = Field(description="files of rows that are rewritten")
    bytes: int = Field(description="in these files")
    rows: int = Field(description="in these files, of what is due")
    deletes: int = Field(description="delete files that went")
    manifests: int = Field(description="that are written together")
    expired: int = Field(description="snapshots that expire")
    orphans: int = Field(description="files that no snapshot named")
    removed: int = Field(description="records that the changelog needs no more")
    seconds: float
    skipped: str = Field(description="why not all was done; empty where it was")


class MaintenanceDocument(_Document):
    """What `tidemark maintain` did, or with ``--dry-run`` what is due."""

    pipeline: str
    is_done: bool = Field(description="false: nothing was changed")
    tables: list[MaintainedTableDocument]


class ErasureDocument(_Document):
    """What `tidemark erase` did, and what still holds what was there before."""

    pipeline: str
    table: str = Field(description="the source table, database.table")
    keys: int = Field(description="that were asked for")
    records: int = Field(description="of the changelog that lost key, value and headers")
    shortened: int = Field(description="records that lost rows of the keys, and hold others")
    shared: int = Field(description="records with a row that was left, as it has another key, too")
    rows: int = Field(description="of the target that had ended and were deleted")
    entries: int = Field(description="of the quarantine that were dropped")
    unreadable: int = Field(description="records in quarantine of which no key is known")
    is_rewritten: bool = Field(description="no file of the target holds a row that is deleted")
    refs: list[str] = Field(description="tags and branches that hold what was there before")
    tables: list[str] = Field(description="targets of before that refolds left")
    days: int = Field(description="after which maintenance removes files of before")


class PlannedTableDocument(_Document):
    """What the next cut would do to one table."""

    table: str = Field(description="the source table, database.table")
    target: str = Field(description="the Iceberg table, namespace.table")
    rows: int = Field(description="row changes in the cut")
    held: int = Field(description="row changes above it")
    is_truncated: bool
    has_key: bool = Field(description="false: all columns together distinguish its rows")
    changes: list[str] = Field(description="what becomes of its columns")
    losses: dict[str, str] = Field(description="column to what records lack of its values")
    inferred: dict[str, str] = Field(description="column to a type that only its values show")
    renamed_from: str = Field(
        description="what the target is called until the cut; empty where it keeps its name"
    )
    displaced: str = Field(
        description="what the table is called afterwards that has the name of the target so far"
    )
    rewritten: int = Field(
        description="rows of the target that are rewritten for another type of a column"
    )
    stopped: str = Field(description="why it cannot be folded; empty when it can")


class OffsetsDocument(_Document):
    """Offsets of one partition."""

    topic: str
    partition: int
    start: int
    end: int = Field(description="the first one behind them")


class PlanDocument(_Document):
    """What the next cut would hold."""

    pipeline: str
    cut: int
    gate: str
    is_idle: bool = Field(description="there would be no new cut")
    records: int = Field(description="records that it would land")
    left: int = Field(description="offsets that stay for later runs")
    unreadable: int = Field(description="records that it would quarantine")
    complete_until_ms: int = Field(description="source time in ms since 1970; 0 when unknown")
    offsets: list[OffsetsDocument] = Field(description="that it would publish; with gate none")
    hold: str = Field(description="why it would go no further; empty when nothing waits")
    truncates: str = Field(description="what to check while no truncate has come; empty if none")
    statements: str = Field(description="what DDL is not seen; empty where statements are read")
    masked: str = Field(description="what records are landed without; empty if as they came")
    holds_all: bool = Field(description="one table that stops would stop all")
    tables: list[PlannedTableDocument]
    ignored: dict[str, int] = Field(description="table that is not folded to its row changes")


class FaultsDocument(_Document):
    """What files of an installation say."""

    good: list[str] = Field(description="what each sound file declares")
    faults: list[str] = Field(description="file, line, what was found and what was expected")


class ChangeDocument(_Document):
    """What one published cut did to a table."""

    cut: int
    attempt: str = Field(description="that published it")
    at_ms: int = Field(description="when it was staged, in ms since 1970")
    complete_until_ms: int = Field(description="source time in ms since 1970; 0 when unknown")
    target: str = Field(description="what the target was called then")
    renamed_from: str = Field(description="what it was called until then; empty where it kept it")
    snapshot: int = Field(description="of the target, as it was published")
    inserted: int
    updated: int
    deleted: int
    truncated: int
    buckets: dict[str, int] = Field(description="where the changes of all tables of the cut ended")
    statements: list[str] = Field(description="schema changes of the table that the cut followed")
    audit: str = Field(description="pass or warn; empty where nothing was audited")
    failed: list[str] = Field(description="checks that failed, and what they observed")
    accepted: str = Field(description="why an operator had it published; empty where nobody had")
    reason: str = Field(description="why a person had the cut run; empty where nobody said")


class OrderDocument(_Document):
    """What a person ordered."""

    at_ms: int = Field(description="when, in ms since 1970")
    command: str


class HistoryDocument(_Document):
    """What became of a table."""

    pipeline: str
    table: str = Field(description="the source table, database.table")
    target: str = Field(description="the Iceberg table, namespace.table")
    changes: list[ChangeDocument] = Field(description="newest first")
    orders: list[OrderDocument] = Field(description="newest first, since the oldest of the changes")


class DraftedTableDocument(_Document):
    """A table of a new pipeline."""

    table: str = Field(description="the source table, database.table")
    key: list[str] = Field(description="columns of its key, as records have it")
    suite: str = Field(description="that was written for it; empty where none was")


class DraftDocument(_Document):
    """What `tidemark init` saw and wrote."""

    pipeline: str
    format: str
    gate: str
    records: list[str] = Field(description="how they are written")
    data: list[str] = Field(description="topics of rows, or patterns of them")
    schema_changes: list[str]
    transactions: list[str]
    tables: list[DraftedTableDocument]
    decide: list[str] = Field(description="what records cannot show, a sentence each")
    files: list[str] = Field(description="that were written, the pipeline's own last")


class FindingDocument(_Document):
    """One thing that was looked at."""

    severity: str = Field(description="error, warning, note or good")
    about: str = Field(description="what was looked at, such as topic shop")
    what: str = Field(description="how it is")
    cost: str = Field(description="what that costs; empty where it is good")
    fix: str = Field(description="what to do about it; empty where there is nothing to do")


class FindingsDocument(_Document):
    """All that `tidemark doctor` looked at."""

    findings: list[FindingDocument] = Field(description="the worst first")


class EntryDocument(_Document):
    """One record or change that was quarantined."""

    topic: str
    partition: int
    offset: int
    row: int | None = Field(description="of the record; null for the record as a whole")
    table: str = Field(description="database.table; empty when unknown")
    column: str
    code: str
    position: str
    written_ms: int | None = Field(description="when it was written to Kafka, in ms since 1970")
    bytes: int = Field(description="size of the record's value")
    sha256: str = Field(description="of the record's value")
    cut: int = Field(description="in which it came into its state")
    state: str
    reason: str = Field(description="why a person dropped it")


class QuarantineDocument(_Document):
    """Entries of a pipeline's quarantine."""

    pipeline: str
    entries: list[EntryDocument]
    payload: str | None = Field(description="value of the one record, where it was asked for")


class ActionDocument(_Document):
    """What an operator's verb recorded."""

    pipeline: str
    done: str
    details: dict[str, str]
    next: str = Field(description="the next step; empty when there is none")


def plan_document(preview: CutPreview) -> PlanDocument:
    """What `tidemark plan` shows, for programs."""
    return PlanDocument(
        pipeline=preview.pipeline,
        cut=preview.cut,
        gate=preview.gate,
        is_idle=preview.is_idle,
        records=preview.records,
        left=preview.left,
        unreadable=preview.unreadable,
        complete_until_ms=preview.complete_until_ms,
        offsets=[
            OffsetsDocument(
                topic=at.topic, partition=at.partition, start=offsets.start, end=offsets.end
            )
            for at, offsets in preview.offsets.items()
        ],
        hold=preview.hold,
        truncates=preview.truncates,
        statements=preview.statements,
        holds_all=preview.holds_all,
        tables=[_planned(row) for row in preview.tables],
        masked=preview.masked,
        ignored=dict(preview.ignored),
    )


def _planned(row: TablePreview) -> PlannedTableDocument:
    from tidemark.schema.changes import describe

    return PlannedTableDocument(
        table=str(row.table),
        target=row.target,
        rows=row.rows,
        held=row.held,
        is_truncated=row.is_truncated,
        has_key=row.has_key,
        changes=[describe(change) for change in row.changes],
        losses=dict(row.losses),
        inferred={str(name): of for name, of in row.inferred.items()},
        renamed_from=row.renamed_from,
        displaced=row.displaced,
        rewritten=row.rewritten,
        stopped=row.stopped,
    )


def history_document(pipeline: str, history: TableHistory) -> HistoryDocument:
    """What `tidemark history` shows, for programs."""
    return HistoryDocument(
        pipeline=pipeline,
        table=str(history.table),
        target=history.target,
        changes=[_change(change) for change in history.changes],
        orders=[OrderDocument(at_ms=at.at_ms, command=at.command) for at in history.orders],
    )


def _change(change: TableChange) -> ChangeDocument:
    result, of, verdict = change.cut.result, change.cut.of_target, change.verdict
    return ChangeDocument(
        cut=result.cut,
        attempt=result.attempt,
        at_ms=change.cut.at_ms,
        complete_until_ms=result.complete_until_ms,
        target=of.target,
        renamed_from=of.renamed_from,
        snapshot=of.snapshot_id,
        inserted=of.inserted,
        updated=of.updated,
        deleted=of.deleted,
        truncated=of.truncated,
        buckets=dict(result.buckets),
        statements=list(change.statements),
        audit=of.outcome,
        failed=[f"{check.name}: {check.observed}" for check in verdict.failures] if verdict else [],
        accepted=verdict.accepted if verdict else "",
        reason=change.cut.reason,
    )


def draft_document(draft: Draft) -> DraftDocument:
    """What `tidemark init` shows, for programs."""
    from tidemark.runs.draft.draft import tables_of

    source = draft.pipeline.source
    return DraftDocument(
        pipeline=draft.pipeline.name,
        format=source.format,
        gate=source.gate,
        records=sorted(draft.seen.encodings),
        data=list(source.topics.data),
        schema_changes=list(source.topics.schema_changes),
        transactions=list(source.topics.transactions),
        tables=[
            DraftedTableDocument(table=str(table), key=list(key), suite=suite)
            for table, key, suite in tables_of(draft)
        ],
        decide=list(draft.open),
        files=[str(file) for file in draft.files],
    )


def findings_document(findings: Collection[Finding]) -> FindingsDocument:
    """What `tidemark doctor` shows, for programs."""
    return FindingsDocument(
        findings=[
            FindingDocument(
                severity=finding.grade,
                about=finding.about,
                what=finding.what,
                cost=finding.cost,
                fix=finding.fix,
            )
            for finding in findings
        ]
    )


def quarantine_document(
    pipeline: str, entries: Collection[Entry], payload: str | None = None
) -> QuarantineDocument:
    """What `tidemark quarantine list` and ``show`` show, for programs."""
    documents = [_entry(entry) for entry in entries]
    return QuarantineDocument(pipeline=pipeline, entries=documents, payload=payload)


def _entry(entry: Entry) -> EntryDocument:
    at = entry.kafka_time
    return EntryDocument(
        topic=entry.topic,
        partition=entry.partition,
        offset=entry.offset,
        row=entry.row,
        table=entry.table,
        column=entry.column,
        code=entry.code,
        position=entry.position,
        written_ms=int(at.timestamp() * 1000) if at else None,
        bytes=entry.bytes,
        sha256=entry.sha256,
        cut=entry.cut,
        state=entry.state,
        reason=entry.reason,
    )


def maintenance_document(
    pipeline: str, tables: Collection[TableMaintenance], *, is_done: bool
) -> MaintenanceDocument:
    """What `tidemark maintain` shows, for programs."""
    documents = [MaintainedTableDocument(**asdict(table)) for table in tables]
    return MaintenanceDocument(pipeline=pipeline, is_done=is_done, tables=documents)


def erasure_document(pipeline: str, table: TableName, done: Erasure) -> ErasureDocument:
    """What `tidemark erase` shows, for programs."""
    return ErasureDocument(pipeline=pipeline, table=str(table), **asdict(done))


def statuses_document(statuses: list[PipelineStatus]) -> StatusesDocument:
    """What `tidemark status` shows, for programs."""
    return StatusesDocument(pipelines=[_status(status) for status in statuses])


def _status(status: PipelineStatus) -> StatusDocument:
    from tidemark.model.shown import now_ms
    from tidemark.runs.freshness import stale_tables

    newest, lag = status.published, status.lag
    return StatusDocument(
        pipeline=status.pipeline,
        gate=status.gate,
        cut=newest.result.cut if newest else None,
        published_ms=newest.at_ms if newest else None,
        complete_until_ms=status.complete_until_ms,
        unread=lag.unread if lag else None,
        landed=lag.landed if lag else None,
        held=lag.held if lag else None,
        hold=status.hold,
        stalled_ms=status.stalled_ms,
        statements=status.statements,
        quarantined=status.quarantined,
        quarantine=[
            QuarantinedDocument(
                table=kind.table,
                code=kind.code,
                column=kind.column,
                changes=kind.changes,
                record=str(kind.record),
            )
            for kind in status.quarantine
        ],
        is_blocked=status.is_blocked,
        stale=[StaleDocument(**asdict(table)) for table in stale_tables(status, now_ms())],
        failed=[
            FailedDocument(attempt=attempt.attempt, at_ms=attempt.at_ms, error=attempt.error)
            for attempt in status.failed
        ],
        tables=[_table(row) for row in status.tables],
        trouble=f"{type(status.trouble).__name__}: {status.trouble}" if status.trouble else "",
        next=status.next_step,
    )


def _table(row: TableStatus) -> TableDocument:
    return TableDocument(
        table=str(row.table),
        target=row.target,
        exists=row.exists,
        complete_until_ms=row.complete_until_ms,
        changed_in_cut=row.changed.cut if row.changed else None,
        audit=row.verdict.outcome if row.verdict else None,
        behind=row.why,
        refold=row.refold,
        dropped=row.dropped,
    )
