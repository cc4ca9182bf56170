"""The changes of a target between two published cuts, for jobs that read increments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from tidemark.errors import UNCHANGED, ActionRefusedError
from tidemark.fold.comparable import comparable
from tidemark.lake.catalog import SystemTables, catalog_errors
from tidemark.lake.evolve import read_target
from tidemark.lake.feed import CHANGE_TYPE, DELETE, INSERT, UPDATE_AFTER, changed_rows
from tidemark.lake.history import read_history
from tidemark.lake.ledger import UNKNOWN, newest_snapshots, read_progress
from tidemark.lake.schema_differences import schema_differences
from tidemark.lake.sql import SYSTEM_COLUMNS
from tidemark.model.columns import POSITION
from tidemark.model.names import TableName, few, quote
from tidemark.model.target_mode import TargetMode
from tidemark.runs.targets import targets_of
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec

Moment = int | str
"""A published cut by its number, or whatever a tag of the target names."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What a target lost and got between two cuts.

    rows: as `changes_between` has them. identity: the columns that tell rows apart. compared: those
    of which another value is a change. columns: what became of the columns, a sentence each.
    """

    rows: DataFrame
    identity: tuple[str, ...]
    compared: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangedKey:
    """A row that differs: its key, INSERT, DELETE or UPDATE, and the columns of an update."""

    key: tuple[Any, ...]
    change: str
    columns: tuple[str, ...] = ()


@contextmanager
def changes_between(
    pipeline: PipelineSpec, world: World, table: TableName, before: Moment, after: Moment
) -> Iterator[DataFrame]:
    """What the target of ``table`` lost and got between ``before`` and ``after``.

    before: 0 for all rows that are there at ``after``. Out: ``_change_type`` (INSERT, DELETE,
    UPDATE_BEFORE, UPDATE_AFTER) beside the target's columns as they are now; read it while it is
    open. Applied to the rows of the one cut it gives those of the other (FEED-1). Raises
    ActionRefusedError where a cut or tag is unknown, or its snapshot is not kept any more.
    """
    with open_changes(pipeline, world, table, (before, after)) as changes:
        yield changes.rows


@contextmanager
def open_changes(
    pipeline: PipelineSpec, world: World, table: TableName, moments: tuple[Moment, Moment]
) -> Iterator[Changes]:
    """As `changes_between`, with what is to be known of the rows beside them."""
    system = SystemTables.of(pipeline.name)
    progress = read_progress(world.catalog, system)
    cuts = [moment for moment in moments if isinstance(moment, int)]
    is_known = all(0 <= cut <= progress.cut for cut in cuts)
    if cuts != sorted(cuts) or not is_known or moments[1] == 0:
        raise _no_changes(moments, progress.cut)
    progress = progress.under(pipeline.renames)
    target = targets_of(pipeline, read_history(world.catalog, system), progress).get(table)
    head = read_target(world.catalog, target) if target is not None else None
    if target is None or head is None:
        raise ActionRefusedError(
            f"{table} has no target in pipeline {pipeline.name}",
            state=UNCHANGED,
            next_step=f"look which tables have: tidemark status {pipeline.name}",
        )
    with catalog_errors(f"the reading of {target}"):
        published = world.catalog.load_table(target.parts)
    by_cut = newest_snapshots(world.catalog, system, [(str(target), cut) for cut in cuts])
    known: Mapping[Moment, int | None] = dict(zip(cuts, by_cut, strict=True))
    old, new = (_snapshot(published, moment, known) for moment in moments)
    snapshots = (old, UNKNOWN if new is None else new)
    _refuse_expired(pipeline, table, published, dict(zip(moments, snapshots, strict=True)))
    if _age(published, old) > _age(published, new):
        raise _no_changes(moments, progress.cut)
    schema = head.source_schema.in_target
    columns = world.spark.table(quote(world.catalog.name, *target.parts)).columns
    is_versioned = schema.mode is TargetMode.HISTORY
    identity = (*schema.row_key, *((POSITION,) if is_versioned else ()))
    compared = tuple(name for name in columns if name not in SYSTEM_COLUMNS)
    _refuse_other_key(
        pipeline, table, published, dict(zip(moments, snapshots, strict=True)), identity
    )
    with changed_rows(
        *(world.spark, world.catalog, target, snapshots), identity=identity, compared=compared
    ) as rows:
        yield Changes(rows, identity, compared, _column_changes(published, snapshots))


def changed_keys(changes: Changes, most: int) -> list[ChangedKey]:
    """The first ``most`` rows that differ, in the order of their keys, as Spark has it."""
    key = [f"key_{at}" for at in range(len(changes.identity))]
    images = changes.rows.select(
        *(F.col(quote(name)).alias(part) for name, part in zip(changes.identity, key, strict=True)),
        F.col(CHANGE_TYPE).isin(INSERT, UPDATE_AFTER).alias("is_new"),
        F.struct(*(F.col(quote(name)) for name in changes.compared)).alias("image"),
    )
    was, now = (
        F.first(F.when(F.col("is_new") == is_new, F.col("image")), ignorenulls=True)
        for is_new in (False, True)
    )
    both = images.groupBy(*key).agg(was.alias("was"), now.alias("now"))
    kind = F.when(F.col("was").isNull(), INSERT).when(F.col("now").isNull(), DELETE)
    others = F.array_compact(
        F.array(*(F.when(_differs(changes.rows, name), name) for name in changes.compared))
    )
    first = both.select(*key, kind.alias("kind"), others.alias("others")).orderBy(*key).limit(most)
    return [
        ChangedKey(tuple(row[: len(key)]), row["kind"] or "UPDATE", _updated(row))
        for row in first.collect()
    ]


def _differs(rows: DataFrame, name: str) -> Column:
    was, now = (comparable(F.col(of)[name], rows.schema[name].dataType) for of in ("was", "now"))
    return ~was.eqNullSafe(now)


def _updated(row: Row) -> tuple[str, ...]:
    return () if row["kind"] else tuple(row["others"])


def _named(moment: Moment) -> str:
    return f"cut {moment}" if isinstance(moment, int) else f"tag {moment}"


def _no_changes(moments: tuple[Moment, Moment], newest: int) -> ActionRefusedError:
    return ActionRefusedError(
        f"there are no changes from {_named(moments[0])} to {_named(moments[1])}; the newest "
        f"cut is {newest}",
        state=UNCHANGED,
        next_step="name an earlier cut first, and a later one that is published",
    )


def _age(published: Table, snapshot: int | None) -> int:
    """How many commits of the table had come up to ``snapshot``."""
    standing = None if snapshot is None else published.snapshot_by_id(snapshot)
    return 0 if standing is None else standing.sequence_number or 0


def _target(published: Table) -> str:
    return ".".join(published.name())


def _snapshot(published: Table, moment: Moment, by_cut: Mapping[Moment, int | None]) -> int | None:
    if moment in by_cut:
        return by_cut[moment]
    refs = published.refs()
    tags = [name for name, ref in refs.items() if ref.snapshot_ref_type is SnapshotRefType.TAG]
    if moment not in tags:
        raise ActionRefusedError(
            f"{_target(published)} has no tag {moment}; it has {few(sorted(tags)) or 'none'}",
            state=UNCHANGED,
            next_step="name one of its tags, or the number of a cut",
        )
    return refs[str(moment)].snapshot_id


def _refuse_expired(
    pipeline: PipelineSpec,
    table: TableName,
    published: Table,
    snapshots: Mapping[Moment, int | None],
) -> None:
    """`ActionRefusedError` where what a cut left in ``main`` is not there any more."""
    remaining = {snapshot.snapshot_id for snapshot in published.snapshots()}
    for moment, snapshot in snapshots.items():
        if snapshot is not None and snapshot not in remaining:
            raise ActionRefusedError(
                f"what {_named(moment)} published of {table} is not kept in {_target(published)} "
                "any more, or had another name",
                state=UNCHANGED,
                next_step="fold it again: tidemark refold "
                f"{pipeline.name} {table} --into NAME --as-of {moment}",
            )


def _refuse_other_key(
    pipeline: PipelineSpec,
    table: TableName,
    published: Table,
    snapshots: Mapping[Moment, int | None],
    identity: Sequence[str],
) -> None:
    """`ActionRefusedError` where rows of one of ``snapshots`` lack a column of the key of now."""
    wanted = {published.schema().find_field(name).field_id for name in identity}
    for moment, snapshot in snapshots.items():
        there = published.snapshot_by_id(snapshot) if snapshot is not None else None
        if there is None or there.schema_id is None:
            continue
        known = {field.field_id for field in published.schemas()[there.schema_id].fields}
        if not wanted <= known:
            raise ActionRefusedError(
                f"a column of the key of {table} joined, or got another type, after "
                f"{_named(moment)}, so that its rows cannot be compared",
                state=UNCHANGED,
                next_step="name two cuts behind that; tidemark history "
                f"{pipeline.name} {table} shows it",
            )


def _column_changes(table: Table, snapshots: tuple[int | None, int]) -> tuple[str, ...]:
    """What became of the columns; nothing where the table was not there yet."""
    if snapshots[0] is None:
        return ()
    schemas = table.schemas()
    standing = [table.snapshot_by_id(snapshot) for snapshot in snapshots if snapshot is not None]
    ids = [None if snapshot is None else snapshot.schema_id for snapshot in standing]
    old, new = (table.schema() if one is None else schemas[one] for one in ids)
    return schema_differences(old, new)
