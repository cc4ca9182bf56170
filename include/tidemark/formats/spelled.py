"""Columns under the names that records had for them at their position (SCHEMA-4, SCHEMA-30)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import and_

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.formats.json_fields import text_fields
from tidemark.model.columns import TableSchema
from tidemark.model.names import ColumnName
from tidemark.model.shift import Spelling, is_reused


def written_fields(schema: TableSchema, names: Iterable[ColumnName]) -> str:
    """The columns ``names`` under every name that records have for them, as texts."""
    return text_fields(dict.fromkeys(n for name in names for n in schema.spelling(name).names))


def by_name(image: Column, schema: TableSchema, names: Iterable[ColumnName]) -> Column:
    """``image``, a struct of `written_fields`, as a struct of the columns ``names``.

    The record's position stands beside it, as ``position``. A record that is older than a column
    holds no value of it, even if it has one of that name.
    """
    wanted = list(names)
    if not any(_is_moved(schema, name) for name in wanted):
        return image
    values = (_value(image, schema.spelling(name)).alias(name) for name in wanted)
    return F.when(image.isNotNull(), F.struct(*values))


def _is_moved(schema: TableSchema, name: ColumnName) -> bool:
    spelling = schema.spelling(name)
    return bool(spelling.former) or is_reused(schema.shifts, name)


def _value(image: Column, spelling: Spelling) -> Column:
    value = image[spelling.name]
    for until, name in spelling.former:
        value = F.when(F.col("position") <= until, image[name]).otherwise(value)
    return value if spelling.since is None else F.when(F.col("position") > spelling.since, value)


def name_in_record(spelling: Spelling) -> Column:
    """The name that a record has for a column; null where it is older than the column."""
    name = F.lit(spelling.name)
    for until, former in spelling.former:
        name = F.when(F.col("position") <= until, F.lit(former)).otherwise(name)
    return name if spelling.since is None else F.when(F.col("position") > spelling.since, name)


def whole_key(texts: Column, schema: TableSchema) -> Column:
    """``texts``, a map, as a struct of the key's columns; null where it has other ones (KEY-1).

    The record's position stands beside it.
    """
    names = [name_in_record(schema.spelling(name)) for name in schema.key]
    own = (F.try_element_at(texts, n).alias(k) for k, n in zip(schema.key, names, strict=True))
    are_there = reduce(and_, (F.map_contains_key(texts, name) for name in names))
    return F.when(are_there & (F.size(texts) == len(names)), F.struct(*own))
