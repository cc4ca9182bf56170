"""Debezium's keys and row images as typed columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import and_, or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.formats.aliased import by_name, name_in_record, whole_key, written_fields
from tidemark.formats.encoding import TEXTS, RecordEncoding, unwrapped_key
from tidemark.formats.keys import typed_key
from tidemark.formats.number_tokens import exact_numbers, pointed
from tidemark.formats.place import number
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.event import Op
from tidemark.model.names import ColumnName
from tidemark.model.uncertain_nulls import uncertain_nulls

FORMER_KEY = "__debezium.oldkey"
ROW_BEGINS = ("c", "r")
"""Operations of a row that was not there under its key before."""
_ZERO = r"^([-+0.:]*|false|A*=*|(1970-01-01T)?00:00:00[.0]*(Z|[-+]00:00)?)$"
"""Zero as number, bytes in base64, date or time."""


def debezium_changes(
    events: DataFrame,
    schema: TableSchema,
    *,
    key_from_images: bool,
    backfills_before: bool,
    encoding: RecordEncoding,
) -> DataFrame:
    """One row per key that an event touches.

    In: changelog rows of one table of kind ``row``. Out: the same and ``row_key``, a struct of
    the typed key, and ``part``, the change's number in its event. key_from_images: the key is
    declared, or records have none of their own; then an update that changes it touches two keys
    (KEY-1, KEY-8). backfills_before: ``before`` may hold filler outside the record's key, so a
    record that has the key beside it is not asked for a former one (KEY-5), and what
    `postgres_unavailable_key` is of no row.
    """
    if not key_from_images:
        key = whole_key(F.col("_own"), schema)
        read = events.withColumn("_own", encoding.key_texts())
        exact_key = _exact(
            key, lambda other: whole_key(other.key_texts(), schema), schema, schema.key, encoding
        )
        return (
            read.withColumn("row_key", typed_key(exact_key, schema))
            .withColumn("part", F.lit(0))
            .drop("_own")
        )
    fields = written_fields(schema, schema.key)

    def record_key(encoding: RecordEncoding) -> Column:
        return by_name(encoding.key(fields), schema, schema.key)

    exact_key = _exact(record_key(encoding), record_key, schema, schema.key, encoding)
    images = f"before STRUCT<{fields}>, after STRUCT<{fields}>"
    is_delete = F.col("op") == Op.DELETE.value
    read = (
        events.withColumn("_images", encoding.value(images))
        .withColumn("_own", F.when(F.lit(backfills_before) | is_delete, exact_key))
        .withColumns(_exact_images(F.col("_images"), images, schema, schema.key, encoding))
    )
    lacks_key = F.lit(False)
    if backfills_before:
        lacks_key = postgres_unavailable_key(schema, encoding=encoding)
    read = read.withColumn("_lacks_key", lacks_key)
    return _touched(read, schema, backfills_before=backfills_before).select(
        *events.columns, "part", "row_key"
    )


def _touched(events: DataFrame, schema: TableSchema, *, backfills_before: bool) -> DataFrame:
    """A row per key of ``_own``, ``_before`` and ``_after``: ``row_key``, ``part`` and ``op``.

    Where ``_lacks_key``, a row without a key.
    """
    is_delete = F.col("op") == Op.DELETE.value
    record_key = F.col("_own")
    before, after = F.col("_before"), F.col("_after")
    has_record_key = _is_whole(record_key, schema)
    ended = F.when(has_record_key, record_key).otherwise(before)
    deleted = F.struct(F.lit(Op.DELETE.value).alias("op"), typed_key(ended, schema).alias("k"))
    left = F.struct(F.lit(Op.DELETE.value).alias("op"), typed_key(before, schema).alias("k"))
    upserted = F.struct(F.lit(Op.UPSERT.value).alias("op"), typed_key(after, schema).alias("k"))
    moved = (left["k"] != upserted["k"]) & _is_whole(before, schema)
    if backfills_before:
        moved = moved & ~has_record_key
    nothing = F.when(F.lit(False), record_key)
    of_none = F.struct(F.col("op").alias("op"), typed_key(nothing, schema).alias("k"))
    touched = (
        F.when(F.col("_lacks_key"), F.array(of_none))
        .when(is_delete, F.array(deleted))
        .when(F.coalesce(moved, F.lit(False)), F.array(left, upserted))
        .otherwise(F.array(upserted))
    )
    return (
        events.select("*", F.posexplode(touched).alias("part", "_touched"))
        .withColumn("op", F.col("_touched.op"))
        .withColumn("row_key", F.col("_touched.k"))
    )


def _is_whole(key: Column, schema: TableSchema) -> Column:
    """Whether ``key`` is there with every column of the key."""
    there = (key[name].isNotNull() for name in schema.key)
    return reduce(lambda left, right: left & right, there, key.isNotNull())


def postgres_unavailable_key(schema: TableSchema, *, encoding: RecordEncoding) -> Column:
    """Whether what stands for null may be in place of the key that a row had (KEY-5).

    Of records with another key of their own, whose columns are the replica identity unless that is
    FULL. A ``before`` of the whole row tells any key, and one of an index that of its columns. A
    default that no schema tells passes for a value.
    """
    record = encoding.value(f"op STRING, before {TEXTS}, after {TEXTS}")
    before, after = record["before"], record["after"]
    fields, texts = encoding.image_fields(), encoding.key_texts()

    def is_filler(column: SourceColumn, name: Column) -> Column:
        text = F.try_element_at(before, name)
        by_schema = F.exists(
            fields, lambda field: (field["field"] == name) & (field["default"] == text)
        )
        return _is_zero(text, column) | F.coalesce(by_schema, F.lit(False))

    names = {key: name_in_record(schema.column_alias(key)) for key in schema.key}
    has_other_key = reduce(or_, (~F.map_contains_key(texts, name) for name in names.values()))
    is_ended = (record["op"] == "d") | reduce(
        or_, (F.try_element_at(before, n) != F.try_element_at(after, n) for n in names.values())
    )
    has_filler = reduce(or_, (is_filler(schema[key], name) for key, name in names.items()))
    uncertain = (name_in_record(schema.column_alias(name)) for name in uncertain_nulls(schema))
    is_whole = _holds_more(before, after, tuple(uncertain), encoding)
    return F.coalesce(has_other_key & is_ended & has_filler & ~is_whole, F.lit(False))


def _is_zero(text: Column, column: SourceColumn) -> Column:
    """Whether ``text`` is what Debezium has for a null of a NOT NULL column without a default."""
    is_text = all(variant.encoding is ValueEncoding.TEXT for variant in column.variants)
    return text == "" if is_text else text.rlike(_ZERO)


def debezium_row_changes(
    events: DataFrame, schema: TableSchema, *, has_event_order: bool, encoding: RecordEncoding
) -> DataFrame:
    """One row per row of the table that an event ends or makes (KEY-15).

    In: changelog rows of one table of kind ``row``. Out: the same with ``op``, ``part``, the number
    of the change in its event, ``image``, a struct of every column's text of the row that ends or
    begins, null where the record does not tell it, ``occurrence``, which of the changes at one
    place it is, null if untold, ``table_order``, which change of its table in its transaction, null
    likewise, and ``record_hash``, which is null: a record without a key goes to any partition.
    has_event_order: ``event_order`` says so, as the rows of a COPY of PostgreSQL share their LSN; a
    binlog numbers the rows at a place.
    """
    fields = written_fields(schema, schema.names)
    images = f"before STRUCT<{fields}>, after STRUCT<{fields}>"
    fields = f"op STRING, {images}, source STRUCT<row STRING>"
    if has_event_order:
        fields += ", transaction STRUCT<data_collection_order STRING>"
    read = events.withColumn("_record", encoding.value(fields)).withColumns(
        _exact_images(F.col("_record"), images, schema, schema.names, encoding)
    )
    ended, made = (
        F.struct(F.lit(op.value).alias("op"), F.col(image).alias("image"))
        for op, image in ((Op.DELETE, "_before"), (Op.UPSERT, "_after"))
    )
    touched = (
        F.when(F.col("op") == Op.DELETE.value, F.array(ended))
        .when(F.col("_record.op") == "u", F.array(ended, made))
        .otherwise(F.array(made))
    )
    order, table_order = F.col("_record.source.row"), F.lit(None).cast("long")
    if has_event_order:
        order = F.col("event_order")
        table_order = number(F.col("_record.transaction.data_collection_order"))
    return (
        read.select("*", F.posexplode(touched).alias("part", "_touched"))
        .withColumn("occurrence", order.cast("string"))
        .withColumn("table_order", table_order)
        .withColumn("record_hash", F.lit(None).cast("string"))
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


def debezium_image(schema: TableSchema, *, encoding: RecordEncoding) -> Column:
    """The row that an upsert leaves: a struct of every column's text, null for a delete."""
    after = f"after STRUCT<{written_fields(schema, schema.names)}>"

    def read(encoding: RecordEncoding) -> Column:
        return by_name(encoding.value(after)["after"], schema, schema.names)

    return _exact(read(encoding), read, schema, schema.names, encoding)


