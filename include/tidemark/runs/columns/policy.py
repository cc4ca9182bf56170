"""Which changes of a table's columns its policy lets through (SCHEMA-12)."""

from __future__ import annotations

from collections.abc import Sequence

from tidemark.errors import WAITING, TableStoppedError
from tidemark.formats.rows import is_hashable
from tidemark.model.column_rules import Mask
from tidemark.model.columns import WITHHELD, TableSchema
from tidemark.runs.ddl.effects import DdlEffects
from tidemark.schema.changes import (
    ADDITIVE,
    DECLARED,
    RenameColumn,
    RewriteColumn,
    SchemaChange,
    describe,
)
from tidemark.spec import ColumnPolicy, LimitsSpec, TableSpec


def refuse_by_policy(spec: TableSpec, changes: Sequence[SchemaChange], effects: DdlEffects) -> None:
    """Raise TableStoppedError for changes of a target that the table's policy does not follow."""
    if spec.column_changes is ColumnPolicy.EVOLVE:
        return
    allowed = ADDITIVE if spec.column_changes is ColumnPolicy.ADDITIVE_ONLY else DECLARED
    refused = [
        change for change in changes if not (isinstance(change, allowed) or _withholds(change))
    ]
    if refused:
        raise TableStoppedError(
            f"{spec.source} is not followed any further: its columns change "
            f"({', '.join(map(describe, refused))}), and its policy is {spec.column_changes}"
            f"{_statements(spec, effects)}",
            state=WAITING,
            next_step=f"set column-changes: {ColumnPolicy.EVOLVE} for it in the pipeline file",
        )


def _withholds(change: SchemaChange) -> bool:
    """Whether a column that joined takes its own name, or is withheld again (SCHEMA-38)."""
    if not isinstance(change, RenameColumn):
        return False
    return WITHHELD in {change.was.removesuffix(change.name), change.name.removesuffix(change.was)}


def refuse_large_rewrite(
    spec: TableSpec, changes: Sequence[SchemaChange], rows: int, limits: LimitsSpec
) -> None:
    """Raise TableStoppedError where more rows would be rewritten than one run may.

    rows: of the target.
    """
    rewritten = [describe(change) for change in changes if isinstance(change, RewriteColumn)]
    if rewritten and rows > limits.max_rewrite_rows:
        raise TableStoppedError(
            f"{spec.source} is not followed any further: its columns change "
            f"({', '.join(rewritten)}), for which {rows:,} rows of its target are to be "
            f"rewritten, and limits.max-rewrite-rows is {limits.max_rewrite_rows:,}",
            state=WAITING,
            next_step=f"set limits.max-rewrite-rows: {rows} in the pipeline file, or more, for "
            "the run that may take as long",
        )


def refuse_unhashable(spec: TableSpec, schema: TableSchema) -> None:
    """Raise TableStoppedError for a column whose hash no masked record tells (MASK-1)."""
    wrong = [
        f"{column.name} ({column.source_type})"
        for column in schema.columns
        if schema.rules.mask(column.name) is Mask.HASH
        and not all(map(is_hashable, column.variants))
    ]
    if wrong:
        raise TableStoppedError(
            f"{spec.source} is not followed any further: {', '.join(wrong)} is hashed, and records "
            "are kept masked (changelog.payload), where hashes are of texts and integers alone: "
            "another value has another text in the target than in its record",
            state=WAITING,
            next_step="have target-columns redact or exclude it instead of hash",
        )


def _statements(spec: TableSpec, effects: DdlEffects) -> str:
    """The statements of the cut that changed its columns; none where records alone told it."""
    column_renames = effects.column_renames.get(spec.source, ())
    statements = [
        (column_rename.column_rename.position, column_rename.statement)
        for column_rename in column_renames
    ]
    statements += [(c.position, c.statement) for c in effects.changed.get(spec.source, ())]
    statements += [(r.position, r.statement) for r in effects.key_changes.get(spec.source, ())]
    return "".join(f": {text} (at position {at})" for at, text in sorted(set(statements)))
