"""Which records and rows hold what is to be erased (ERASE-1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.model.columns import OPERATION, POSITION, TableSchema
from tidemark.model.names import quote
from tidemark.model.target_mode import Operation, TargetMode

KEY = "wanted_key"
STANDING = "standing"
"""The position of the row that the source still has, null where it has none."""
PLACE = ("topic", "partition", "offset")


def typed_keys(
    session: SparkSession, rows: Sequence[Sequence[str]], schema: TableSchema
) -> DataFrame:
    """KEY, a struct of the columns of the key in their types; null where a text is no such value.

    rows: the texts of each key, in the order of the key.
    """
    numbers = pa.array(range(len(rows)), pa.int32())
    keys = pa.array([list(row) for row in rows], pa.list_(pa.string()))
    texts = session.createDataFrame(pa.table({"number": numbers, "texts": keys}))
    columns = [schema[name] for name in schema.key]
    values = [
        F.get("texts", F.lit(at)).try_cast(column.iceberg).alias(column.name)
        for at, column in enumerate(columns)
    ]
    return texts.select("number", F.struct(*values).alias(KEY))


def with_standing(
    keys: DataFrame, target: DataFrame, schema: TableSchema, named: Mapping[str, str]
) -> DataFrame:
    """``keys`` with STANDING. In: all rows of the target.

    schema: of the source. named: columns of the target's key -> KEY as it stands in them, as SQL.
    """
    position = F.max(F.coalesce(POSITION, F.lit("")))
    if schema.mode is TargetMode.APPEND:
        newest = F.max_by(OPERATION, POSITION)
        position = F.when(newest == Operation.UPSERT.value, F.max(POSITION))
    key_columns = [F.col(quote(name)).alias(f"_{at}") for at, name in enumerate(named)]
    standing = target.where(schema.stands).groupBy(*key_columns).agg(position.alias(STANDING))
    same = [F.expr(text).eqNullSafe(F.col(f"_{at}")) for at, text in enumerate(named.values())]
    return keys.join(standing, reduce(and_, same), "left").select(*keys.columns, STANDING)


def erased_parts(changes: DataFrame, keys: DataFrame) -> DataFrame:
    """The changes whose ``row_key`` is one of ``keys``, but for those that tell how a row stands.

    Out: PLACE and ``part``.
    """
    names = changes.select("row_key.*").columns
    same: Column = reduce(
        and_, (F.col("row_key")[name] == F.col(KEY)[name] for name in names), F.lit(True)
    )
    is_older = F.col(STANDING).isNull() | (F.col("position") < F.col(STANDING))
    erased = changes.join(F.broadcast(keys), same & is_older, "left_semi")
    return erased.select(*PLACE, "part")


def records_of(changes: DataFrame, parts: DataFrame) -> DataFrame:
    """The records that ``parts`` are of. Out: PLACE, their parts ``wanted``, and all ``there``."""
    wanted = parts.groupBy(*PLACE).agg(F.collect_set("part").alias("wanted"))
    there = changes.groupBy(*PLACE).agg(F.collect_set("part").alias("there"))
    return wanted.join(there, list(PLACE))
