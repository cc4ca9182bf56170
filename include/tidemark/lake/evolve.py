"""Targets are made and changed here; what a target knows of its source stands in a property.

An Iceberg schema belongs to the table, not to a branch, so every change shows on main at once: what
is there already is changed on a fork of it (SCHEMA-10, `lake.forks`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyspark.sql import SparkSession

from tidemark.errors import TableStoppedError
from tidemark.lake import sql
from tidemark.lake.catalog import TableId, catalog_errors, ensure_namespace
from tidemark.log import get_logger
from tidemark.model.columns import TableSchema
from tidemark.model.names import SYSTEM_PREFIX, quote
from tidemark.schema.changes import (
    AddColumn,
    CreateTarget,
    DropColumn,
    FillColumn,
    RenameColumn,
    SchemaChange,
    WidenColumn,
)

log = get_logger()

SOURCE_SCHEMA = "tidemark.source-schema"


def read_source_schema(catalog: SqlCatalog, target: TableId) -> TableSchema | None:
    """The source schema that ``target`` was made from; None when there is no such table."""
    with catalog_errors(f"the reading of {target}"):
        try:
            table = catalog.load_table(target.parts)
        except NoSuchTableError:
            return None
    text = table.properties.get(SOURCE_SCHEMA)
    if text is None:
        raise TableStoppedError(
            f"table {target} exists but was not made by Tidemark",
            state="it is not touched; other tables go on",
            next_step="give the source table another target in the pipeline file, "
            "or move the table away",
        )
    return TableSchema.from_json(json.loads(text))


def apply_changes(
    session: SparkSession,
    catalog: SqlCatalog,
    target: TableId,
    changes: Sequence[SchemaChange],
    want: TableSchema,
) -> None:
    """Apply ``changes`` to ``target``, a new table or a fork, and keep ``want`` with it.

    What happened before is not done again. Rows are filled on a branch (`lake.staging`).
    """
    name = (catalog.name, *target.parts)
    kept = json.dumps(want.to_json())
    for statement in _moved(name, changes):
        session.sql(statement)
    for change in changes:
        match change:
            case CreateTarget(schema):
                ensure_namespace(catalog, target.namespace)
                properties = {**sql.TARGET_PROPERTIES, SOURCE_SCHEMA: kept}
                session.sql(sql.create_target(name, schema, properties))
                log.info("table_created", table=str(target), columns=len(schema.columns))
                return
            case AddColumn(column):
                if column.name not in session.table(quote(*name)).columns:
                    session.sql(sql.add_column(name, column))
                    log.info("column_added", table=str(target), column=column.name)
            case WidenColumn(column, was):
                session.sql(sql.widen_column(name, column))
                log.info("column_widened", table=str(target), column=column.name, was=was)
            case RenameColumn(was, now):
                log.info("column_renamed", table=str(target), column=now, was=was)
            case DropColumn(gone):
                log.info("column_dropped", table=str(target), column=gone)
            case FillColumn():
                continue
    session.sql(sql.set_property(name, SOURCE_SCHEMA, kept))


def _moved(name: Sequence[str], changes: Sequence[SchemaChange]) -> Iterator[str]:
    """Statements that drop and rename all at once: nobody takes a name that is still taken."""
    gone = [change.name for change in changes if isinstance(change, DropColumn)]
    renamed = [change for change in changes if isinstance(change, RenameColumn)]
    taken = {change.was.lower() for change in renamed}
    passing = {
        change.was: f"{SYSTEM_PREFIX}moved_{number}"
        for number, change in enumerate(renamed)
        if change.name.lower() in taken
    }
    yield from (sql.drop_column(name, column) for column in gone)
    yield from (sql.rename_column(name, was, over) for was, over in passing.items())
    for change in sorted(renamed, key=lambda change: change.was in passing):
        yield sql.rename_column(name, passing.get(change.was, change.was), change.name)
