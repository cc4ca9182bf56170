"""Canal-JSON's keys and row images as typed columns; one record may hold many rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.conditions import any_of
from tidemark.formats.aliased import by_name, name_in_record, written_fields
from tidemark.formats.canal_json.erased import ERASED_ROW, is_erased
from tidemark.formats.contradictions import contradicts
from tidemark.formats.json_fields import text_fields
from tidemark.formats.keys import typed_key
from tidemark.formats.number_tokens import unrounded
from tidemark.model.columns import TableSchema, ValueEncoding
from tidemark.model.event import Op
from tidemark.model.names import ColumnName

KEYS_PER_ROW = 2


def canal_changes(
    events: DataFrame,
    schema: TableSchema,
    *,
    key_from_images: bool,
) -> DataFrame:
    """One row per key that an event touches.

    In: changelog rows of one table of kind ``row``. Out: the same and ``row_key``, a struct of
    the typed key, and ``part``, which numbers the changes of an event in their order (MSG-41). An
    update that changes the key touches two keys (KEY-8). Where an event holds several rows,
    ``value`` becomes a record of its own for each, so that nobody carries the others along; but
    not where the record says two things, so that this can be seen of each.
    """
    keys = f"ARRAY<STRUCT<{written_fields(schema, schema.key)}, {text_fields([ERASED_ROW])}>>"
    text = F.col("value").cast("string")
    texts = F.from_json(text, "data ARRAY<STRING>")["data"]
    return (
        events.transform(_with_exact_numbers, schema)
        .withColumn("_json", F.from_json(text, f"type STRING, data {keys}, old {keys}"))
        .withColumn("_texts", F.when((F.size("_json.data") > 1) & ~contradicts("value"), texts))
        .select(*events.columns, "_json", F.posexplode(_images()).alias("_row", "_image"))
        .where(~is_erased(F.col("_image.data")[ERASED_ROW]))
        .withColumn("value", F.coalesce(_record_of_row().cast("binary"), "value"))
        .select(*events.columns, "_row", F.posexplode(_touched(schema)).alias("_half", "_touched"))
        .withColumn("op", F.col("_touched.op"))
        .withColumn("row_key", F.col("_touched.k"))
        .withColumn("part", F.col("_row") * KEYS_PER_ROW + F.col("_half"))
        .drop("_row", "_half", "_touched")
    )


def whole_rows(wanted: Collection[int], there: Collection[int]) -> frozenset[int]:
    """Numbers of a record's rows of which every part is ``wanted`` that is ``there``.

    >>> sorted(whole_rows([0, 2, 4], [0, 2, 3, 4, 5, 6]))
    [0]
    """
    others = set(there) - set(wanted)
    return frozenset(part // KEYS_PER_ROW for part in wanted) - {
        part // KEYS_PER_ROW for part in others
    }


def _with_exact_numbers(events: DataFrame, schema: TableSchema) -> DataFrame:
    """``value`` as it is read without loss: where decimals are numbers, as texts (TYPE-33)."""
    if all(column.encoding is not ValueEncoding.DECIMAL_TEXT for column in schema.columns):
        return events
    return events.withColumn("value", unrounded(F.col("value").cast("string")).cast("binary"))


def _images() -> Column:
    """The key of each row, what an update says it was, and the row's text if it is needed."""
    old, texts = (F.coalesce(F.col(name), F.array()) for name in ("_json.old", "_texts"))
    return F.arrays_zip(F.col("_json.data").alias("data"), old.alias("old"), texts.alias("text"))


def _record_of_row() -> Column:
    """A record with one row alone; null where there is no other."""
    head = F.concat(F.lit('{"type":"'), F.col("_json.type"), F.lit('","data":['))
    return F.concat(head, F.col("_image.text"), F.lit("]}"))


def _touched(schema: TableSchema) -> Column:
    """The keys that one row touches, each with its op: the one that it leaves, the one it has."""
    now = by_name(F.col("_image.data"), schema, schema.key)
    before = by_name(F.col("_image.old"), schema, schema.key)
    former = F.struct(*(F.coalesce(before[k], now[k]).alias(k) for k in schema.key))
    current = F.struct(F.col("op").alias("op"), typed_key(now, schema).alias("k"))
    left = F.struct(F.lit(Op.DELETE.value).alias("op"), typed_key(former, schema).alias("k"))
    moved = (F.col("op") == Op.UPSERT.value) & (left["k"] != current["k"])
    return F.when(F.coalesce(moved, F.lit(False)), F.array(left, current)).otherwise(
        F.array(current)
    )