def _exact_images(
    images: Column,
    fields: str,
    schema: TableSchema,
    names: Sequence[ColumnName],
    by: RecordEncoding,
) -> dict[str, Column]:
    """Both images of a record, ``_before`` and ``_after``, from ``fields`` of it, by ``names``."""

    def exact(name: str) -> Column:
        def read(other: RecordEncoding) -> Column:
            return by_name(other.value(fields)[name], schema, names)

        return _exact(by_name(images[name], schema, names), read, schema, names, by)

    return {f"_{name}": exact(name) for name in ("before", "after")}


def _exact(
    image: Column,
    read: Callable[[RecordEncoding], Column],
    schema: TableSchema,
    names: Sequence[ColumnName],
    encoding: RecordEncoding,
) -> Column:
    """``image`` of the columns ``names``, its numbers exact; read: it, by another encoding."""
    if encoding.pointed is None:
        return image
    return exact_numbers(image, read(encoding.pointed), schema, names)


def debezium_unavailable(_schema: TableSchema) -> None:
    """Nothing: an ``after`` is a whole row, and what it lacks did not exist then (UNAV-4)."""


def postgres_unavailable(schema: TableSchema, *, encoding: RecordEncoding) -> Column | None:
    """Columns in which a null may stand for a value that an update left as it was (UNAV-11).

    An array of their names; None where the table has no such column. Where ``before`` is the whole
    row (REPLICA IDENTITY FULL) there is nothing that the record could lack. The changelog's
    ``headers`` tell which insert is a change of the key.
    """
    names = uncertain_nulls(schema)
    if not names:
        return None
    record = encoding.value(f"op STRING, before {TEXTS}, after {TEXTS}")
    before, after = record["before"], record["after"]
    uncertain = {name: name_in_record(schema.column_alias(name)) for name in names}
    had_key = reduce(
        and_,
        (
            F.try_element_at(before, name_in_record(schema.column_alias(name))).isNotNull()
            for name in schema.key
        ),
        before.isNotNull(),
    )
    is_same = F.forall(
        F.map_keys(after),
        lambda name: (
            name.isin(*uncertain.values()) | after[name].eqNullSafe(F.try_element_at(before, name))
        ),
    )
    is_whole = had_key & (is_same | _holds_more(before, after, uncertain.values(), encoding))
    moved = F.exists("headers", lambda header: header["key"] == FORMER_KEY)
    may_lack = (record["op"] == "u") | ((record["op"] == "c") & F.coalesce(moved, F.lit(False)))
    lacking = (
        F.when(_is_null(after, name) & F.try_element_at(before, name).isNull(), F.lit(column))
        for column, name in uncertain.items()
    )
    may_lack = may_lack & ~F.coalesce(is_whole, F.lit(False))
    return F.when(may_lack, F.array_compact(F.array(*lacking))).otherwise(
        F.array().cast("array<string>")
    )


