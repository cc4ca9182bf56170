"""The key of a row, typed: keys are compared as values, never as text (KEY-2)."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.formats.values import read_by_schema, typed_variant
from tidemark.model.columns import SourceColumn, TableSchema


def typed_key(raw: Column, schema: TableSchema) -> Column:
    """A struct of the key columns, typed; raw: a struct of their texts, beside ``schema_id``."""
    schema_id = F.col("schema_id")
    return F.struct(
        *(key_value(raw[name], schema[name], schema_id).alias(name) for name in schema.key)
    )


def key_value(raw: Column, column: SourceColumn, schema_id: Column) -> Column:
    """One column of a key; raw: its text in a record of the schema ``schema_id``."""
    return read_by_schema(
        column, schema_id, lambda variant: typed_variant(raw, variant, column).cast(column.iceberg)
    )
