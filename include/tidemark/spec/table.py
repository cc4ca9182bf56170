"""One source table and the Iceberg table that follows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field

from tidemark.model.layout import Layout
from tidemark.model.names import without_dots
from tidemark.model.target_mode import TargetMode
from tidemark.spec.audit import NO_SUITE, SuiteName
from tidemark.spec.base import (
    BrokenRule,
    IcebergName,
    Partition,
    SourceColumnName,
    SourceTableName,
    SpecModel,
    Text,
)
from tidemark.spec.target_columns import TargetColumnsSpec, duplicates


class TruncatePolicy(StrEnum):
    """What a TRUNCATE at the source does to the target."""

    APPLY = "apply"
    BLOCK = "block"
    IGNORE = "ignore"


class ColumnPolicy(StrEnum):
    """What is followed when the source changes a table's columns (SCHEMA-12)."""

    EVOLVE = "evolve"
    ADDITIVE_ONLY = "additive-only"
    FREEZE = "freeze"


def _table_part(fields: dict[str, Any]) -> str:
    return without_dots(fields["source"].table)


class TableSpec(SpecModel):
    """One source table and the Iceberg table that follows it, row by row."""

    source: SourceTableName = Field(
        description="the table as records name it: database.table; the first dot divides them, and "
        "a dot in the database's name is written _x002E_"
    )
    was: SourceTableName | None = Field(
        default=None,
        description="the name that the table had before a RENAME TABLE; records below that "
        "statement use it, and go into the same target, which has to be named",
    )
    target: IcebergName = Field(
        default_factory=_table_part,
        validate_default=True,
        description="the Iceberg table; default: the table part of source, a dot in it as _x002E_",
    )
    key: tuple[SourceColumnName, ...] = Field(
        default=(),
        description="columns that identify a row; default: as the stream declares them; where "
        "it declares none, rows are compared in all columns",
    )
    columns: Mapping[SourceColumnName, Text] = Field(
        default={},
        description="column -> type as the source database writes it, such as {weight: float}; "
        "it overrides the type in the stream, if records can be read as that",
    )
    mode: TargetMode = Field(
        default=TargetMode.MIRROR,
        description="what the target keeps: mirror the source's rows, soft-delete also those that "
        "are gone, with a flag, history every version of a row, append every change",
    )
    target_columns: TargetColumnsSpec = Field(
        default=TargetColumnsSpec(),
        description="which columns the target has, and in what form",
    )
    partition_by: tuple[Partition, ...] = Field(
        default=(),
        description="Iceberg partition fields of the target, by its names: c, year(c), month(c), "
        "day(c), hour(c), bucket(16, c), truncate(10, c); a change holds for new files",
    )
    sort_by: tuple[SourceColumnName, ...] = Field(
        default=(),
        description="columns by which rows of one file of the target are sorted; a change holds "
        "for new files",
    )
    truncate: TruncatePolicy = Field(
        default=TruncatePolicy.APPLY,
        description="what a TRUNCATE at the source does: apply ends the rows of the "
        "target at that position, block stops the table, ignore keeps them",
    )
    column_changes: ColumnPolicy = Field(
        default=ColumnPolicy.EVOLVE,
        description="which changes of the source's columns are followed: evolve all that can be, "
        "additive-only those that add or widen, freeze none; any other one stops the table",
    )
    expectations: SuiteName = Field(
        description="the suite that audits the table (a file in the expectations folder), or none"
    )

    @property
    def suite(self) -> str | None:
        """Name of the suite, None when the table is declared to have none."""
        return None if self.expectations == NO_SUITE else self.expectations

    @property
    def layout(self) -> Layout:
        """How the target's files are laid out."""
        return Layout(self.partition_by, self.sort_by)

    def broken_rules(self) -> Iterator[BrokenRule]:
        """A key, a partition and a sort order name each of their parts once; a key can be read.

        A renamed table keeps its target.
        """
        if self.was is not None and "target" not in self.model_fields_set:
            yield BrokenRule(
                ("was",), repr(str(self.was)), "target beside it: the one that the table has"
            )
        if self.was == self.source:
            yield BrokenRule(("was",), repr(str(self.was)), "another name than source")
        yield from duplicates("key", self.key)
        yield from duplicates("partition-by", self.partition_by)
        yield from duplicates("sort-by", self.sort_by)
        for index, name in enumerate(self.key):
            if not self.target_columns.rules.keeps_readable(name):
                yield BrokenRule(
                    ("key", index), repr(name), "a column that target-columns leave as it is"
                )
