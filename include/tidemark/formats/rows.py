"""Winners as typed rows: the payload is read once per key, not once per event."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.formats.special import left_out
from tidemark.formats.values import misread, typed
from tidemark.model.columns import (
    COMMIT_TIME,
    LEFT_OUT,
    MISREAD,
    POSITION,
    STAGED_OP,
    STAGED_PART,
    SourceColumn,
    TableSchema,
)
from tidemark.model.event import Op
from tidemark.model.names import quote

SYSTEM = {"op": STAGED_OP, "position": POSITION, "commit_time": COMMIT_TIME, "part": STAGED_PART}
IMAGE = "_tidemark_image"


def typed_rows(winners: DataFrame, schema: TableSchema, image: Column) -> DataFrame:
    """Decode the winners of one table.

    In: one event per ``row_key``. Out: the source's columns typed; STAGED_OP, POSITION,
    COMMIT_TIME, STAGED_PART; and MISREAD, the first column that has a null key or a value that does
    not fit its type, or any when there is no image at all; null when all is well (TYPE-2). Where a
    record has left a value out, the name stands behind LEFT_OUT (UNAV-1). A delete has its key and
    no other value.
    """
    upsert = F.col("op") == Op.UPSERT.value
    values = [column for column in schema.columns if column.name not in schema.key]
    no_image = F.when(
        (F.col(STAGED_OP) == Op.UPSERT.value) & F.col(IMAGE).isNull(), schema.names[0]
    )
    decoded = winners.withColumn(IMAGE, F.when(upsert, image)).select(
        *(F.col(name).alias(system) for name, system in SYSTEM.items()),
        IMAGE,
        *(F.col("row_key")[name].alias(name) for name in schema.key),
        *(typed(F.col(IMAGE)[column.name], column).alias(column.name) for column in values),
    )
    null_keys = [F.when(F.col(quote(name)).isNull(), F.lit(name)) for name in schema.key]
    wrong = [
        _wrong(F.col(IMAGE)[column.name], F.col(quote(column.name)), column) for column in values
    ]
    return decoded.select(
        *(F.col(quote(name)) for name in schema.names),
        *SYSTEM.values(),
        F.coalesce(no_image, *null_keys, *wrong).alias(MISREAD),
    )


def _wrong(raw: Column, value: Column, column: SourceColumn) -> Column:
    wrong = F.when(misread(raw, value, column), F.lit(column.name))
    if not column.may_be_left_out:
        return wrong
    return F.when(left_out(raw, column), F.lit(LEFT_OUT + column.name)).otherwise(wrong)
