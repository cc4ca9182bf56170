"""What the file declares of columns that the stream tells otherwise (SCHEMA-1)."""

from __future__ import annotations

from collections.abc import Mapping

from tidemark.errors import TableStoppedError
from tidemark.model.columns import SourceColumn, TableSchema
from tidemark.model.names import ColumnName, TableName
from tidemark.schema.overrides import overridden


def refuse_unreadable(
    table: TableName, schema: TableSchema, declared: Mapping[ColumnName, SourceColumn]
) -> None:
    """Raise where a column of ``schema`` stands in records as no ``declared`` one would.

    Such records have no schema of their own, and are read as the declared type is written.
    """
    for column in schema.columns:
        wanted = declared.get(column.name)
        if wanted is None or wanted.source_type == column.source_type:
            continue
        read = overridden(column, wanted)
        if read is None or read.encoding is not wanted.encoding:
            raise unreadable_as(table, column, wanted)


def unreadable_as(
    table: TableName, column: SourceColumn, declared: SourceColumn
) -> TableStoppedError:
    """The error for a column that is declared as what its records cannot be read as."""
    name = column.name
    return TableStoppedError(
        f"columns: of {table} declares {name} as {declared.source_type}, and the stream tells "
        f"{column.source_type}, of which records hold {column.iceberg} as {column.encoding}: that "
        f"cannot be read as {declared.iceberg}",
        state="the table stays as it was last published; its records wait in the changelog",
        next_step=f"take {name} out of columns: of {table}, or declare a type as which it can be "
        "read (docs/tables.md#types-of-columns)",
    )
