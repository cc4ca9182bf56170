"""What a person orders of a table's target: to fold it again from the changelog. No JVM.

The runs that follow do the work, like that of any cut: a target is made beside the old one, from
every record of the table that was landed, and takes its place or stays beside it (REFOLD-1).
"""

from __future__ import annotations

import json
import re
import secrets
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime

from pyiceberg.table import Table

from tidemark.errors import UNCHANGED, ActionRefusedError
from tidemark.lake.bases import read_bases
from tidemark.lake.catalog import SystemTables, TableId
from tidemark.lake.evolve import SOURCE_SCHEMA
from tidemark.lake.history import existing_tables, read_history
from tidemark.lake.landing import PAYLOAD
from tidemark.lake.ledger import progress_of_cut, read_progress
from tidemark.lake.marks import ANEW, read_published
from tidemark.lake.refs import TRIES
from tidemark.lake.removal import find_table, purge_as_read
from tidemark.lake.removed import read_removed
from tidemark.lake.unfinished import missing_moves
from tidemark.model.columns import TableSchema
from tidemark.model.cut import Frontier
from tidemark.model.names import TableName, refusal
from tidemark.model.progress import Progress
from tidemark.model.reconcile import BELOW_ALL_OFFSETS
from tidemark.model.refold import Refold, TableState
from tidemark.model.retention import Base, missing_in, removed_of, unreadable_in
from tidemark.model.target_mode import TargetMode
from tidemark.runs.orders import record
from tidemark.runs.targets import declared_as, spec_of, targets_of
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec

DIGITS = 4
"""Of the random name of a target, in bytes."""
BESIDE = "__refold_"
_MADE = re.compile(rf"(?P<target>.+){BESIDE}[0-9a-f]{{{2 * DIGITS}}}")


def begin_refold(
    pipeline: PipelineSpec,
    world: World,
    table: TableName,
    *,
    into: str = "",
    as_of: int | datetime | None = None,
) -> Refold:
    """Have the next runs fold ``table`` again from the changelog; one that is under way ends.

    into: the name of a target that stays beside that of the table; empty where it replaces it.
    as_of: the cut as of which it is folded, or a source time, which means the newest cut that goes
    no further; None where it goes as far as the table. Raises ActionRefusedError where the
    changelog does not tell the rows.
    """
    if isinstance(as_of, datetime):
        as_of = _cut_until(pipeline, world, as_of)
    _refuse_name(pipeline, world, into)
    if as_of is not None and not into:
        raise ActionRefusedError(
            f"{table} as of cut {as_of} cannot be its target, which stands higher",
            state=UNCHANGED,
            next_step="name a table of its own for it: --into NAME",
        )
    then = None if as_of is None else _progress_of(pipeline, world, as_of, table)
    suffix, seen, unfinished = secrets.token_hex(DIGITS), list[int](), list[Table]()

    def begun(now: Progress) -> Progress:
        unfinished[:] = []
        if table in now.refolds:
            unfinished[:] = _unfinished(pipeline, world, now.refolds[table])
            now = now.without_refold(table)
        target = _target_of(pipeline, world, now, table)
        _refuse_masked(pipeline, world, table, target)
        state = (then or now).state_of(table)
        seen.append(_removed_of(pipeline, world, now, table))
        base = _base_of(pipeline, world, table, target, state, as_of, seen[-1])
        refold = Refold(
            target=into or f"{target.table}{BESIDE}{suffix}",
            until=state.frontier,
            replaces=not into,
            paused=now.state_of(table),
            base=None if base is None else base.cut,
        )
        begins = _begins(pipeline, now, table, state, base)
        return now.with_refold(table, refold, begins)

    words = f"refold {table}" + (f" --into {into}" if into else "")
    words += f" --as-of {as_of}" if as_of is not None else ""
    recorded = _recorded(pipeline, world, begun, words)
    refold = recorded.refolds[table]
    _remove(world, unfinished)
    # Maintenance may have removed records meanwhile, or the base.
    went = _removed_of(pipeline, world, recorded, table) != seen[-1]
    if went or not _has_base(pipeline, world, recorded, table):
        return begin_refold(pipeline, world, table, into=into, as_of=as_of)
    return refold


def cancel_refold(pipeline: PipelineSpec, world: World, table: TableName) -> None:
    """Have ``table`` go on as it did before its refold; what was made of that is removed."""
    unfinished: list[Table] = []

    def cancelled(now: Progress) -> Progress:
        if table not in now.refolds:
            raise ActionRefusedError(
                f"{table} is not refolded in pipeline {pipeline.name}",
                state=UNCHANGED,
                next_step=f"look what is: tidemark status {pipeline.name}",
            )
        unfinished[:] = _unfinished(pipeline, world, now.refolds[table])
        return replace(now.without_refold(table), oldest_held=1)

    _recorded(pipeline, world, cancelled, f"refold {table} --cancel")
    _remove(world, unfinished)


