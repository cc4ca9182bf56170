"""Winners as typed rows: the payload is read once per key, not once per event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.formats.keys import key_value
from tidemark.formats.masked import ANY_COLUMN, HASHES, MASKED, Hashed, hash_of
from tidemark.formats.special import is_placeholder, plain_placeholders
from tidemark.formats.values import conversion_error, read_as_of, read_by_schema, value_of
from tidemark.model.column_rename import ColumnAlias
from tidemark.model.column_rules import Mask
from tidemark.model.columns import (
    COMMIT_TIME,
    CONVERSION_ERROR,
    POSITION,
    STAGED_OP,
    UNAVAILABLE,
    SourceColumn,
    TableSchema,
    ValueEncoding,
)
from tidemark.model.event import Op
from tidemark.model.names import quote

SYSTEM = {"op": STAGED_OP, "position": POSITION, "commit_time": COMMIT_TIME}
_INTEGERS = frozenset(("int", "bigint", "smallint", "tinyint"))
IMAGE, SCHEMA_ID, CONTRADICTORY = (
    "_tidemark_image",
    "_tidemark_schema_id",
    "_tidemark_contradictory",
)


@dataclass(frozen=True, slots=True)
class RowImage:
    """What the record of a change tells of its row.

    image: a struct of every column's text, null where there is no row. unavailable: names of
    columns that it does not hold though the row has them, None where every record is whole
    (UNAV-4). contradicts: whether the record says two things about one name (MSG-4).
    has_zero_dates: whether a date whose month or day is zero is null, and no value that does not
    fit (TYPE-12). hidden: columns without whose values records may be (MASK-1), in lower case.
    """

    image: Column
    unavailable: Column | None
    contradicts: Column
    has_zero_dates: bool = True
    hidden: frozenset[str] = frozenset()

    @property
    def is_masked(self) -> bool:
        """Whether records may be without values."""
        return bool(self.hidden)


def typed_rows(
    changes: DataFrame, schema: TableSchema, row_image: RowImage, *, keep: Sequence[str] = ()
) -> DataFrame:
    """Decode changes of one table: the winners, or whatever is asked for.

    In: changes with their ``row_key``. Out: the source's columns typed; STAGED_OP, POSITION,
    COMMIT_TIME; CONVERSION_ERROR, the first column that has a null key, or another one than the row
    of the record, or a value that does not fit its type, or any when there is no image at all, null
    when all is well (TYPE-2, KEY-1); the first one of all where the record contradicts itself; and
    UNAVAILABLE, the columns whose values the record does not hold though the row has them: those of
    ``unavailable`` (UNAV-4; None where every record is whole) and those with a placeholder
    (UNAV-1), null when there are none. A delete has its key and no other value. keep: columns of
    ``changes`` that go along; no source has their names.
    """
    upsert = F.col("op") == Op.UPSERT.value
    values = [column for column in schema.columns if column.name not in schema.key]
    no_image = F.when(
        (F.col(STAGED_OP) == Op.UPSERT.value) & F.col(IMAGE).isNull(), schema.names[0]
    )
    # Only what is null can be left out, so that the record is looked at again for these alone.
    holds_null = F.array(F.lit(False), *(F.col(IMAGE)[c.name].isNull() for c in values))
    none = F.array().cast("array<string>")
    may_lack = upsert & F.array_contains(holds_null, True)
    absent = (
        none
        if row_image.unavailable is None
        else F.coalesce(F.when(may_lack, row_image.unavailable), none)
    )
    decoded = changes.withColumn(IMAGE, F.when(upsert, row_image.image)).select(
        *(F.col(name).alias(system) for name, system in SYSTEM.items()),
        absent.alias(UNAVAILABLE),
        F.when(row_image.contradicts, schema.names[0]).alias(CONTRADICTORY),
        IMAGE,
        *(
            [F.col("schema_id").alias(SCHEMA_ID)]
            if any(c.by_schema for c in schema.columns)
            else []
        ),
        *keep,
        *(F.col("row_key")[name].alias(name) for name in schema.key),
        *(_value(column, schema.column_alias(column.name)).alias(column.name) for column in values),
    )
    null_keys = [F.when(F.col(quote(name)).isNull(), F.lit(name)) for name in schema.key]
    key_mismatches = [F.when(_has_other_key(schema[name]), F.lit(name)) for name in schema.key]
    wrong = [_why_wrong(column, schema, row_image) for column in values]
    unavailable = [
        F.when(_is_unavailable(column), F.lit(column.name))
        for column in values
        if column.may_be_unavailable
    ]
    lacks = F.coalesce(F.get(UNAVAILABLE, F.lit(0)), *unavailable).isNotNull()
    lacking = F.concat(
        UNAVAILABLE, F.array_compact(F.array(F.lit(None).cast("string"), *unavailable))
    )
    return decoded.select(
        *(_masked(column, is_masked=row_image.is_masked) for column in schema.columns),
        *SYSTEM.values(),
        F.coalesce(CONTRADICTORY, no_image, *null_keys, *key_mismatches, *wrong).alias(
            CONVERSION_ERROR
        ),
        F.when(lacks, lacking).alias(UNAVAILABLE),
        *keep,
    )


def _value(column: SourceColumn, column_alias: ColumnAlias) -> Column:
    """Rows that are older than the column have what it was filled with (SCHEMA-14)."""
    raw = F.col(IMAGE)[column.name]
    value = value_of(raw, column, F.col("schema_id"), F.col("position"))
    if column.backfill is None or column_alias.since is None:
        return value
    is_filled = (F.col("position") <= column_alias.since) & (F.col(STAGED_OP) == Op.UPSERT.value)
    return F.when(is_filled, F.lit(column.backfill).cast(column.iceberg)).otherwise(value)


def _masked(column: SourceColumn, *, is_masked: bool) -> Column:
    """What the target has in place of a value; a record may hold that itself."""
    value = F.col(quote(column.name))
    match column.mask:
        case Mask.HASH:
            hashed = F.sha2(value.cast("string"), 256)
            if is_masked:
                raw = F.col(IMAGE)[column.name]
                hashed = F.when(raw.rlike(MASKED), _landed_hash(raw, column)).otherwise(hashed)
            return hashed.alias(column.name)
        case Mask.REDACT:
            return F.lit(None).cast(column.stored).alias(column.name)
        case None:
            return value


def _has_other_key(column: SourceColumn) -> Column:
    """Whether a record's row has another value in a column of the key than its key."""
    raw = F.col(IMAGE)[column.name]
    value = key_value(raw, column, F.col(SCHEMA_ID), F.col(POSITION))
    same = value.eqNullSafe(F.col(quote(column.name)))
    # A connector leaves out what did not change, but never in a key.
    return raw.isNotNull() & ~same & ~F.coalesce(_is_unavailable(column), F.lit(False))