def _holds_more(
    before: Column, after: Column, uncertain: Iterable[Column], encoding: RecordEncoding
) -> Column:
    """Whether ``before`` holds a value that none but a whole row has (REPLICA IDENTITY FULL).

    before, after: maps of texts; uncertain: names of columns whose null in ``after`` may be a
    value. Of any other identity ``before`` has the values of its columns, which are NOT NULL, and
    in the other columns null, or what stands for null: the default, and in a NOT NULL column
    without one zero or an empty text. So a value tells where its column has neither.
    """

    def had(name: Column) -> Column:
        return F.try_element_at(before, name).isNotNull()

    by_schema = F.exists(
        encoding.image_fields(),
        lambda field: field["optional"] & field["default"].isNull() & had(field["field"]),
    )
    by_null = F.exists(
        F.map_keys(after), lambda name: after[name].isNull() & ~name.isin(*uncertain) & had(name)
    )
    return F.coalesce(by_schema, F.lit(False)) | F.coalesce(by_null, F.lit(False))


def _is_null(row: Column, name: Column) -> Column:
    """Whether ``row``, a map, has the field ``name``, and null in it."""
    return F.map_contains_key(row, name) & F.try_element_at(row, name).isNull()


def debezium_begins(*, encoding: RecordEncoding) -> Column:
    """Whether an upsert makes a row that was not there under this key before (KEY-6, KEY-8)."""
    return encoding.value("op STRING")["op"].isin(*ROW_BEGINS) | (F.col("part") > 0)


def debezium_former_key(schema: TableSchema) -> Column:
    """The key that a row had before this change, where a header tells in JSON (MSG-17, KEY-7)."""
    former = F.filter("headers", lambda header: header["key"] == FORMER_KEY)
    text = F.get(former, F.lit(0))["value"].cast("string")
    form = f"STRUCT<{written_fields(schema, schema.key)}>"
    key, again = (
        by_name(unwrapped_key(key_text, form), schema, schema.key)
        for key_text in (text, pointed(text))
    )
    return typed_key(exact_numbers(key, again, schema, schema.key), schema)


def binlog_occurrence(*, encoding: RecordEncoding) -> Column:
    """Which row of its event a streamed change is: an event may change a key twice (POS-14)."""
    row = number(encoding.value("source STRUCT<row STRING>")["source"]["row"])
    return F.when(F.col("snapshot").isNull(), row)


def postgres_occurrence() -> Column:
    """An LSN is of one row: only the halves of a change of key share it."""
    return F.when(F.col("snapshot").isNull(), F.lit(0).cast("long"))


def postgres_transaction(*, encoding: RecordEncoding) -> Column:
    """The transaction of a streamed change; null of a row that a snapshot read."""
    transaction = encoding.value("source STRUCT<txId STRING>")["source"]["txId"]
    return F.when(F.col("snapshot").isNull(), transaction)