def remove_left(pipeline: PipelineSpec, world: World, existing: Collection[str]) -> None:
    """Remove the tables of refolds that ended, where who ended them died before that.

    existing: names of tables beside the targets, listed before: a refold is recorded before a run
    makes its table. None that was ever published, or that no run made: a person may have given such
    a name to a table beside a target.
    """
    made = map(_MADE.fullmatch, existing)
    names = {match.string: match["target"] for match in made if match}
    if not names:
        return
    system = SystemTables.of(pipeline.name)
    progress = read_progress(world.catalog, system).under(pipeline.renames)
    history = read_history(world.catalog, system)
    if missing_moves(world.catalog, system):
        return  # Of a refold that has just ended the table may be on its way.
    targets = {target.table for target in targets_of(pipeline, history, progress).values()}
    in_use = targets | {refold.target for refold in progress.refolds.values()}
    candidates = [
        find_table(world.catalog, TableId(pipeline.target_namespace, name))
        for name, target in names.items()
        if target in targets and name not in in_use
    ]
    ours = [
        table for table in candidates if table is not None and SOURCE_SCHEMA in table.properties
    ]
    _remove(world, [table for table in ours if read_published(table) is None])


def _unfinished(pipeline: PipelineSpec, world: World, refold: Refold) -> list[Table]:
    """The table that ``refold`` makes; empty as long as no run began it."""
    table = find_table(world.catalog, TableId(pipeline.target_namespace, refold.target))
    return [] if table is None else [table]


def _remove(world: World, tables: Sequence[Table]) -> None:
    """Remove ``tables``, with their files: not what others made since and called the same.

    A run that is alive may still write to their branches.
    """
    for table in tables:
        name = TableId(*table.name())
        for _ in range(TRIES):
            now = find_table(world.catalog, name)
            if now is None or now.metadata.table_uuid != table.metadata.table_uuid:
                break
            if purge_as_read(world.catalog, name, now.metadata_location):
                break


def _recorded(
    pipeline: PipelineSpec, world: World, change: Callable[[Progress], Progress], words: str
) -> Progress:
    return record(pipeline, world, change, words).under(pipeline.renames)


def _base_of(  # noqa: PLR0913  what a base is sought by
    pipeline: PipelineSpec,
    world: World,
    table: TableName,
    target: TableId,
    state: TableState,
    as_of: int | None,
    landing: int,
) -> Base | None:
    """The base that the new target begins with; None where records of the changelog tell all.

    landing: below which records may be gone. The oldest, as what is behind it is read again. A
    mirror whose rows all came again since one of them, by a truncate or a new snapshot, needs none.
    """
    if not landing:
        return None
    spec = spec_of(pipeline, table)
    bases = [base for base in read_bases(world.catalog, target) if base.landing >= landing]
    is_mirror = spec.mode is TargetMode.MIRROR
    if is_mirror and any((state.truncated or "") > (b.state.truncated or "") for b in bases):
        return None
    candidates = [base for base in bases if as_of is None or base.cut <= as_of]
    if not candidates:
        since = f"from cut {bases[0].cut} on" if bases else "in part"
        raise ActionRefusedError(
            f"the changelog has the records of {table} below landing {landing} no more, and tells "
            f"its rows {since}",
            state=UNCHANGED,
            next_step=f"have it re-snapshotted, then refold: {_resync(pipeline, table)}",
        )
    if missing := missing_in(candidates[0].schema, declared_as(candidates[0].schema, spec)):
        raise ActionRefusedError(
            f"the changelog has the records of {table} below landing {landing} no more, and its "
            f"target as of cut {candidates[0].cut} does not tell them: {missing}",
            state=UNCHANGED,
            next_step=f"have it re-snapshotted, then refold: {_resync(pipeline, table)}",
        )
    return candidates[0]


def _refuse_masked(pipeline: PipelineSpec, world: World, table: TableName, target: TableId) -> None:
    """Raise `ActionRefusedError` where the new target has to show what was masked (MASK-1)."""
    changelog = find_table(world.catalog, SystemTables.of(pipeline.name).changelog)
    there = find_table(world.catalog, target)
    text = "" if there is None else there.properties.get(SOURCE_SCHEMA, "")
    if changelog is None or PAYLOAD not in changelog.properties or not text:
        return
    schema = TableSchema.from_json(json.loads(text))
    column = unreadable_in(schema, declared_as(schema, spec_of(pipeline, table)))
    if column is not None:
        raise ActionRefusedError(
            f"the changelog does not have the values of column {column} of {table}: they were "
            "masked as they came (changelog.payload)",
            state=UNCHANGED,
            next_step=f"have target-columns of {table} treat {column} as before; else {ANEW}",
        )


