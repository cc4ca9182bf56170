"""The key of a row, typed: keys are compared as values, never as text (KEY-2)."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.formats.values import value_of
from tidemark.model.columns import TableSchema


def typed_key(raw: Column, schema: TableSchema) -> Column:
    """A struct of the key columns, typed.

    raw: a struct of their texts; ``schema_id`` and ``position`` of the record stand beside it.
    """
    of_record = F.col("schema_id"), F.col("position")
    return F.struct(*(value_of(raw[n], schema[n], *of_record).alias(n) for n in schema.key))
