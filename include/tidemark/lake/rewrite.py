"""Rewritten rows, where a column takes a type that Iceberg does not promote it to (SCHEMA-13).

A fork has such a column twice: the schema of its newest snapshot has the old one, and its own
schema the new one, under another field id. What is read by the one is written by the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType

from tidemark.errors import UNCHANGED, WAITING, AccountingError, TableStoppedError
from tidemark.lake.catalog import TableId, catalog_errors
from tidemark.lake.marks import live_rows
from tidemark.log import get_logger
from tidemark.model.column_rules import Mask
from tidemark.model.names import ColumnName, quote
from tidemark.schema.changes import RewriteColumn

log = get_logger()


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Rows of the snapshot ``base`` of a fork, as they are in ``snapshot``.

    columns: pairs of the name that a column had there, and of the name that it has now.
    """

    base: int
    snapshot: int
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the fork, the Spark type of it, and what a row that is there has in it.

    old: what its values are called where they are, None where there are none. change: to its type.
    """

    name: str
    kind: DataType
    old: str | None
    change: RewriteColumn | None

    @property
    def is_readable(self) -> bool:
        """Whether what a row had in it is there to be read afterwards."""
        is_redacted = self.change is not None and self.change.column.mask is Mask.REDACT
        return self.old is not None and not is_redacted

    @property
    def value(self) -> Column:
        """Null where it does not fit the type."""
        if self.old is None or not self.is_readable:
            return F.lit(None).cast(self.kind)
        value = F.col(quote(self.old))
        if self.change is not None and isinstance(self.kind, BinaryType):
            width = 2 * self.change.column.bit_bytes
            digits = F.hex(value)
            fits = F.when(F.length(digits) <= width, F.lit(width))
            return F.unhex(F.lpad(digits, fits, F.lit("0")))
        return value.try_cast(self.kind)

    @property
    def is_lost(self) -> Column:
        """Whether a row has a value that does not fit."""
        if self.old is None or not self.is_readable:
            return F.lit(False)
        return F.col(quote(self.old)).isNotNull() & self.value.isNull()


def rewrite_rows(
    session: SparkSession,
    catalog: Catalog,
    target: TableId,
    fork: TableId,
    changes: Sequence[RewriteColumn],
) -> Rewritten | None:
    """Rewrite every row of ``fork``; None where it has none.

    target: the table that it is a fork of, whose schema is still the one of before. Raises
    TableStoppedError where a value does not fit, and AccountingError where rows are missing after
    it: in both cases the fork is of no use, and the target as it was.
    """
    with catalog_errors(f"the reading of {target}"):
        before, table = catalog.load_table(target.parts).schema(), catalog.load_table(fork.parts)
    base = table.current_snapshot()
    if base is None:
        return None
    name = quote(catalog.name, *fork.parts)
    kinds = {field.name: field.dataType for field in session.table(name).schema}
    columns = [
        _Column(column, kinds[column], old, change)
        for column, old, change in _origins(table, base, before, changes)
    ]
    there = session.read.option("versionAsOf", base.snapshot_id).table(name)
    rows = _count(target, there, [column for column in columns if column.change is not None])
    values = there.select(*(column.value.alias(column.name) for column in columns))
    values.writeTo(name).overwrite(F.lit(True))
    with catalog_errors(f"the reading of {fork}"):
        after = table.refresh().current_snapshot()
    if after is None or live_rows(after) != rows:
        raise AccountingError(
            f"{rows} rows of {target} were to be rewritten, and {live_rows(after)} were",
            state=UNCHANGED,
            next_step="run again; if this repeats, its files are not sound",
        )
    log.info("rows_rewritten", table=str(target), rows=rows)
    pairs = ((c.old, c.name) for c in columns if c.change is not None and c.is_readable)
    name_pairs = tuple((old, name) for old, name in pairs if old is not None)
    return Rewritten(base.snapshot_id, after.snapshot_id, name_pairs)


def _origins(
    table: Table, base: Snapshot, before: Schema, changes: Sequence[RewriteColumn]
) -> Iterator[tuple[str, str | None, RewriteColumn | None]]:
    """Columns of ``table``, their names at ``base``, and what changes of them.

    before: the schema that it had until the columns got other types.
    """
    rewritten = {change.column.name: change for change in changes}
    schema = table.schema()
    stored = schema if base.schema_id is None else table.schemas()[base.schema_id]
    names = {field.field_id: field.name for field in stored.fields}
    for field in schema.fields:
        change = rewritten.get(ColumnName(field.name))
        former = field if change is None else before.find_field(change.called)
        yield field.name, names.get(former.field_id), change


def _count(target: TableId, there: DataFrame, changed: Sequence[_Column]) -> int:
    """How many rows there are; raises TableStoppedError where a value of them would be lost."""
    lost = [F.count_if(column.is_lost) for column in changed if column.change]
    rows, *counts = there.agg(F.count(F.lit(1)), *lost).collect()[0]
    for column, count in zip(changed, counts, strict=True):
        if count and column.change is not None:
            raise TableStoppedError(
                f"{count} rows of {target} have a value in column {column.name} that does not fit "
                f"its new type {column.change.column.source_type}",
                state=WAITING,
                next_step="have its rows re-snapshotted: tidemark resync PIPELINE TABLE",
            )
    return int(rows)
