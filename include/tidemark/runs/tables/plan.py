"""Which tables of a cut are folded into which targets, with which schema, and which are blocked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidemark.errors import NameRefusedError, RowsUnknownError, TableStoppedError
from tidemark.formats.decoder import decoder_of
from tidemark.formats.record_schema import RecordSchema
from tidemark.lake.catalog import TableId
from tidemark.lake.evolve import TargetHead, read_target
from tidemark.lake.history import History, TargetChange, read_history
from tidemark.lake.staging import Removal
from tidemark.log import get_logger
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.ends import End
from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.position import Place, Position
from tidemark.model.profile import ProfileEntry, count
from tidemark.model.progress import Progress
from tidemark.model.reconcile import Snapshots
from tidemark.model.reduction import new_truncate
from tidemark.model.target_mode import TargetMode
from tidemark.runs.choose import Chosen
from tidemark.runs.columns.policy import refuse_by_policy, refuse_large_rewrite, refuse_unhashable
from tidemark.runs.columns.rounded import refuse_rounded
from tidemark.runs.columns.schemas import examples, resolve
from tidemark.runs.columns.untyped import untyped_columns
from tidemark.runs.columns.withheld import can_withhold, refuse_withheld_key, with_withheld
from tidemark.runs.landing.compacted import only_tombstones, refuse_other_record_key
from tidemark.runs.landing.masks import hidden_columns
from tidemark.runs.run import Run
from tidemark.runs.tables.copies import Copies, with_copies_of_last
from tidemark.runs.tables.dropped import begin_of, tables_of_dropped_databases, take_reread
from tidemark.runs.tables.key_changes import (
    behind_key_change,
    below_key_change,
    copies_below,
    key_change_of,
    refuse_gained,
)
from tidemark.runs.tables.late import late_tables
from tidemark.runs.tables.modes import refuse_other_mode, refuse_without_key
from tidemark.runs.tables.reconcile import watched_snapshots
from tidemark.runs.tables.refolds import into_refold, replaced_by
from tidemark.runs.tables.refused import (
    content_stop,
    refuse_altered,
    refuse_foreign,
    refuse_late,
    refuse_lost,
    refuse_other_target,
    refuse_shared,
)
from tidemark.runs.tables.reread import Reread, reread_of, waits_for_rows
from tidemark.runs.tables.topic_change import refuse_other_topic, topics_by_offset
from tidemark.runs.tables.truncates import drops_of, truncates_of
from tidemark.runs.tables.without_key import refuse_without_identity
from tidemark.runs.tables.work import TableWork
from tidemark.runs.targets import followed_targets, is_folded, targets_of
from tidemark.schema.changes import plan_changes
from tidemark.spec import (
    NO_SUITE,
    OtherTables,
    PipelineSpec,
    SourceFormat,
    TableSpec,
)

log = get_logger()
CUT = CheckpointStatus.PENDING


@dataclass(frozen=True, slots=True)
class CutTables:
    """The tables of a cut: what is done, and what is not.

    snapshots: what is known of tables that are re-snapshotted. window_bounds: as in progress.
    stopped: table -> why it cannot be folded; unread: those of them that go on once all their rows
    were read again. skipped: tables that this run was not asked for. blocked: those that stay
    stopped, whatever comes. ended: tables without target -> their newest truncate (TRUNC-16).
    waits: the tables of the statement that the cut ends with.
    """

    snapshots: Snapshots
    window_bounds: Mapping[TableName, Position]
    work: tuple[TableWork, ...] = ()
    stopped: Mapping[TableName, str] = field(default_factory=dict)
    unread: frozenset[TableName] = frozenset()
    skipped: frozenset[TableName] = frozenset()
    blocked: Mapping[TableName, str] = field(default_factory=dict)
    ended: Mapping[TableName, Position] = field(default_factory=dict)
    waits: bool = False

    @property
    def standing(self) -> frozenset[TableName]:
        """Tables whose changes of this cut wait."""
        return self.skipped | self.stopped.keys()


@dataclass(frozen=True, slots=True)
class _TableFacts:
    """What is known of a table: by the file, by its target if it has one, by its records."""

    spec: TableSpec
    head: TargetHead | None
    records: Sequence[RecordSchema]


def plan_tables(run: Run, chosen: Chosen, progress: Progress) -> CutTables:
    """Join what the stream says with what the file declares; nothing is written."""
    snapshots, window_bounds = watched_snapshots(run, chosen, progress)
    late = {**progress.blocked, **late_tables(run, chosen, progress)}
    gone = tables_of_dropped_databases(run, chosen, progress)
    moved = {rename.spec.source for rename in run.renamed}
    due = {*snapshots.due, *late, *gone, *moved, *progress.withheld, *chosen.refolded}
    specs = _concerned(run, chosen, due)
    requested = run.request.tables
    wanted = [
        into_refold(spec, progress) for spec in specs if not requested or spec.source in requested
    ]
    record_schemas = _record_schemas(run.pipeline, chosen, wanted)
    renamed = _renamed(run, chosen, progress)
    history = read_history(run.world.catalog, run.system)
    work: list[TableWork] = []
    stopped: dict[TableName, str] = {}
    unread: set[TableName] = set()
    ended: dict[TableName, Position] = {}
    owners: dict[str, TableName] = {}
    for spec in wanted:
        try:
            if spec.source in run.unseeded:
                raise run.unseeded[spec.source]
            refuse_late(run.pipeline, spec.source, late)
            stops = chosen.effects.stops_of(withholds=can_withhold(run.pipeline.source, spec))
            stop = content_stop(run.pipeline, spec, stops, renamed)
            refuse_shared(spec, owners.setdefault(spec.target.lower(), spec.source))
            target = _target(run.pipeline, spec)
            newest = _newest_change(history, target, progress)
            head = read_target(run.world.catalog, target, newest)
            head = _resumed_head(head, spec, progress)
            refuse_foreign(run.pipeline, spec, head, progress.cut)
            refuse_altered(run.pipeline, spec, head)
            have = head.source_schema if head else None
            refuse_other_mode(spec, have)
            is_renamed = any(rename.spec.source == spec.source for rename in run.renamed)
            if have is None and progress.cut > 0 and not is_renamed:
                refuse_other_target(spec, chosen.effects.renames)
            if head is None or head.snapshot is None:
                refuse_lost(run.pipeline, spec, history.folded, progress)
            if have is None and stop is not None:
                raise waits_for_rows(chosen, spec, head, stop)
            if have is None and _begins_with_a_row(run.pipeline, chosen, spec):
                before = progress.truncated.get(spec.source)
                truncate = new_truncate(truncates_of(chosen, spec), before)
                ended |= {} if truncate is None else {spec.source: truncate}
            else:
                records = record_schemas.get(spec.source, ())
                inferred = untyped_columns(run, chosen, spec, have, records)
                columns = {"columns": {**inferred, **spec.columns}}
                facts = _TableFacts(spec.model_copy(update=columns), head, records)
                table_work = _going_on(run, chosen, progress, facts, stop)
                replaced = replaced_by(run, chosen, progress, spec)
                work.append(
                    replace(
                        table_work,
                        inferred=inferred,
                        removal=_removal(run.pipeline, snapshots, spec.source),
                        window_bound=window_bounds.get(spec.source),
                        replaced=replaced,
                        is_beside=spec.source in progress.refolds and replaced is None,
                        becomes=table_work.becomes
                        if replaced is None
                        else replaced.rename(chosen.cut.number),
                    )
                )
        except (TableStoppedError, NameRefusedError) as error:
            stopped[spec.source] = str(error)
            unread |= {spec.source} if isinstance(error, RowsUnknownError) else set()
            log.warning("table_stopped", table=str(spec.source), why=error.what)
    skipped = frozenset(spec.source for spec in specs) - {spec.source for spec in wanted}
    planned = CutTables(
        *(snapshots, window_bounds, tuple(work), stopped, frozenset(unread)),
        *(skipped, late, ended),
    )
    return together(run, planned)


def _newest_change(history: History, target: TableId, progress: Progress) -> TargetChange | None:
    """The newest change of ``target``; one that another run publishes beside this one is none."""
    newest = history.changed.get(str(target))
    return None if newest is None or newest.cut > progress.cut else newest


def _going_on(
    run: Run,
    chosen: Chosen,
    progress: Progress,
    facts: _TableFacts,
    stop: RowsUnknownError | None,
) -> TableWork:
    """What is done to a table; one whose rows are unknown goes on if all of them came again."""
    try:
        if stop is not None:
            raise stop
        return _work(run, chosen, progress, facts)
    except RowsUnknownError as error:
        reread = reread_of(chosen, facts.spec, facts.head, facts.records, error)
        if reread is None:
            raise waits_for_rows(chosen, facts.spec, facts.head, error) from error
        return _work(run, chosen, progress, facts, reread)


def together(run: Run, planned: CutTables) -> CutTables:
    """``planned``, where the tables that one statement renames all go on, or none of them does."""
    renamed = {rename.spec.source for rename in run.renamed}
    first = min(renamed & planned.standing, default=None)
    if first is None:
        return planned
    why = f"it is renamed by the statement that renames {first}, which cannot go on"
    stopped = {**dict.fromkeys(renamed - planned.standing, why), **planned.stopped}
    work = tuple(table_work for table_work in planned.work if table_work.spec.source not in stopped)
    return replace(planned, work=work, stopped=stopped, waits=True)


def _renamed(run: Run, chosen: Chosen, progress: Progress) -> Mapping[TableName, TableId]:
    """The tables that are followed with their targets, where a statement stops some by a rename."""
    if all(stop.by is None for stop in chosen.effects.stops.values()):
        return {}
    return targets_of(run.pipeline, read_history(run.world.catalog, run.system), progress)


def _removal(pipeline: PipelineSpec, snapshots: Snapshots, table: TableName) -> Removal | None:
    due = snapshots.due.get(table)
    if due is None:
        return None
    return Removal(End(due.below), 1.0 if due.is_ordered else pipeline.snapshots.max_removed)


def _concerned(run: Run, chosen: Chosen, due: Iterable[TableName]) -> list[TableSpec]:
    """The specs of the tables that have anything in the cut, or lose rows in it, or go.

    A table that is not declared and whose name is invalid is never mapped: it is `filtered`.
    """
    pipeline = run.pipeline
    declared = {(table.source.schema, table.source.table): table for table in pipeline.tables}
    names = {
        *chosen.profile.names(CheckpointStatus.PENDING),
        *chosen.profile.names(CheckpointStatus.REPLAYED),
    }
    names |= {(table.schema, table.table) for table in chosen.effects.tables}
    names |= {(table.schema, table.table) for table in due}
    if None in chosen.effects.stops:
        names |= declared.keys()
    specs = [declared[name] for name in sorted(names & declared.keys())]
    if pipeline.other_tables is OtherTables.FOLLOW:
        followed = []
        for name in sorted(n for n in names - declared.keys() if is_folded(pipeline, n)):
            try:
                followed.append(TableName(*name))
            except NameRefusedError as error:
                log.warning("table_refused", table=".".join(name), why=error.what)
        if followed:
            history = read_history(run.world.catalog, run.system)
            specs += [
                TableSpec(source=table, target=target, expectations=NO_SUITE)
                for table, target in followed_targets(pipeline, history, followed).items()
            ]
    return specs


def _record_schemas(
    pipeline: PipelineSpec, chosen: Chosen, specs: Sequence[TableSpec]
) -> dict[TableName, tuple[RecordSchema, ...]]:
    """What example records say about the tables' columns."""
    decoder = decoder_of(pipeline.source, chosen.schemas)
    in_cut = [g for spec in specs for g in chosen.profile.of(spec.source, CUT)]
    record_schemas = examples(chosen.waiting.events, in_cut, decoder)
    if chosen.replay is not None:
        profile_entries = [
            g for s in specs for g in chosen.profile.of(s.source, CheckpointStatus.REPLAYED)
        ]
        for table, schemas in examples(chosen.replay.again, profile_entries, decoder).items():
            record_schemas[table] = (*schemas, *record_schemas.get(table, ()))
    return record_schemas