def _why_wrong(column: SourceColumn, schema: TableSchema, row_image: RowImage) -> Column:
    """The column's name where a record's value does not fit it."""
    is_masked = _may_be_masked(column, schema, row_image.hidden)
    judge = _wrong_mask if is_masked else _wrong
    return judge(column, has_zero_dates=row_image.has_zero_dates)


def _wrong(column: SourceColumn, *, has_zero_dates: bool) -> Column:
    if all(
        variant.encoding is ValueEncoding.TEXT and variant.element is None
        for variant in column.variants
    ):
        return F.lit(None).cast("string")  # A text is what it is read from.
    raw, value = F.col(IMAGE)[column.name], F.col(quote(column.name))
    wrong = read_by_schema(
        column,
        F.col(SCHEMA_ID),
        lambda variant: conversion_error(raw, value, variant, has_zero_dates=has_zero_dates),
    )
    if column.may_be_unavailable:
        wrong = wrong & ~F.coalesce(_is_unavailable(column), F.lit(False))
    return F.when(wrong, F.lit(column.name))


def _may_be_masked(column: SourceColumn, schema: TableSchema, hidden: frozenset[str]) -> bool:
    """Whether records may be without values of the column, by any name that it had."""
    names = [column.name]
    for column_rename in reversed(schema.column_renames):
        names.append(column_rename.before(names[-1]) or names[-1])
    by_name = any(name.lower() in hidden for name in names)
    return bool(hidden) and (by_name or ANY_COLUMN in hidden or column.mask is not None)


def _wrong_mask(column: SourceColumn, *, has_zero_dates: bool) -> Column:
    """As `_wrong`, where a record may hold what stands for a value (MASK-1).

    Whoever shows the value cannot have it; a hash is that of the target where it was made of the
    text that the target would have.
    """
    raw = F.col(IMAGE)[column.name]
    match column.mask:
        case Mask.HASH:
            fits = _landed_hash(raw, column).isNotNull()
        case Mask.REDACT:
            fits = F.lit(True)
        case None:
            fits = F.lit(False)
    wrong = _wrong(column, has_zero_dates=has_zero_dates)
    return F.when(raw.rlike(MASKED), F.when(~fits, F.lit(column.name))).otherwise(wrong)


def _landed_hash(raw: Column, column: SourceColumn) -> Column:
    """The target's hash as a masked record tells it; null where it is of another text."""
    kind, of_text, of_number = (F.regexp_extract(raw, HASHES, group) for group in (1, 2, 4))
    integer = F.when(kind == Hashed.INTEGER.value, of_text)
    integer = integer.when(kind == Hashed.NUMBER.value, of_number)

    def read(variant: SourceColumn) -> Column:
        if _is_text(variant) and _is_text(column):
            return F.when(kind != "", of_text)
        return integer if is_hashable(variant) else F.lit(None).cast("string")

    return read_as_of(column, F.col(SCHEMA_ID), F.col(POSITION), read)


def is_hashable(column: SourceColumn) -> bool:
    """Whether records tell the hash that the target has of a value (MASK-1).

    Others have another text in the target than in records.
    """
    is_integer = column.encoding is ValueEncoding.INTEGER and column.iceberg in _INTEGERS
    return is_integer or _is_text(column)


def _is_text(column: SourceColumn) -> bool:
    return column.encoding is ValueEncoding.TEXT and column.iceberg == "string"


def _is_unavailable(column: SourceColumn) -> Column:
    raw = F.col(IMAGE)[column.name]
    is_unavailable = read_by_schema(
        column, F.col(SCHEMA_ID), lambda variant: is_placeholder(raw, variant)
    )
    if column.mask is not Mask.HASH:
        return is_unavailable
    # Of one that is cut off only the column's type tells that it is none of a value.
    return is_unavailable | raw.isin(*map(hash_of, plain_placeholders(column)))
