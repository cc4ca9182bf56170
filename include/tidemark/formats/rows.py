"""Winners as typed rows: the payload is read once per key, not once per event."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.formats.values import misread, typed
from tidemark.model.columns import TableSchema
from tidemark.model.event import Op


def typed_rows(winners: DataFrame, schema: TableSchema, image: Column) -> DataFrame:
    """Decode the winners of one table.

    In: one event per ``row_key``. Out: op, position, commit_time, the source's columns typed, and
    ``misread``: the first column whose value does not fit its type, null when all do (TYPE-2).
    A delete has its key and no other value.
    """
    upsert = F.col("op") == Op.UPSERT.value
    raw = winners.withColumn("_image", F.when(upsert, image))
    values = {
        column.name: typed(F.col("_image")[column.name], column)
        for column in schema.columns
        if column.name not in schema.key
    }
    named = raw.select(
        "op",
        "position",
        "commit_time",
        "part",
        "_image",
        *(F.col("row_key")[name].alias(name) for name in schema.key),
        *(value.alias(name) for name, value in values.items()),
    )
    wrong = [
        F.when(misread(F.col("_image")[name], F.col(f"`{name}`")), F.lit(name)) for name in values
    ]
    keyless = [F.when(F.col(f"`{name}`").isNull(), F.lit(name)) for name in schema.key]
    return named.withColumn("misread", F.coalesce(*keyless, *wrong)).select(
        "op", "position", "commit_time", "part", "misread", *(F.col(f"`{n}`") for n in schema.names)
    )
