"""Columns under the names that records had for them at their position (SCHEMA-4, SCHEMA-30)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import and_

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.formats.json_fields import text_fields
from tidemark.formats.record_schema import ROUTED_FROM
from tidemark.model.column_rename import ColumnAlias, is_reused
from tidemark.model.columns import TableSchema
from tidemark.model.names import ColumnName


def written_fields(schema: TableSchema, names: Iterable[ColumnName]) -> str:
    """The columns ``names`` under every name that records have for them, as texts."""
    return text_fields(dict.fromkeys(n for name in names for n in schema.column_alias(name).names))


def by_name(image: Column, schema: TableSchema, names: Iterable[ColumnName]) -> Column:
    """``image``, a struct of `written_fields`, as a struct of the columns ``names``.

    The record's position stands beside it, as ``position``. A record that is older than a column
    holds no value of it, even if it has one of that name.
    """
    wanted = list(names)
    if not any(_is_moved(schema, name) for name in wanted):
        return image
    values = (_value(image, schema.column_alias(name)).alias(name) for name in wanted)
    return F.when(image.isNotNull(), F.struct(*values))


def _is_moved(schema: TableSchema, name: ColumnName) -> bool:
    column_alias = schema.column_alias(name)
    return bool(column_alias.former) or is_reused(schema.column_renames, name)


def _value(image: Column, column_alias: ColumnAlias) -> Column:
    value = image[column_alias.name]
    for until, name in column_alias.former:
        value = F.when(F.col("position") <= until, image[name]).otherwise(value)
    return (
        value
        if column_alias.since is None
        else F.when(F.col("position") > column_alias.since, value)
    )


def name_in_record(column_alias: ColumnAlias) -> Column:
    """The name that a record has for a column; null where it is older than the column."""
    name = F.lit(column_alias.name)
    for until, former in column_alias.former:
        name = F.when(F.col("position") <= until, F.lit(former)).otherwise(name)
    return (
        name if column_alias.since is None else F.when(F.col("position") > column_alias.since, name)
    )


def whole_key(texts: Column, schema: TableSchema) -> Column:
    """``texts``, a map, as a struct of the key's columns; null where it has other ones (KEY-1).

    The record's position stands beside it. What routes a record is no column.
    """
    names = [name_in_record(schema.column_alias(name)) for name in schema.key]
    key_columns = (
        F.try_element_at(texts, n).alias(k) for k, n in zip(schema.key, names, strict=True)
    )
    are_there = reduce(and_, (F.map_contains_key(texts, name) for name in names))
    size = F.size(texts)
    is_routed = (size == len(names) + 1) & F.map_contains_key(texts, ROUTED_FROM)
    return F.when(are_there & ((size == len(names)) | is_routed), F.struct(*key_columns))
