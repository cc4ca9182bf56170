"""The key of a row, typed: keys are compared as values, never as text (KEY-2)."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.formats.values import typed
from tidemark.model.columns import TableSchema


def typed_key(raw: Column, schema: TableSchema) -> Column:
    """A struct of the key columns, typed; raw: a struct of their texts."""
    return F.struct(*(typed(raw[name], schema[name]).alias(name) for name in schema.key))