def canal_row_changes(events: DataFrame, schema: TableSchema) -> DataFrame:
    """One row per row of the table that an event ends or makes (KEY-15).

    As of Debezium: ``op``, ``part``, ``image``, ``occurrence`` and ``table_order``, both null; and
    ``record_hash``, of what the record says of rows, columns included that the target lacks. What
    an update or a delete does not hold of a row is not known (UNAV-4); then there is no image.
    """
    maps = "ARRAY<MAP<STRING, STRING>>"
    text = F.col("value").cast("string")
    rows_text = F.to_json("_json", {"ignoreNullFields": "false"})
    old = F.coalesce(F.col("_json.old"), F.array())
    rows = F.arrays_zip(F.col("_json.data").alias("data"), old.alias("old"))
    kind, is_whole = F.col("_json.type"), ~_lacks(schema)
    made = _change(Op.UPSERT, F.when((kind == "INSERT") | is_whole, _row(schema)))
    deleted = _change(Op.DELETE, F.when(is_whole, _row(schema)))
    changed = _change(Op.DELETE, F.when(is_whole, _former_row(schema)))
    touched = (
        F.when(kind == "INSERT", F.array(made))
        .when(kind == "DELETE", F.array(deleted))
        .otherwise(F.array(changed, made))
    )
    return (
        events.transform(_with_exact_numbers, schema)
        .withColumn("_json", F.from_json(text, f"type STRING, data {maps}, old {maps}"))
        .select(*events.columns, "_json", F.posexplode(rows).alias("_row", "_image"))
        .where(~is_erased(F.try_element_at(F.col("_image.data"), F.lit(ERASED_ROW))))
        .select("*", F.posexplode(touched).alias("_half", "_touched"))
        .withColumn("part", F.col("_row") * KEYS_PER_ROW + F.col("_half"))
        .withColumn("occurrence", F.lit(None).cast("string"))
        .withColumn("table_order", F.lit(None).cast("long"))
        .withColumn("record_hash", F.hex(F.xxhash64(rows_text)))
        .select(
            *(name for name in events.columns if name != "op"),
            "part",
            "_touched.op",
            "_touched.image",
            "occurrence",
            "table_order",
            "record_hash",
        )
    )


def _change(op: Op, image: Column) -> Column:
    return F.struct(F.lit(op.value).alias("op"), image.alias("image"))


def _lacks(schema: TableSchema) -> Column:
    """Whether a row does not hold a column that there was at its position."""
    data = F.col("_image.data")
    return any_of(name.isNotNull() & ~_has(data, name) for _, name in _written(schema))


def _row(schema: TableSchema) -> Column:
    """Every column's text; what the row does not hold is null."""
    data = F.col("_image.data")
    return F.struct(*(F.try_element_at(data, n).alias(c) for c, n in _written(schema)))


def _former_row(schema: TableSchema) -> Column:
    """The row before an update: what it holds, under what it says that it held (MSG-42).

    Null where the record does not say what it held.
    """
    data, old = F.col("_image.data"), F.col("_image.old")
    columns = (
        F.when(_has(old, name), F.try_element_at(old, name))
        .otherwise(F.try_element_at(data, name))
        .alias(column)
        for column, name in _written(schema)
    )
    return F.when(old.isNotNull(), F.struct(*columns))


def _written(schema: TableSchema) -> Iterator[tuple[ColumnName, Column]]:
    """Each column and the name that the record has for it."""
    return ((column, name_in_record(schema.column_alias(column))) for column in schema.names)


def _has(row: Column, name: Column) -> Column:
    return F.coalesce(F.map_contains_key(row, name), F.lit(False))


def canal_image(schema: TableSchema) -> Column:
    """The row that an upsert leaves: a struct of every column's text."""
    rows = f"data ARRAY<STRUCT<{written_fields(schema, schema.names)}>>"
    image = F.from_json(F.col("value").cast("string"), rows)["data"][0]
    return by_name(image, schema, schema.names)


def canal_unavailable(schema: TableSchema) -> Column:
    """Columns that an update does not hold, so that nobody can say what is in them (UNAV-4).

    An array of their names, empty when all are there. An update that is older than a column has to
    be without it, as an insert may be without any.
    """
    rows = "type STRING, data ARRAY<MAP<STRING, STRING>>"
    record = F.from_json(F.col("value").cast("string"), rows)
    there = F.map_keys(record["data"][0])
    lacks = (
        F.when(~F.array_contains(there, name_in_record(schema.column_alias(name))), F.lit(name))
        for name in schema.names
    )
    missing = F.array_compact(F.array(*lacks))
    return F.when(record["type"] == "UPDATE", missing).otherwise(F.array().cast("array<string>"))


def canal_begins() -> Column:
    """Whether an upsert makes a row that was not there under this key before (KEY-8)."""
    record = F.from_json(F.col("value").cast("string"), "type STRING")
    return (record["type"] == "INSERT") | (F.col("part") % KEYS_PER_ROW > 0)


def canal_former_key(schema: TableSchema) -> Column:
    """Nothing but the other half of a change tells what the key was before."""
    columns = (F.lit(None).cast(schema[name].iceberg).alias(name) for name in schema.key)
    return F.struct(*columns)
