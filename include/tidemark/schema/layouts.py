"""Whether a source's columns bear what is declared for their target."""

from __future__ import annotations

from collections.abc import Mapping

from tidemark.errors import WAITING, TableStoppedError
from tidemark.model.columns import TableSchema
from tidemark.model.layout import Transform
from tidemark.model.names import ColumnName, TableName

_RULES = "target-columns:"
_LAYOUT = "partition-by: and sort-by:"
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


def check_rules(table: TableName, schema: TableSchema) -> None:
    """Raise TableStoppedError where rules for columns cannot be kept, or would miss what they mean.

    schema: of the source.
    """
    rules = schema.rules
    for name in rules.columns:
        if name not in schema.names:
            raise _stopped(table, f"it has no column {name}, for which there is a rule", _RULES)
    for name in schema.key:
        if not rules.keeps_readable(name):
            why = f"column {name} is part of its key, and rules leave it out or make it unreadable"
            raise _stopped(table, why, _RULES)
    for name in rules.hashed:
        if schema[name].element is not None:
            raise _stopped(table, f"column {name} is an array, which cannot be hashed", _RULES)
    by_target: dict[str, ColumnName] = {}
    for name in schema.names:
        target = rules.target_name(name)
        if target is not None and by_target.setdefault(target.lower(), name) != name:
            other = by_target[target.lower()]
            raise _stopped(table, f"columns {other} and {name} are both called {target}", _RULES)


def check_layout(table: TableName, schema: TableSchema) -> None:
    """Raise TableStoppedError where the layout names a column that is not there or is invalid.

    schema: of the target.
    """
    types = {column.name: column.stored.partition("(")[0] for column in schema.columns}
    for name in schema.layout.columns:
        if name not in types:
            why = f"it has no column {name}, by which its target is laid out"
            raise _stopped(table, why, _LAYOUT)
    for field in schema.layout.partition:
        if types[field.column] not in _PARTITIONED[field.transform]:
            stored = schema[field.column].stored
            why = f"its target cannot be partitioned by {field}: the column is {stored}"
            raise _stopped(table, why, _LAYOUT)
    for name in schema.layout.sort:
        if "<" in types[name]:
            why = f"its target cannot be sorted by {name}: an array has no order"
            raise _stopped(table, why, _LAYOUT)


def _stopped(table: TableName, why: str, fields: str) -> TableStoppedError:
    return TableStoppedError(
        f"{table} cannot be folded: {why}",
        state=WAITING,
        next_step=f"fix {fields} of {table} in the pipeline file",
    )
