"""Debezium's keys and row images as typed columns."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.formats.json_fields import text_fields
from tidemark.formats.keys import typed_key
from tidemark.model.columns import TableSchema
from tidemark.model.event import Op
from tidemark.model.names import ColumnName
from tidemark.model.position import Position

WRAPPED_KEY = r'^\s*\{\s*"(schema"\s*:\s*(\{|null)|payload"\s*:\s*\{)'


def debezium_changes(events: DataFrame, schema: TableSchema, *, key_from_images: bool) -> DataFrame:
    """One row per key that an event touches.

    In: changelog rows of one table of kind ``row``. Out: the same and ``row_key``, a struct of
    the typed key, and ``part``, the change's number in its event. key_from_images: the key is
    declared, or records have none of their own; then an update that changes it touches two keys
    (KEY-1, KEY-8).
    """
    if key_from_images:
        return _by_images(events, schema)
    text = F.col("key").cast("string")
    own = _unwrapped(text, text.rlike(WRAPPED_KEY), text_fields(schema.key))
    return events.withColumn("row_key", typed_key(own, schema)).withColumn("part", F.lit(0))


def _by_images(events: DataFrame, schema: TableSchema) -> DataFrame:
    images = f"before STRUCT<{text_fields(schema.key)}>, after STRUCT<{text_fields(schema.key)}>"
    body = _unwrapped(F.col("value").cast("string"), F.col("schema_id").isNotNull(), images)
    deleted = F.struct(
        F.lit(Op.DELETE.value).alias("op"), typed_key(F.col("_images.before"), schema).alias("k")
    )
    upserted = F.struct(
        F.lit(Op.UPSERT.value).alias("op"), typed_key(F.col("_images.after"), schema).alias("k")
    )
    moved = (deleted["k"] != upserted["k"]) & F.col("_images.before").isNotNull()
    touched = (
        F.when(F.col("op") == Op.DELETE.value, F.array(deleted))
        .when(F.coalesce(moved, F.lit(False)), F.array(deleted, upserted))
        .otherwise(F.array(upserted))
    )
    return (
        events.withColumn("_images", body)
        .select(*events.columns, F.posexplode(touched).alias("part", "_touched"))
        .withColumn("op", F.col("_touched.op"))
        .withColumn("row_key", F.col("_touched.k"))
        .drop("_touched")
    )


def debezium_image(schema: TableSchema) -> Column:
    """The row that an upsert leaves: a struct of every column's text, null for a delete."""
    images = f"after STRUCT<{text_fields(schema.names)}>"
    value = F.col("value").cast("string")
    return _unwrapped(value, F.col("schema_id").isNotNull(), images)["after"]


def debezium_left_out(_schema: TableSchema, _joined: Mapping[ColumnName, Position]) -> Column:
    """Nothing: an ``after`` is a whole row, and what it lacks did not exist then (UNAV-4)."""
    return F.array().cast("array<string>")


def _unwrapped(text: Column, wrapped: Column, inner: str) -> Column:
    """``inner`` read from ``text``, or from its payload where it is wrapped (MSG-15)."""
    return F.when(wrapped, F.from_json(text, f"payload STRUCT<{inner}>")["payload"]).otherwise(
        F.from_json(text, inner)
    )
