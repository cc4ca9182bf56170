"""Columns to which a statement gave values that nothing shows: withheld, and not their table.

The target has such a column under another name, so that nobody takes its nulls for values. Rows get
their values as they are changed or read again; once no row is left that is older than the
statement, the column takes its own name (SCHEMA-38, docs/adr/0028).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pyiceberg.catalog import Catalog
from pyiceberg.expressions import IsNull, LessThanOrEqual, Or

from tidemark.errors import WAITING, RowsUnknownError
from tidemark.lake.catalog import TableId, catalog_errors
from tidemark.lake.evolve import TargetHead
from tidemark.model.columns import POSITION, SourceColumn, TableSchema
from tidemark.model.position import Position, place_of
from tidemark.model.profile import ProfileEntry
from tidemark.model.target_mode import TargetMode
from tidemark.spec import SourceSpec, TableSpec


def can_withhold(source: SourceSpec, spec: TableSpec) -> bool:
    """Whether positions show which rows of the target are older than a statement.

    Other modes than a mirror keep old rows for good, and offsets rise when records come again.
    """
    return spec.mode is TargetMode.MIRROR and not source.is_without_positions


def with_withheld(
    catalog: Catalog,
    target: TableId,
    head: TargetHead | None,
    schema: TableSchema,
    entries: Iterable[ProfileEntry],
) -> TableSchema:
    """``schema``, whose columns are withheld as long as a row may be older than their values.

    head: of the target. entries: of the rows that the cut folds. Reads positions of the target, of
    the files alone that have older ones. `RowsUnknownError` where rows are found by such a column.
    """
    unknown = [column for column in schema.columns if column.unknown_below is not None]
    if not unknown:
        return schema
    entries = list(entries)
    withheld = {
        column.name
        for column in unknown
        if any(reaches(entry, column.unknown_below) for entry in entries)
        or _has_rows(catalog, target, head, column)
    }
    columns = (replace(c, is_withheld=c.name in withheld) for c in schema.columns)
    schema = replace(schema, columns=tuple(columns))
    refuse_withheld_key(schema)
    return schema


def refuse_withheld_key(schema: TableSchema) -> None:
    """Raise `RowsUnknownError` where rows are found by a column that is withheld."""
    withheld = set(schema.withheld)
    if not withheld or (schema.key and not withheld & set(schema.key)):
        return
    name = min(withheld & set(schema.key), default=min(withheld))
    why = f"its key has column {name}" if schema.key else "they are found by all columns"
    raise RowsUnknownError(
        f"the rows of before position {schema[name].unknown_below} got values in {name} that "
        f"nothing shows, and {why}",
        state=WAITING,
        next_step="fold the table into a new target from a new snapshot of the source",
    )


def reaches(entry: ProfileEntry, below: Position | None) -> bool:
    """Whether a change of ``entry`` may stand at or below the position ``below``."""
    place = place_of(below or Position(""))
    return entry.lowest_place is None or place is None or entry.lowest_place <= place


def _has_rows(
    catalog: Catalog, target: TableId, head: TargetHead | None, column: SourceColumn
) -> bool:
    """Whether the target has a row at or below the position of the column's statement."""
    if head is None or head.snapshot is None or column.unknown_below is None:
        return False
    older = LessThanOrEqual(term=POSITION, value=column.unknown_below)
    with catalog_errors(f"the reading of {target}"):
        table = catalog.load_table(target.parts)
        scan = table.scan(
            row_filter=Or(older, IsNull(term=POSITION)),
            selected_fields=(POSITION,),
            snapshot_id=head.snapshot,
            limit=1,
        )
        return bool(scan.to_arrow().num_rows)
