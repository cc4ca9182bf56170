"""Columns in the form that the schema of their record tells (SCHEMA-4)."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.model.columns import SourceColumn


def by_schema(
    column: SourceColumn, schema_id: Column, read: Callable[[SourceColumn], Column]
) -> Column:
    """``read`` of the column as records hold it that have the schema ``schema_id``."""
    value = read(column)
    for ids, form in column.forms:
        value = F.when(schema_id.isin(*ids), read(form)).otherwise(value)
    return value
