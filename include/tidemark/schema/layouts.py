"""Whether a target's columns bear the layout that is declared for it."""

from __future__ import annotations

from collections.abc import Mapping

from tidemark.errors import TableStoppedError
from tidemark.model.columns import TableSchema
from tidemark.model.layout import Transform
from tidemark.model.names import TableName

_TIMES = frozenset({"timestamp", "timestamp_ntz"})
_DATES = _TIMES | {"date"}
_PLAIN = frozenset({"int", "bigint", "decimal", "string", "binary"})
_PARTITIONED: Mapping[Transform, frozenset[str]] = {
    Transform.YEAR: _DATES,
    Transform.MONTH: _DATES,
    Transform.DAY: _DATES,
    Transform.HOUR: _TIMES,
    Transform.BUCKET: _PLAIN | _DATES,
    Transform.TRUNCATE: _PLAIN,
    Transform.IDENTITY: _PLAIN | _DATES | {"boolean"},
}
"""Types that Iceberg partitions by each transform; of floating point numbers it takes none."""


def check_layout(table: TableName, schema: TableSchema) -> None:
    """Raise TableStoppedError where the layout names a column that is not there or is unfit."""
    types = {column.name: column.iceberg.partition("(")[0] for column in schema.columns}
    for name in schema.layout.columns:
        if name not in types:
            raise _stopped(table, f"it has no column {name}, by which its target is laid out")
    for field in schema.layout.partition:
        if types[field.column] not in _PARTITIONED[field.transform]:
            iceberg = schema[field.column].iceberg
            raise _stopped(
                table, f"its target cannot be partitioned by {field}: the column is {iceberg}"
            )
    for name in schema.layout.sort:
        if "<" in types[name]:
            raise _stopped(table, f"its target cannot be sorted by {name}: an array has no order")


def _stopped(table: TableName, why: str) -> TableStoppedError:
    return TableStoppedError(
        f"{table} cannot be folded: {why}",
        state="the table stays as it was last published; its records wait in the changelog",
        next_step=f"mend partition-by: and sort-by: of {table} in the pipeline file",
    )
