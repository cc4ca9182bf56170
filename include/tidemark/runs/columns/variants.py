"""Columns that records hold in several variants, and each record says in which (SCHEMA-4).

A connector whose settings were changed writes the same values in another way: times in micro- or
milliseconds or as text, decimals as bytes or as text. No statement tells it; the schemas of the
records do, by which their ids stand beside the columns from then on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from tidemark.errors import RowsUnknownError
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import ColumnName, TableName
from tidemark.schema.changes import is_followed, is_widening
from tidemark.schema.connect_types import SIZED_ENCODINGS, other_mode
from tidemark.schema.overrides import read_as_text
from tidemark.schema.rewrites import is_rewrite

ColumnsBySchema = Collection[tuple[int, Collection[SourceColumn]]]
"""The id of a record schema, and the columns as such records hold them."""


def with_variants(
    columns: Mapping[ColumnName, SourceColumn],
    have: TableSchema | None,
    variants: ColumnsBySchema,
    changed: Collection[ColumnName],
) -> dict[ColumnName, SourceColumn]:
    """``columns`` with the variants that records have for them.

    have: as the target was made; how it has a column holds for schemas that no cut told yet.
    changed: columns that a statement of the cut declared again.
    """
    return {
        name: _with_variants(
            column,
            have[name] if have is not None and name in have.names else None,
            {
                schema: variant
                for schema, of_schema in variants
                for variant in of_schema
                if variant.name == name
            },
            is_changed=name in changed,
        )
        for name, column in columns.items()
    }


def _with_variants(
    column: SourceColumn,
    before: SourceColumn | None,
    variants: Mapping[int, SourceColumn],
    *,
    is_changed: bool,
) -> SourceColumn:
    known = {
        schema: variant for ids, variant in (before.by_schema if before else ()) for schema in ids
    }
    if before is not None and variants and not is_changed and before.iceberg == column.iceberg:
        digits = before.digits if before.encoding in SIZED_ENCODINGS else column.digits
        column = replace(
            column, encoding=before.encoding, digits=digits, most_chars=before.most_chars
        )
    for schema, variant in variants.items():
        is_other = (
            schema in known or column.former is not None or _encoding(variant) != _encoding(column)
        )
        if is_other and (
            variant.iceberg == column.iceberg or is_followed(variant.iceberg, column.iceberg)
        ):
            known[schema] = _plain(variant)
    ids: dict[SourceColumn, list[int]] = {}
    for schema, variant in sorted(known.items()):
        ids.setdefault(variant, []).append(schema)
    return replace(
        column, by_schema=tuple((tuple(schemas), variant) for variant, schemas in ids.items())
    )


def _encoding(column: SourceColumn) -> tuple[ValueEncoding, int, int]:
    digits = column.digits if column.encoding in SIZED_ENCODINGS else 0
    return column.encoding, digits, column.most_chars


def _plain(column: SourceColumn) -> SourceColumn:
    """``column`` without what is not told of records."""
    plain = replace(column, former=None, changed_at=None, backfill=None, mask=None, by_schema=())
    return replace(plain, read_at=None)


def is_before_rewrite(have: TableSchema | None, name: ColumnName, schema_id: int | None) -> bool:
    """Whether records of a schema hold a column as it was before its rows were rewritten."""
    if have is None or name not in have.names:
        return False
    variants = (variant for ids, variant in have[name].by_schema if schema_id in ids)
    return any(is_rewrite(variant.iceberg, have[name].iceberg) for variant in variants)


def refuse_other_types(
    table: TableName, versions: Iterable[TableSchema], *, may_be_unsigned: bool
) -> None:
    """Raise where records hold a column in variants for which no one type of a target will do.

    versions: oldest first. No statement tells that the type changed. may_be_unsigned: as of
    `overridden`.
    """
    known: dict[ColumnName, SourceColumn] = {}
    for column in (column for version in versions for column in version.columns):
        before = known.get(column.name, column)
        if is_widening(column.iceberg, before.iceberg):
            continue
        if column.iceberg != before.iceberg and not (
            is_widening(before.iceberg, column.iceberg)
            or _is_type_change(before, column, may_be_unsigned=may_be_unsigned)
        ):
            is_text = all(
                read_as_text(variant, may_be_unsigned=may_be_unsigned)
                for variant in (before, column)
            )
            raise _two_types(table, before, column, is_text=is_text)
        known[column.name] = column


def _is_type_change(was: SourceColumn, now: SourceColumn, *, may_be_unsigned: bool) -> bool:
    """Whether records show that the type of a column changed, into which its rows are cast.

    A connector that is told to write decimals, times or 64 bits in another way makes records that
    look as if the column had become a text or a decimal.
    """
    if not is_rewrite(was.iceberg, now.iceberg):
        return False
    if now.iceberg == "string":
        return was.iceberg == "int" or now.encoding in (
            ValueEncoding.DECIMAL_BASE64,
            ValueEncoding.DECIMAL_SCALED,
        )
    return was.iceberg != "bigint" or not may_be_unsigned


def _two_types(
    table: TableName, before: SourceColumn, column: SourceColumn, *, is_text: bool
) -> RowsUnknownError:
    name = column.name
    fix = (
        "have the connector write it as before; or fold the table by a new pipeline from a new "
        "snapshot, once its topic holds the new variant alone"
    )
    if is_text:
        fix = (
            f"declare {name}: text in columns: of {table}, give the table another target, and have "
            f"its rows re-snapshotted: tidemark resync PIPELINE {table}"
        )
    mode = other_mode(column, before)
    if mode is not None:
        fix = (
            f"if the connector's {mode}.handling.mode was changed, say so in source.modes.{mode}; "
            f"else {fix}"
        )
    return RowsUnknownError(
        f"{table} cannot be followed: column {name} changed from {before.source_type} "
        f"({before.iceberg}) to {column.source_type} ({column.iceberg}), which Iceberg cannot "
        "promote",
        state="the table stays as it was last published; its records wait in the changelog",
        next_step=fix,
    )