def _has_base(pipeline: PipelineSpec, world: World, now: Progress, table: TableName) -> bool:
    """Whether what the refold of ``table`` begins with is there."""
    base, target = now.refolds[table].base, _target_of(pipeline, world, now, table)
    return base is None or base in {there.cut for there in read_bases(world.catalog, target)}


def _removed_of(pipeline: PipelineSpec, world: World, now: Progress, table: TableName) -> int:
    """The landing below which records of ``table`` may be gone; 0 where all are there."""
    removed = read_removed(world.catalog, SystemTables.of(pipeline.name))
    return removed_of(table, removed, now.known_renames(pipeline.renames))


def _resync(pipeline: PipelineSpec, table: TableName) -> str:
    return f"tidemark resync {pipeline.name} {table}"


def _begins(
    pipeline: PipelineSpec,
    now: Progress,
    table: TableName,
    state: TableState,
    base: Base | None,
) -> TableState:
    """Where the new target begins: below all records, or at a base, with what they do not tell.

    A mirror has no row that a truncate or a new snapshot ended. Other targets keep those, and find
    the truncates among the records; of what a snapshot did not contain no record tells.
    """
    at = TableState(Frontier()) if base is None else replace(base.state, blocked="")
    if table in now.snapshots.tables:
        raise ActionRefusedError(
            f"a snapshot of {table} is awaited, and rows that it does not contain are not gone yet",
            state=UNCHANGED,
            next_step=f"let it come to its end first: tidemark status {pipeline.name}",
        )
    modes = {spec.source: spec.mode for spec in pipeline.tables}
    if modes.get(table, TargetMode.MIRROR) is TargetMode.MIRROR:
        return replace(state, frontier=at.frontier, landing=at.landing, blocked="")
    newest = state.truncated or ""
    if newest.endswith(BELOW_ALL_OFFSETS) and newest != at.truncated:
        raise ActionRefusedError(
            f"{table} has mode {modes[table]}, and rows of it ended as a snapshot did not contain "
            "them, which no record tells",
            state=UNCHANGED,
            next_step="fold the table by a new pipeline from a new snapshot of the source",
        )
    return at


def _target_of(pipeline: PipelineSpec, world: World, now: Progress, table: TableName) -> TableId:
    """The target of ``table``; ActionRefusedError where nothing was ever published of it."""
    history = read_history(world.catalog, SystemTables.of(pipeline.name))
    target = targets_of(pipeline, history, now).get(table)
    if target is None or (str(table), str(target)) not in history.folded:
        raise ActionRefusedError(
            f"nothing of {table} was published by pipeline {pipeline.name}",
            state=UNCHANGED,
            next_step=f"look which tables are: tidemark status {pipeline.name}",
        )
    return target


def _refuse_name(pipeline: PipelineSpec, world: World, into: str) -> None:
    if not into:
        return
    reason = refusal(into) or ("it holds a dot" if "." in into else None)
    if into in existing_tables(world.catalog, pipeline.target_namespace):
        reason = f"{pipeline.target_namespace} has a table of that name"
    if reason is not None:
        raise ActionRefusedError(
            f"{into!r} cannot be the name of a new table: {reason}",
            state=UNCHANGED,
            next_step="give another name: --into NAME",
        )


def _cut_until(pipeline: PipelineSpec, world: World, moment: datetime) -> int:
    """The newest published cut without a change that is newer than ``moment``, source time.

    Cuts are sought by halves, as each goes at least as far as the one before it.
    """
    system = SystemTables.of(pipeline.name)
    limit_ms = int(moment.timestamp() * 1000)

    def goes_further(cut: int) -> bool:
        progress = progress_of_cut(world.catalog, system, cut)
        return progress is not None and progress.newest_ms > limit_ms

    cuts = range(1, read_progress(world.catalog, system).cut + 1)
    newest = bisect_right(cuts, 0, key=goes_further)
    if newest == 0:
        raise ActionRefusedError(
            f"every cut of pipeline {pipeline.name} goes further than {moment.isoformat()}",
            state=UNCHANGED,
            next_step="take a later time, of the source",
        )
    return cuts[newest - 1]


def _progress_of(pipeline: PipelineSpec, world: World, cut: int, table: TableName) -> Progress:
    """Progress once ``cut`` was published, by the names of now; of ``table`` as readers saw it."""
    system = SystemTables.of(pipeline.name)
    progress = progress_of_cut(world.catalog, system, cut)
    if progress is None:
        newest = read_progress(world.catalog, system).cut
        raise ActionRefusedError(
            f"how far cut {cut} went is not known; the newest cut is {newest}, and cuts that an "
            "older version of Tidemark published do not tell",
            state=UNCHANGED,
            next_step=f"take another cut: tidemark status {pipeline.name} lists the newest",
        )
    progress = progress.under(pipeline.renames)
    return progress.without_refold(table) if table in progress.refolds else progress
