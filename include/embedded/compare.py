"""Published tables against the rows that their source held, value by value.

Written for the samples alone, and apart from the code that folds: it reads what a reader without
Spark reads, and knows the source only by the rows that were recorded there.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError

from embedded.sample import SourceTable

SYSTEM_PREFIX = "_tidemark_"
UNREAD_TYPES = ("geometry",)
"""Source types whose recorded text form is not that of the table: only null or not is compared."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One table at the source and as published; differences: rows of either side, in words.

    by_null: columns of which only null or not was compared.
    """

    table: str
    source_rows: int
    published_rows: int
    differences: tuple[str, ...]
    by_null: tuple[str, ...]

    @property
    def is_equal(self) -> bool:
        """Whether there are as many rows, and each is the source's."""
        return self.source_rows == self.published_rows and not self.differences


def read_rows(catalog: Catalog, namespace: str, table: str) -> list[Row]:
    """All rows that readers of ``main`` see; none of a table that is not there yet."""
    try:
        rows: list[Row] = catalog.load_table((namespace, table)).scan().to_arrow().to_pylist()
    except NoSuchTableError:
        return []
    return rows


def compare(name: str, expected: SourceTable, published: Sequence[Row]) -> Comparison:
    """Every row and value of ``expected`` against what is published."""
    wanted = {_key(row, expected.key): row for row in expected.rows}
    actual = {_key(row, expected.key): row for row in published}
    differences = [f"row {'/'.join(key)} is missing" for key in wanted.keys() - actual.keys()]
    differences += [f"row {'/'.join(key)} is too much" for key in actual.keys() - wanted.keys()]
    for key in wanted.keys() & actual.keys():
        columns = _different_columns(expected, wanted[key], actual[key])
        if columns:
            differences.append(f"row {'/'.join(key)} differs in {', '.join(columns)}")
    return Comparison(
        name,
        len(expected.rows),
        len(published),
        tuple(sorted(differences)),
        tuple(column for column, kind in expected.columns.items() if kind in UNREAD_TYPES),
    )


def is_same(recorded: Any, published: Any, source_type: str) -> bool:
    """Whether a published value is the recorded one.

    >>> is_same("347.78", Decimal("347.780"), "decimal(12,2)")
    True
    >>> is_same('{"a": 1, "b": 2}', '{"b":2,"a":1}', "json")
    True
    """
    if recorded is None or published is None:
        return recorded is published
    if source_type in UNREAD_TYPES:
        return True
    try:
        return bool(
            _recorded(recorded, published, source_type) == _document(published, source_type)
        )
    except (ValueError, TypeError, ArithmeticError):
        return False


def _recorded(recorded: Any, published: Any, source_type: str) -> Any:
    """The recorded value in the type that was published."""
    match published:
        case int() | Decimal():
            return Decimal(str(recorded))
        case float() if source_type == "float":
            (single,) = struct.unpack("f", struct.pack("f", float(recorded)))
            return single
        case datetime():
            return datetime.fromisoformat(recorded)
        case date():
            return date.fromisoformat(recorded)
        case _:
            return _document(recorded, source_type)


def _document(value: Any, source_type: str) -> Any:
    return json.loads(value) if source_type == "json" else value


def _different_columns(expected: SourceTable, wanted: Row, actual: Row) -> list[str]:
    """Columns of the source, and those that only the table has: they must be null."""
    strange = {name for name in actual if not name.startswith(SYSTEM_PREFIX)} - wanted.keys()
    return [
        name
        for name in sorted(expected.columns.keys() | strange)
        if not is_same(wanted.get(name), actual.get(name), expected.columns.get(name, ""))
    ]


def _key(row: Row, key: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(row.get(name)) for name in key)
