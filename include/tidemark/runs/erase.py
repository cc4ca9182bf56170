"""An erasure: what is known of some keys of a table, but for rows that the source still has.

An operator action (ERASE-1). Records of the changelog lose what they say and keep where they stand,
what the target keeps of ended rows goes, and changes in quarantine are dropped: all of it in one
step, which supersedes what runs have staged. Then the target's files are rewritten that hold
deleted rows. Snapshots of before, and their files, go as they expire.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import pyarrow as pa
from pyiceberg.table.refs import MAIN_BRANCH
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from tidemark.errors import UNCHANGED, ActionRefusedError, SupersededError
from tidemark.fold.computed import computed_once
from tidemark.fold.erased import KEY, PLACE, erased_parts, records_of, typed_keys, with_standing
from tidemark.formats.canal_json.images import KEYS_PER_ROW, whole_rows
from tidemark.formats.decoder import decoder_of
from tidemark.lake import sql
from tidemark.lake.bases import bases_in, keep_bases
from tidemark.lake.catalog import SystemTables, TableId, catalog_errors
from tidemark.lake.commits import begin_branch, commit_order
from tidemark.lake.effect import Effect, effect_of
from tidemark.lake.evolve import TargetHead, read_target
from tidemark.lake.history import existing_tables, read_history
from tidemark.lake.landing import SCHEMA
from tidemark.lake.ledger import read_progress, stage_action
from tidemark.lake.procedures import Procedures
from tidemark.lake.publication import update_mains
from tidemark.lake.quarantine import read_waiting, rows_of, stage_entries
from tidemark.lake.refs import RefUpdate, attempt_ref
from tidemark.lake.spark_errors import spark_errors
from tidemark.lake.staging import unmark_session
from tidemark.lake.table_files import read_files
from tidemark.lake.unfinished import finish_publication
from tidemark.log import get_logger
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.columns import TableSchema
from tidemark.model.cut import Cut
from tidemark.model.erasure import Erasure, Key
from tidemark.model.event import Kind
from tidemark.model.names import AttemptId, TableName, quote
from tidemark.model.quarantine import Entry, State
from tidemark.model.shown import plural
from tidemark.model.target_mode import TargetMode
from tidemark.runs.changelog import Changelog
from tidemark.runs.landing.writer_schemas import stored_schemas
from tidemark.runs.maintain import policy_of
from tidemark.runs.run import CutRequest, Run, begin_run
from tidemark.runs.shortened import GONE, shortened
from tidemark.runs.targets import targets_of
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec

log = get_logger()


def erase(
    pipeline: PipelineSpec, world: World, table: TableName, keys: Sequence[Key], reason: str
) -> Erasure:
    """Erase what is known of ``keys`` of ``table``; what a row says that still stands stays.

    reason: kept in the ledger, beside how many keys there were, and none of them. Raises
    ActionRefusedError where the table has no target or no key, or a key is not one of it.
    """
    unmark_session(world.spark)
    with spark_errors("an erasure"):
        done = commit_order(lambda: _Erasing.of(pipeline, world, table, keys).committed(reason))
    log.info("keys_erased", pipeline=pipeline.name, table=str(table), keys=len(keys))
    return _cleaned(pipeline, world, table, done)


@dataclass(frozen=True, slots=True)
class _Record:
    """What goes of a record.

    parts: the changes that go, None where all do. gone: numbers of the rows that go where others
    stay. is_shared: a row stays that one of these keys had, as it has another one as well.
    """

    place: tuple[str, int, int]
    parts: frozenset[int] | None = None
    gone: frozenset[int] = frozenset()
    is_shared: bool = False

    @classmethod
    def of(cls, row: Row, *, is_canal: bool) -> _Record:
        """row: as `fold.erased.records_of` tells; is_canal: whether rows go one by one."""
        place = (row.topic, row.partition, row.offset)
        if len(row.wanted) == len(row.there):
            return cls(place)
        gone = whole_rows(row.wanted, row.there) if is_canal else frozenset()
        parts = frozenset(part for part in row.wanted if part // KEYS_PER_ROW in gone)
        return cls(place, parts, gone, is_shared=len(parts) < len(row.wanted))

    @property
    def is_whole(self) -> bool:
        """Whether nothing stays but the place."""
        return self.parts is None

    @property
    def changes(self) -> bool:
        """Whether anything of it goes."""
        return self.is_whole or bool(self.gone)

    def ends(self, entry: Entry) -> bool:
        """Whether what was quarantined of it goes."""
        return self.parts is None or entry.row in self.parts


@dataclass(frozen=True, slots=True)
class _Erasing:
    """One try: a run that publishes no cut, and what is to be erased by what it has read.

    keys: KEY and STANDING of each.
    """

    run: Run
    table: TableName
    target_id: TableId
    head: TargetHead
    keys: DataFrame

    @classmethod
    def of(
        cls, pipeline: PipelineSpec, world: World, table: TableName, keys: Sequence[Key]
    ) -> _Erasing:
        """A try by what is published now."""
        attempt = AttemptId(f"order_{uuid.uuid4().hex}")
        finish_publication(world.catalog, SystemTables.of(pipeline.name))
        run = begin_run(pipeline, world, CutRequest(attempt))
        target_id, head = _target(run, table)
        schema = head.source_schema
        typed = _typed(world, schema, keys)
        target = world.spark.read.option("versionAsOf", str(head.snapshot)).table(
            quote(world.catalog.name, *target_id.parts)
        )
        named = sql.key_in_target(schema, KEY)
        standing = with_standing(typed, target, schema, named)
        return cls(run, table, target_id, head, computed_once(standing))

    @property
    def schema(self) -> TableSchema:
        """The columns of the table."""
        return self.head.source_schema

    def committed(self, reason: str) -> Erasure:
        """Stage everything and publish it at once; `SupersededError` where others came first."""
        catalog, system = self.run.world.catalog, self.run.system
        records = self._records()
        entries = self._entries(records)
        staged = [self._records_erased(records)] if any(r.changes for r in records) else []
        rows, effect = self._rows_deleted()
        staged += [rows] if rows is not None else []
        heads, cut = self.run.heads, self.run.progress.cut
        branch = attempt_ref(cut + 1, self.run.request.attempt)
        if entries:
            ended = rows_of(entries)
            staged.append(stage_entries(catalog, system, heads.quarantine, branch, ended))
        number = self.keys.count()
        words = f"erase {self.table}, {plural(number, 'key')}: {reason}"
        staged.append(stage_action(catalog, system, heads.ledger, words))
        update_mains(catalog, staged)
        unread = read_waiting(catalog, system)
        return Erasure(
            keys=number,
            records=sum(record.is_whole for record in records),
            shortened=sum(bool(record.gone) for record in records),
            shared=sum(record.is_shared for record in records),
            rows=effect.deleted,
            entries=len(entries),
            unreadable=sum(not entry.table for entry in unread),
        )

    def _records(self) -> Sequence[_Record]:
        """The records up to the frontier that hold one of the keys.

        With the tombstones behind them, whose keys are the same; also of what came again and is in
        no cut yet.
        """
        progress, pipeline = self.run.progress, self.run.pipeline
        frontier = progress.frontier_of(self.table)
        cut = Cut(progress.cut + 1, pipeline.source.gate, frontier, None)
        changelog = Changelog(self.run).under(progress.known_renames(pipeline.renames))
        events = changelog.towards(cut, frontier).landed(self.table)
        events = events.where(f"kind = '{Kind.ROW}' AND status <> '{CheckpointStatus.HELD}'")
        decoder = decoder_of(pipeline.source, stored_schemas(self.run))
        by_key, by_image = (
            decoder.changes(events, self.schema, key_from_images=way) for way in (False, True)
        )
        parts = erased_parts(by_key, self.keys).unionByName(erased_parts(by_image, self.keys))
        there = by_key.select(*PLACE, "part").unionByName(by_image.select(*PLACE, "part"))
        records = computed_once(records_of(there, parts))
        record_keys = events.join(records, list(PLACE), "left_semi").select("topic", "key")
        tombstones = changelog.landed().where(F.col("kind") == Kind.TOMBSTONE.value)
        beside = tombstones.join(record_keys, ["topic", "key"], "left_semi").select(*PLACE)
        is_canal = pipeline.source.format.is_canal
        return [
            *(_Record.of(row, is_canal=is_canal) for row in records.collect()),
            *(_Record(tuple(row)) for row in beside.collect()),
        ]

    def _entries(self, records: Sequence[_Record]) -> list[Entry]:
        """What waits in quarantine of what goes of ``records``, as it is given up."""
        progress, renames = self.run.progress, self.run.progress.known_renames(self.run.renames)
        waiting = read_waiting(self.run.world.catalog, self.run.system, renames)
        by_place = {record.place: record for record in records}
        matched = ((entry, by_place.get(entry.place)) for entry in waiting)
        ended = (entry for entry, record in matched if record is not None and record.ends(entry))
        return [
            replace(entry, state=State.DROPPED, cut=progress.cut, reason="erased").as_stored(
                renames
            )
            for entry in ended
        ]

    def _records_erased(self, records: Sequence[_Record]) -> RefUpdate:
        world, system, head = self.run.world, self.run.system, self.run.heads.changelog
        with catalog_errors("the reading of the changelog"):
            changelog = world.catalog.load_table(system.changelog.parts)
        name = attempt_ref(head.mark.number + 1, self.run.request.attempt)
        branch = begin_branch(changelog, head.snapshot, name)
        view = f"places_{name}"
        self._as_erased(records).createOrReplaceTempView(view)
        table = (world.catalog.name, *system.changelog.parts, f"branch_{name}")
        world.spark.sql(sql.erase_records(table, view))
        world.spark.catalog.dropTempView(view)
        return branch.ref_update(changelog.refresh())

    def _as_erased(self, records: Sequence[_Record]) -> DataFrame:
        """PLACE and ``value`` of each record that changes, null where nothing of it stays."""
        changed = [record for record in records if record.changes]
        fields = [*(SCHEMA.field(name) for name in PLACE), GONE]
        rows = [
            dict(zip((*PLACE, GONE.name), (*record.place, sorted(record.gone)), strict=True))
            for record in changed
        ]
        table = pa.Table.from_pylist(rows, pa.schema(fields))
        places = self.run.world.spark.createDataFrame(table)
        is_whole = F.size(GONE.name) == 0
        erased = places.where(is_whole).withColumn("value", F.lit(None).cast("binary"))
        erased = erased.drop(GONE.name)
        if not any(record.gone for record in changed):
            return erased
        landed = Changelog(self.run).landed().select(*PLACE, "value")
        shorter = landed.join(F.broadcast(places.where(~is_whole)), list(PLACE))
        return erased.unionByName(shortened(shorter))

    def _rows_deleted(self) -> tuple[RefUpdate | None, Effect]:
        """What the target keeps of rows that ended; a mirror keeps nothing of them."""
        base = self.head.snapshot
        if self.schema.mode is TargetMode.MIRROR or base is None:
            return None, Effect()
        world = self.run.world
        name = attempt_ref(self.run.progress.cut + 1, self.run.request.attempt)
        with catalog_errors(f"the reading of {self.target_id}"):
            table = world.catalog.load_table(self.target_id.parts)
        branch = begin_branch(table, base, name)
        self.keys.createOrReplaceTempView(name)
        place = (world.catalog.name, *self.target_id.parts, f"branch_{name}")
        world.spark.sql(sql.erase_rows(place, name, self.schema))
        world.spark.catalog.dropTempView(name)
        staged = branch.ref_update(table.refresh())
        return staged, effect_of(table, staged.snapshot, base)


def _target(run: Run, table: TableName) -> tuple[TableId, TargetHead]:
    """The target of ``table``, as it was published."""
    pipeline, catalog = run.pipeline, run.world.catalog
    status = f"look how it stands: tidemark status {pipeline.name}"
    history = read_history(catalog, run.system)
    target_id = targets_of(pipeline, history, run.progress).get(table)
    newest = history.changed.get(str(target_id))
    head = read_target(catalog, target_id, newest) if target_id is not None else None
    if target_id is None or head is None or head.snapshot is None:
        raise _refused(f"nothing of {table} was published by pipeline {pipeline.name}", status)
    if head.change:
        raise _refused(
            f"{target_id} is not as it was published: {head.change}", head.back or status
        )
    if table in run.progress.refolds:
        why = f"{table} is refolded, and its new target may hold the rows already"
        raise _refused(why, "let the refold come to its end, or cancel it")
    if not head.source_schema.key:
        why = f"{table} has no key that tells which of its records are meant"
        raise _refused(why, f"declare key: of {table}, then refold it")
    return target_id, head


def _typed(world: World, schema: TableSchema, keys: Sequence[Key]) -> DataFrame:
    """The keys in the types of their columns."""
    for number, key in enumerate(keys, start=1):
        if set(key) != set(schema.key):
            why = f"key {number} has the columns {sorted(key)}, and rows have {list(schema.key)}"
            raise _refused(why, "name each column of the key once")
    texts = [[key[name] for name in schema.key] for key in keys]
    typed = typed_keys(world.spark, texts, schema)
    has_null_key = " OR ".join(f"{KEY}.{quote(name)} IS NULL" for name in schema.key)
    wrong = sorted(row.number + 1 for row in typed.where(has_null_key).select("number").collect())
    if wrong:
        types = ", ".join(f"{name} {schema[name].iceberg}" for name in schema.key)
        raise _refused(f"key {wrong[0]} holds no value of its type ({types})", "correct it")
    return typed.select(KEY).distinct()


def _refused(what: str, next_step: str) -> ActionRefusedError:
    return ActionRefusedError(what, state=UNCHANGED, next_step=next_step)


def _cleaned(pipeline: PipelineSpec, world: World, table: TableName, done: Erasure) -> Erasure:
    """``done``, once files that hold deleted rows are rewritten, and what still holds them."""
    catalog, system = world.catalog, SystemTables.of(pipeline.name)
    progress = read_progress(catalog, system).under(pipeline.renames)
    target_id = targets_of(pipeline, read_history(catalog, system), progress)[table]
    with catalog_errors(f"the reading of {target_id}"):
        target = catalog.load_table(target_id.parts)
    if bases := bases_in(target):
        keep_bases(target, [], bases)
    policy = policy_of(pipeline, world)
    worn = replace(policy, max_delete_files=1)
    with suppress(SupersededError), spark_errors(f"the rewriting of {target_id}"):
        run = Procedures(world.spark, catalog.name, target_id, worn)
        run.rewrite(is_sorted=bool(target.sort_order().fields))
    with catalog_errors(f"the reading of {target_id}"):
        tables = [catalog.load_table(name.parts) for name in (target_id, system.changelog)]
    files = read_files(tables[0])
    left = sorted(
        name
        for name in existing_tables(catalog, target_id.namespace)
        if name.startswith((f"{target_id.table}__until_cut_", f"{target_id.table}__refold_"))
    )
    return replace(
        done,
        is_rewritten=not any(file.deleted for part in files.files.values() for file in part),
        refs=tuple(
            f"{'.'.join(iceberg_table.name())} {name}"
            for iceberg_table in tables
            for name in sorted(iceberg_table.refs())
            if name != MAIN_BRANCH
        ),
        tables=tuple(f"{target_id.namespace}.{name}" for name in left),
        days=policy.keep_days,
    )
