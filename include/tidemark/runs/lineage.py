"""Lineage: what a published cut was made of, and what an audit read. No JVM."""

from __future__ import annotations

from collections.abc import Collection

from pyiceberg.table import Table

from tidemark.lake.catalog import SystemTables, TableId, catalog_errors
from tidemark.lake.landing import read_mark
from tidemark.lake.ledger import find_cut
from tidemark.model.lineage import AuditedTable, PublishedCut, PublishedTable, origins_of, topic_of
from tidemark.model.names import AttemptId, TableName, TopicName
from tidemark.model.result import CutResult, TableResult
from tidemark.runs.publish import read_verdicts
from tidemark.runs.targets import spec_of
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec


def read_published_cut(pipeline: PipelineSpec, world: World, attempt: AttemptId) -> PublishedCut:
    """What the cut of ``attempt`` was made of; without tables where it is not published."""
    system = SystemTables.of(pipeline.name)
    ends = read_mark(world.catalog, system).offsets
    result = find_cut(world.catalog, system, attempt)
    tables = result.tables if isinstance(result, CutResult) else ()
    topics = {place.topic for place in ends}
    return PublishedCut(ends, tuple(_published(pipeline, world, each, topics) for each in tables))


def read_audited_tables(
    pipeline: PipelineSpec, world: World, attempt: AttemptId, cut: int
) -> tuple[AuditedTable, ...]:
    """What the audit of ``attempt`` at ``cut`` read and found, table by table."""
    return tuple(
        AuditedTable(verdict.table, _load(world, verdict.table).location(), verdict)
        for verdict in read_verdicts(pipeline, world, attempt, cut)
    )


def _published(
    pipeline: PipelineSpec, world: World, result: TableResult, topics: Collection[TopicName]
) -> PublishedTable:
    table, source = _load(world, result.target), TableName.parse(result.table)
    types = {column.name: str(column.field_type) for column in table.schema().fields}
    return PublishedTable(
        target=result.target,
        location=table.location(),
        snapshot_id=result.snapshot_id,
        rows=result.inserted + result.updated,
        types=types,
        topic=topic_of(source, topics),
        origins=origins_of(types, spec_of(pipeline, source).target_columns.rules),
    )


def _load(world: World, target: str) -> Table:
    namespace, _, name = target.rpartition(".")
    with catalog_errors(f"the reading of {target}"):
        return world.catalog.load_table(TableId(namespace, name).parts)
