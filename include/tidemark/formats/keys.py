"""The key of a row, typed: keys are compared as values, never as text (KEY-2)."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.formats.values import value_of
from tidemark.model.columns import SourceColumn, TableSchema


def typed_key(raw: Column, schema: TableSchema) -> Column:
    """A struct of the key columns, typed.

    raw: a struct of their texts; ``schema_id`` and ``position`` of the record stand beside it.
    """
    of_record = F.col("schema_id"), F.col("position")
    return F.struct(*(key_value(raw[n], schema[n], *of_record).alias(n) for n in schema.key))


def key_value(raw: Column, column: SourceColumn, schema_id: Column, position: Column) -> Column:
    """One column of a key, in the very type of the target's; raw: its text in a record."""
    return value_of(raw, column, schema_id, position).try_cast(column.iceberg)