def _resumed_head(
    head: TargetHead | None, spec: TableSpec, progress: Progress
) -> TargetHead | None:
    """``head``, where its table left it by a rename to a name that only now is in the file."""
    if head is None or head.source_schema.dropped_at is None:
        return head
    left_at = head.source_schema.dropped_at
    if not any(rename.new == spec.source and rename.is_at(left_at) for rename in progress.renames):
        return head
    return replace(head, source_schema=replace(head.source_schema, dropped_at=None))


def _begins_with_a_row(pipeline: PipelineSpec, chosen: Chosen, spec: TableSpec) -> bool:
    """Whether a table without target is to wait for its first row, which tells all columns.

    Canal's records do, so DDL alone need not say enough to make a table (SCHEMA-7); that columns
    changed says nothing of the others, a truncate nothing of any (TRUNC-16), and nor do tombstones,
    which have no row to end yet (KEY-12). One that is dropped again and had no row leaves nothing.
    """
    profile_entries = chosen.profile.of(spec.source, CUT)
    effects = chosen.effects
    is_gone = effects.dropped_at(spec.source, None) and spec.source not in effects.made
    if is_gone and not profile_entries:
        return True
    truncates = chosen.profile.of(spec.source, CUT, Kind.TRUNCATE)
    is_ended = bool(truncates) or spec.source in effects.truncated
    tells_all = pipeline.source.format is SourceFormat.CANAL_JSON
    altered = {
        *effects.changed,
        *effects.column_renames,
        *effects.dropped,
        *effects.restored,
        *effects.begun_cut_overs,
    }
    has_schema = spec.source in effects.types.keys() | effects.schemas.keys()
    is_changed = not has_schema and (
        spec.source in altered or spec.source.schema in effects.emptied
    )
    is_untold = is_changed or (is_ended and not has_schema and not spec.columns)
    waits = (tells_all or is_untold) and not profile_entries
    return waits or (only_tombstones(profile_entries) and not is_ended)


