"""Targets are made and widened here; what a target knows of its source stands in a property.

Only additive changes come here: an Iceberg schema belongs to the table, not to a branch, so every
change shows on main at once (SCHEMA-10).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyspark.sql import SparkSession

from tidemark.errors import TableStoppedError
from tidemark.lake import sql
from tidemark.lake.catalog import TableId, catalog_errors, ensure_namespace
from tidemark.log import get_logger
from tidemark.model.columns import SourceColumn, TableSchema
from tidemark.model.names import ColumnName, quote
from tidemark.schema.changes import AddColumn, CreateTarget, SchemaChange, WidenColumn

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
    kept = json.loads(text)
    columns = tuple(SourceColumn.from_json(column) for column in kept["columns"])
    key = tuple(ColumnName(name) for name in kept["key"])
    return TableSchema(columns, key, kept.get("changed_at"))


def apply_changes(
    session: SparkSession,
    catalog: SqlCatalog,
    target: TableId,
    changes: Sequence[SchemaChange],
    want: TableSchema,
) -> None:
    """Apply ``changes`` to ``target`` and keep ``want`` with it. Safe to repeat after a crash."""
    name = (catalog.name, *target.parts)
    kept = json.dumps(
        {
            "columns": [column.to_json() for column in want.columns],
            "key": list(want.key),
            "changed_at": want.changed_at,
        }
    )
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
    session.sql(sql.set_property(name, SOURCE_SCHEMA, kept))
