"""One source table and the Iceberg table that follows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field

from tidemark.model.target_mode import TargetMode
from tidemark.spec.audit import NO_SUITE, SuiteName
from tidemark.spec.base import (
    BrokenRule,
    IcebergName,
    SourceColumnName,
    SourceTableName,
    SpecModel,
    Text,
)


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
    return str(fields["source"].table)


class TableSpec(SpecModel):
    """One source table and the Iceberg table that follows it, row by row."""

    source: SourceTableName = Field(description="the table as records name it: database.table")
    target: IcebergName = Field(
        default_factory=_table_part,
        validate_default=True,
        description="the Iceberg table; default: the table part of source",
    )
    key: tuple[SourceColumnName, ...] = Field(
        default=(),
        description="columns that identify a row; default: as the stream tells; where it tells "
        "none, rows are compared in all columns",
    )
    columns: Mapping[SourceColumnName, Text] = Field(
        default={},
        description="column -> type as the source database writes it, for what the stream "
        "cannot tell, such as {weight: float}",
    )
    mode: TargetMode = Field(
        default=TargetMode.MIRROR,
        description="what the target keeps: mirror the source's rows, soft-delete also those that "
        "are gone, with a flag, history every version of a row, append every change",
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

    def broken_rules(self) -> Iterator[BrokenRule]:
        """A key names each of its columns once."""
        for index, column in enumerate(self.key):
            if column in self.key[:index]:
                yield BrokenRule(("key", index), repr(column), "each column of the key once")
