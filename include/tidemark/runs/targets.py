"""Which Iceberg table follows which source table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from tidemark.lake.catalog import TableId
from tidemark.lake.history import History
from tidemark.model.columns import TableSchema
from tidemark.model.names import TableName, refusal, without_dots
from tidemark.model.progress import Progress
from tidemark.spec import NO_SUITE, OtherTables, PipelineSpec, TableSpec


def targets_of(
    pipeline: PipelineSpec, history: History, progress: Progress
) -> Mapping[TableName, TableId]:
    """The declared tables, and those that were followed without being declared."""
    declared = {spec.source: spec.target for spec in pipeline.tables}
    seen = {TableName.parse(table) for table, _ in history.folded} | progress.behind.keys()
    former = {rename.old for rename in pipeline.renames}
    followed = followed_targets(pipeline, history, seen - declared.keys() - former)
    return {
        table: TableId(pipeline.target_namespace, target)
        for table, target in (declared | followed).items()
    }


def followed_targets(
    pipeline: PipelineSpec, history: History, tables: Collection[TableName]
) -> dict[TableName, str]:
    """What the targets of ``tables`` are called, which are followed without being declared.

    Like their table, `without_dots`; where the table of another database has that target already,
    with the name of the database in front. What was published stays.
    """
    published = {source: target.rpartition(".")[2] for source, target in history.folded}
    owners = {spec.target.casefold(): str(spec.source) for spec in pipeline.tables}
    for source, target in sorted(published.items()):
        owners.setdefault(target.casefold(), source)
    targets: dict[TableName, str] = {}
    for table in sorted(tables):
        name = published.get(str(table), without_dots(table.table))
        if owners.setdefault(name.casefold(), str(table)) != str(table):
            name = without_dots(f"{table.schema}__{table.table}")
        targets[table] = name
    return targets


def spec_of(pipeline: PipelineSpec, table: TableName) -> TableSpec:
    """What the file declares of ``table``, or what holds for one that is followed without that."""
    declared = {spec.source: spec for spec in pipeline.tables}
    return declared.get(table) or TableSpec(source=table, expectations=NO_SUITE)


def declared_as(schema: TableSchema, spec: TableSpec) -> TableSchema:
    """The columns of ``schema`` in a target that is made as ``spec`` declares it."""
    return replace(
        schema,
        key=spec.key or schema.key,
        layout=spec.layout,
        rules=spec.target_columns.rules,
        mode=spec.mode,
    )


def added_tables(pipeline: PipelineSpec, published: Progress) -> frozenset[TableName]:
    """Tables that came into the file since the newest cut (SCHEMA-35).

    None where tables are followed without being declared: those were folded from the beginning.
    """
    if pipeline.other_tables is OtherTables.FOLLOW:
        return frozenset()
    return published.added(pipeline.declared)


def possible_names(pipeline: PipelineSpec, names: Collection[str]) -> set[str]:
    """What the file may call the tables that a transaction names without a position.

    Nothing tells on which side of an exchange of names it stood (SCHEMA-34).
    """
    now = {str(rename.old): str(rename.new) for rename in pipeline.renames}
    declared = {str(table.source) for table in pipeline.tables}
    return {now.get(name, name) for name in names} | (declared & set(names))


def is_folded(pipeline: PipelineSpec, name: tuple[str, str]) -> bool:
    """Whether the table that records call ``name`` (schema, table) has a target."""
    signals = pipeline.source.signal_table
    if signals is not None and (signals.schema, signals.table) == name:
        return False
    if any((table.source.schema, table.source.table) == name for table in pipeline.tables):
        return True
    if pipeline.other_tables is not OtherTables.FOLLOW or any(map(refusal, name)):
        return False
    return pipeline.source.shadowed(TableName(*name)) is None
