"""Preview: what the next cut would hold and why it stops there; reads and gates, writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from tidemark.lake.catalog import TableId
from tidemark.lake.spark_errors import spark_errors
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.cut import GateMode
from tidemark.model.event import Kind
from tidemark.model.names import AttemptId, ColumnName, PipelineName, TableName
from tidemark.model.offsets import OffsetRange, TopicPartition
from tidemark.model.position import OrderedBy
from tidemark.model.profile import count
from tidemark.model.until import Until
from tidemark.runs.changelog import Changelog
from tidemark.runs.choose import Chosen, choose_cut
from tidemark.runs.cut import NO_RECORDS, progress_after
from tidemark.runs.landing.judge import landing_counts, landing_refusal
from tidemark.runs.landing.land import Landed
from tidemark.runs.landing.ordering import expected_ordering, marked, true_ordering
from tidemark.runs.landing.unread import Reading, Unread, find_unread, read_unread, refuse_order
from tidemark.runs.landing.writer_schemas import UNKNOWN, missing_schemas, stored_schemas
from tidemark.runs.new_log import in_newest_log
from tidemark.runs.plan import statement_note, truncate_note
from tidemark.runs.run import CutRequest, Run, begin_run
from tidemark.runs.session import size_for
from tidemark.runs.tables.plan import CutTables, plan_tables
from tidemark.runs.tables.work import TableWork
from tidemark.runs.targets import is_folded
from tidemark.runs.world import World
from tidemark.schema.changes import SchemaChange
from tidemark.schema.losses import loss_of
from tidemark.spec import Consistency, PipelineSpec

NOBODY = AttemptId("preview")


@dataclass(frozen=True, slots=True)
class TablePreview:
    """What the cut would do to one table.

    rows: row events in the cut. held: those that wait above it. has_key: rows are not told apart by
    all their columns. losses: column -> what records lack of its values (TYPE-3). inferred: column
    -> type, of those that their values alone tell (SCHEMA-1). renamed_from: what the target is
    called until the cut, empty where it keeps its name (SCHEMA-31). displaced: what the table is
    called afterwards that has the name so far. rewritten: how many rows of it
    are rewritten for another type of a column (SCHEMA-13). stopped: why the table cannot
    be folded, empty when it can.
    """

    table: TableName
    target: str
    rows: int = 0
    held: int = 0
    is_truncated: bool = False
    has_key: bool = True
    changes: tuple[SchemaChange, ...] = ()
    losses: Mapping[str, str] = field(default_factory=dict)
    inferred: Mapping[ColumnName, str] = field(default_factory=dict)
    renamed_from: str = ""
    displaced: str = ""
    rewritten: int = 0
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class CutPreview:
    """What the next cut would hold.

    records: that would be landed first; left: unread offsets beyond the limit of one run.
    complete_until_ms: source time, with gate ``watermark``. offsets: what the cut settles of each
    partition, with gate ``none``. ordered_by: what orders the changes, None until there are any.
    is_idle: there would be no new cut. holds_all: tables that stop would stop all of them.
    truncates: what to check while none has come. statements: what DDL is not seen. masked: what
    records are landed without, empty where they are landed as they come. ignored: rows of tables
    that the pipeline does not fold.
    """

    pipeline: PipelineName
    cut: int
    gate: GateMode
    is_idle: bool
    records: int = 0
    left: int = 0
    unreadable: int = 0
    complete_until_ms: int = 0
    offsets: Mapping[TopicPartition, OffsetRange] = field(default_factory=dict)
    ordered_by: OrderedBy | None = None
    hold: str = ""
    truncates: str = ""
    statements: str = ""
    masked: str = ""
    holds_all: bool = False
    tables: tuple[TablePreview, ...] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)


def masked_note(pipeline: PipelineSpec) -> str:
    """Which values are lost as records are landed (MASK-1); empty where all are kept."""
    if not pipeline.changelog.is_masked:
        return ""
    hidden = {}
    for table in pipeline.tables:
        rules = table.target_columns.rules
        names: list[str] = [*rules.excluded, *rules.hashed, *rules.redacted]
        if rules.included:
            names.insert(0, f"all but {', '.join(rules.included)}")
        if names:
            hidden[str(table.source)] = ", ".join(names)
    if not hidden:
        return "no table has a column that is left out, hashed or redacted"
    columns = "; ".join(f"{table}: {names}" for table, names in hidden.items())
    return f"{columns}. Their values are not landed: no refold can show them"


def preview_cut(
    pipeline: PipelineSpec,
    world: World,
    *,
    until: Until | None = None,
    tables: tuple[TableName, ...] = (),
) -> CutPreview:
    """What a run would do now. Raises what the run would raise before it stages anything.

    until: where the cut is capped, if it is. tables: the only ones that it folds, all when empty.
    """
    run = begin_run(pipeline, world, CutRequest(NOBODY, until, tables))
    gate = pipeline.source.gate
    progress = run.progress
    unread = find_unread(run)
    if unread.after.number == 0:
        return CutPreview(pipeline.name, progress.cut, gate, is_idle=True, hold=NO_RECORDS)
    size_for(world.spark, unread.count + Changelog(run).count_waiting())
    with spark_errors("the preview"), _decoded_once(run, unread) as (records, landed):
        run = in_newest_log(run, Changelog(run, unlanded=records), landed)
        chosen = choose_cut(run, Changelog(run, unlanded=records), landed)
        run, progress = chosen.run, chosen.run.progress
        planned = plan_tables(run, chosen, progress)
    after = progress_after(progress, landed.mark, chosen, planned)
    old, new = progress.frontier.offsets, chosen.cut.frontier.offsets
    spans = {place: OffsetRange(old.get(place, 0), end) for place, end in sorted(new.items())}
    return CutPreview(
        pipeline=pipeline.name,
        cut=chosen.cut.number,
        gate=gate,
        is_idle=not planned.work and replace(after, cut=progress.cut) == progress,
        records=landed.records,
        left=unread.plan.unread - unread.count,
        unreadable=count(
            g for g in chosen.profile.profile_entries if g.kind is Kind.UNREADABLE and g.is_new
        ),
        complete_until_ms=chosen.cut.frontier.complete_until_ms,
        offsets={place: span for place, span in spans.items() if span.count > 0},
        ordered_by=landed.mark.ordered_by,
        hold=chosen.hold.sentence if chosen.hold else "",
        truncates=truncate_note(pipeline, after),
        statements=statement_note(pipeline.source),
        masked=masked_note(pipeline),
        holds_all=bool(planned.stopped) and pipeline.publish.consistency is Consistency.PIPELINE,
        tables=tuple(_tables(pipeline, chosen, planned)),
        ignored=_ignored(chosen, planned),
    )


@contextmanager
def _decoded_once(run: Run, unread: Unread) -> Iterator[tuple[DataFrame | None, Landed]]:
    """The unread records, read from the broker once, and what landing them would make.

    None for the records when nothing is unread. Raises what refuses the landing.
    """
    ordering = expected_ordering(run.pipeline, unread.after)
    schemas = stored_schemas(run)
    if unread.is_empty:
        yield None, Landed(unread.plan, run.heads.changelog, 0, schemas)
        return
    with ExitStack() as stack:
        records, counts = _decoded(run, unread, Reading(ordering, schemas), stack)
        learned = missing_schemas(run, records, schemas) if counts.get(UNKNOWN) else {}
        if learned:
            schemas = {**schemas, **learned}
            records, counts = _decoded(run, unread, Reading(ordering, schemas), stack)
        needed = true_ordering(run.pipeline, unread.after, ordering, counts)
        if needed != ordering:
            records, counts = _decoded(run, unread, Reading(needed, schemas), stack)
        refusal = landing_refusal(run.pipeline, counts)
        if refusal is not None:
            raise refusal
        mark = marked(run.pipeline, unread.after, needed, counts)
        head = replace(run.heads.changelog, mark=mark)
        yield records, Landed(unread.plan, head, int(counts["records"]), schemas)


def _decoded(
    run: Run, unread: Unread, reading: Reading, stack: ExitStack
) -> tuple[DataFrame, dict[str, Any]]:
    """The unread records as they would be landed, on disk while ``stack`` stands; their counts."""
    refuse_order(run, unread, reading.ordering)
    records = read_unread(run, unread, reading).persist(StorageLevel.DISK_ONLY)
    stack.callback(records.unpersist)
    return records, records.agg(*landing_counts(run.pipeline, reading)).collect()[0].asDict()


def _tables(pipeline: PipelineSpec, chosen: Chosen, planned: CutTables) -> Iterator[TablePreview]:
    work = {item.spec.source: item for item in planned.work}
    targets = {spec.source: spec.target for spec in pipeline.tables}
    for table in sorted(work.keys() | planned.stopped.keys() | _waiting(pipeline, chosen)):
        target = TableId(pipeline.target_namespace, targets.get(table, table.table))
        preview = TablePreview(
            table,
            str(target),
            rows=count(chosen.profile.of(table, CheckpointStatus.PENDING)),
            held=count(chosen.profile.of(table, CheckpointStatus.HELD)),
            stopped=planned.stopped.get(table, ""),
        )
        if table in work:
            becomes = work[table].becomes
            preview = replace(
                preview,
                target=str(work[table].published_as),
                renamed_from=str(work[table].target) if becomes is not None else "",
                displaced=str(work[table].displaces or ""),
                rewritten=_rewritten(work[table]),
                is_truncated=work[table].new_truncate is not None,
                has_key=bool(work[table].schema.key),
                changes=work[table].changes,
                losses=_losses(pipeline, work[table]),
                inferred=work[table].inferred,
            )
        yield preview


def _rewritten(work: TableWork) -> int:
    return work.head.rows if work.head is not None and work.rewrites else 0


def _losses(pipeline: PipelineSpec, work: TableWork) -> dict[str, str]:
    losses = {column.name: loss_of(column, pipeline.source) for column in work.schema.columns}
    return {name: loss for name, loss in losses.items() if loss}


def _waiting(pipeline: PipelineSpec, chosen: Chosen) -> set[TableName]:
    """The folded tables that have rows above the cut."""
    names = chosen.profile.names(CheckpointStatus.HELD)
    return {TableName(*name) for name in names if is_folded(pipeline, name)}


def _ignored(chosen: Chosen, planned: CutTables) -> dict[str, int]:
    folded = {item.spec.source for item in planned.work} | planned.standing
    names = {(table.schema, table.table) for table in folded}
    rows = [
        g
        for g in chosen.profile.profile_entries
        if g.kind is Kind.ROW and g.status is CheckpointStatus.PENDING and g.table
    ]
    ignored: dict[str, int] = {}
    for profile_entry in rows:
        if profile_entry.table is not None and profile_entry.table not in names:
            name = ".".join(profile_entry.table)
            ignored[name] = ignored.get(name, 0) + profile_entry.records
    return dict(sorted(ignored.items()))
