"""Columns in which a null may stand for a large value that did not change (UNAV-11).

PostgreSQL's log does not repeat a value that is stored apart from its row (TOAST) and that an
update leaves as it is. Debezium sends a placeholder for most types. For the others it has none that
fits the schema of the column, and sends null. Source of the list: Debezium 3.5, the classes
`UnchangedToastedReplicationMessageColumn` and `PostgresValueConverter`; docs/adr/0039.
"""

from __future__ import annotations

import re

from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import ColumnName

_MARKED_ELEMENTS = frozenset(
    (
        *("text", "character varying", "varchar", "character", "char", "bpchar", "string"),
        *("json", "jsonb", "uuid", "bytea", "bytes", "date"),
        *("integer", "int", "int4", "int32", "bigint", "int8", "int64"),
    )
)
"""Element types, in PostgreSQL or in records, of arrays that have a placeholder (UNAV-1).

The elements of an ``inet[]`` are strings in records, as those of a ``text[]`` are.
"""
_UNMARKED = frozenset(
    (
        *("geometry", "geography", "path", "polygon"),
        *("sparsevec", "sparsedoublevector"),
    )
)
_BITS = (ValueEncoding.BITS_TEXT, ValueEncoding.BYTES_TEXT)
_HEADER_BYTES, POINTER_BYTES = 8, 18
"""In front of the bits of a value; and what PostgreSQL has in a row in place of one stored apart.

It moves no value that is not larger than this.
"""
_STAYING = frozenset(("geometry", "geography"))
"""What PostgreSQL moves behind all else, however large: it moves small values before."""
_ROW_BYTES = 1_600
"""It moves nothing out of a row of at most 2,032; the rest is for columns that connectors hide."""
_FIXED = frozenset(("boolean", "int", "bigint", "float", "double", "date"))
_FIXED |= {"timestamp", "timestamp_ntz"}
_FIXED_BYTES, _ALIGNED_BYTES = 16, 8
_LEAST_BYTES = 40
"""Of a bound: below it, short values that stay in the row would count."""
_FEW_BITS = (POINTER_BYTES - _HEADER_BYTES) * 8
_PARAMETERS = re.compile(r"\([^()]*+\)|\[\d*\]")


def has_uncertain_nulls(column: SourceColumn) -> bool:
    """Whether Debezium has no placeholder for values of ``column`` that PostgreSQL may move.

    column: of a table of PostgreSQL. A ``numeric`` does not count, as it is moved from thousands of
    digits on alone.
    """
    return any(map(_is_unmarked, column.variants))


def uncertain_nulls(schema: TableSchema) -> tuple[ColumnName, ...]:
    """The columns of a table of PostgreSQL, outside of its key, that `has_uncertain_nulls`."""
    return tuple(
        column.name
        for column in schema.columns
        if column.name not in schema.key and has_uncertain_nulls(column)
    )


def most_unmoved(schema: TableSchema, name: ColumnName) -> int:
    """Bytes up to which no value of the column ``name`` is ever moved; 0 where nothing shows it.

    PostgreSQL moves the largest values first, and none once the row is small enough. So where it
    moves one, all others that it may move are as small by then, whatever they were: a row of few
    columns is small enough before a small value is next.
    """
    column = schema[name]
    types = {_base(variant.source_type) for each in schema.columns for variant in each.variants}
    if types & _STAYING or column.mask is not None or _base(column.source_type) in _UNMARKED:
        return 0
    fixed = sum(each.iceberg in _FIXED for each in schema.columns)
    others = len(schema.columns) - fixed
    most = (_ROW_BYTES - fixed * _FIXED_BYTES) // others - _ALIGNED_BYTES
    return most if most >= _LEAST_BYTES else 0


def _is_unmarked(column: SourceColumn) -> bool:
    if column.element is not None:
        return _base(column.source_type) not in _MARKED_ELEMENTS
    if column.encoding in _BITS:
        return not 0 < column.digits <= _FEW_BITS
    return _base(column.source_type) in _UNMARKED


def _base(source_type: str) -> str:
    """The name of a type, or of an array's elements, without schema and parameters.

    >>> _base("public.geometry(Point,4326)"), _base("_int4"), _base("time(3) with time zone[]")
    ('geometry', 'int4', 'time with time zone')
    """
    words = _PARAMETERS.sub(" ", source_type.lower()).split()
    name = " ".join(word for word in words if word != "array")
    return name.rpartition(".")[-1].removeprefix("_")
