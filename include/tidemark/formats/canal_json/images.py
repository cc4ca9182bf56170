"""Canal-JSON's keys and row images as typed columns; TiCDC sends one row per record."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.formats.json_fields import text_fields
from tidemark.formats.keys import typed_key
from tidemark.model.columns import TableSchema
from tidemark.model.event import Op


def canal_changes(
    events: DataFrame,
    schema: TableSchema,
    *,
    key_from_images: bool,
) -> DataFrame:
    """One row per key that an event touches.

    In: changelog rows of one table of kind ``row``. Out: the same and ``row_key``, a struct of
    the typed key, and ``part``, the change's number in its event. A raw update that changes the
    key touches two keys (KEY-8).
    """
    keys = f"ARRAY<STRUCT<{text_fields(schema.key)}>>"
    rows = f"data {keys}, old {keys}"
    now, before = F.col("_rows.data")[0], F.get(F.col("_rows.old"), F.lit(0))
    former = F.struct(*(F.coalesce(before[k], now[k]).alias(k) for k in schema.key))
    current = F.struct(F.col("op").alias("op"), typed_key(now, schema).alias("k"))
    left = F.struct(F.lit(Op.DELETE.value).alias("op"), typed_key(former, schema).alias("k"))
    moved = (F.col("op") == Op.UPSERT.value) & (left["k"] != current["k"])
    touched = F.when(F.coalesce(moved, F.lit(False)), F.array(left, current)).otherwise(
        F.array(current)
    )
    return (
        events.withColumn("_rows", F.from_json(F.col("value").cast("string"), rows))
        .select(*events.columns, F.posexplode(touched).alias("part", "_touched"))
        .withColumn("op", F.col("_touched.op"))
        .withColumn("row_key", F.col("_touched.k"))
        .drop("_touched")
    )


def canal_image(schema: TableSchema) -> Column:
    """The row that an upsert leaves: a struct of every column's text."""
    rows = f"data ARRAY<STRUCT<{text_fields(schema.names)}>>"
    return F.from_json(F.col("value").cast("string"), rows)["data"][0]