def _published_place(
    progress: Progress, spec: TableSpec, profile_entries: Sequence[ProfileEntry]
) -> Place:
    """The place at and below which all records of the table came again."""
    reached = progress.frontier_of(spec.source).reached
    return min((reached.get(entry.at, Place("")) for entry in profile_entries), default=Place(""))


def _target(pipeline: PipelineSpec, spec: TableSpec) -> TableId:
    return TableId(pipeline.target_namespace, spec.target)


def _work(
    run: Run,
    chosen: Chosen,
    progress: Progress,
    facts: _TableFacts,
    reread: Reread | None = None,
) -> TableWork:
    pipeline, spec, head = run.pipeline, facts.spec, facts.head
    have = head.source_schema if head else None
    again = chosen.profile.of(spec.source, CheckpointStatus.REPLAYED)
    profile_entries = chosen.profile.of(spec.source, CUT)
    refuse_other_topic(
        *(spec, profile_entries, progress.topics.get(spec.source)),
        chosen.effects.topics_of(spec.source),
    )
    take_reread(chosen, spec, have)
    begins = begin_of(chosen, spec, have) if reread is None else reread.at
    before = progress.truncated.get(spec.source)
    # A mirror that is folded again has no row of before its newest end, whatever columns it had.
    refold = progress.refolds.get(spec.source)
    is_again = refold is not None and (have is None or refold.base is not None)
    floor = before if is_again and spec.mode is TargetMode.MIRROR else begins
    records = [r for r in facts.records if floor is None or (r.position or "") > floor]
    key_change, below, effects = key_change_of(run, chosen, spec, have), have, chosen.effects
    copies = Copies()
    if key_change is not None:
        below, effects = below_key_change(spec.source, key_change, have, effects)
    if reread is not None:
        effects = effects.without_changes(spec.source)
    if below is have:
        copies = copies_below(chosen, spec, have, before)
        records = [r for r in records if (r.position or "") >= copies.below]
    is_empty = head is not None and head.rows == 0
    if reread is None:
        there = None if is_empty else below
        published = _published_place(progress, spec, profile_entries)
        refuse_rounded(pipeline.source, spec, there, records, published)
    change = reread.change if reread is not None else None
    schema = resolve(
        *(pipeline.source, spec, below, effects, records), is_empty=is_empty, reread=change
    )
    target = _target(pipeline, spec)
    entries = (*profile_entries, *again)
    schema = read = with_withheld(run.world.catalog, target, head, schema, entries)
    refuse_other_record_key(pipeline.source, spec, schema, records)
    if key_change is not None:
        schema = behind_key_change(pipeline.source, spec, key_change, read, chosen.effects)
        refuse_withheld_key(schema)
        refuse_gained(spec, key_change, read, profile_entries)
    copies = with_copies_of_last(copies, pipeline.source, chosen, spec, read)
    if not schema.key:
        if profile_entries:
            refuse_without_key(spec)
        refuse_without_identity(pipeline.source, spec, profile_entries)
    ended = truncates_of(chosen, spec)
    counts_from = new_truncate(ended, before) or before
    truncate = new_truncate([*ended, *([begins] if begins else [])], before)
    changes = plan_changes(have, schema, is_empty=is_empty or begins is not None)
    refuse_by_policy(spec, changes, chosen.effects)
    if pipeline.changelog.is_masked:
        refuse_unhashable(spec, schema)
    refuse_large_rewrite(spec, changes, head.rows if head else 0, pipeline.limits)
    return TableWork(
        spec=spec,
        target=target,
        head=head,
        source_schema=schema,
        changes=changes,
        rows=count(profile_entries),
        key_from_images=bool(spec.key)
        or any(profile_entry.without_key for profile_entry in entries),
        truncated_at=counts_from if reread is not None else truncate or before,
        new_truncate=truncate,
        window_bound=None,
        removal=None,
        ended_before=max(filter(None, (before, begins)), default=None),
        replayed=count(again) if schema.key and spec.mode is TargetMode.MIRROR else 0,
        changes_key=schema != read,
        copies=copies,
        becomes=run.becomes(spec.source),
        topic=next(iter(topics_by_offset(profile_entries)), None),
        reread=reread,
        is_another=begins is not None or bool(drops_of(chosen, spec)),
        hidden=hidden_columns(run, spec),
    )
