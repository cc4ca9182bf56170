"""What became of the columns of a table between two of its schemas, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from pyiceberg.schema import Schema
from pyiceberg.types import NestedField

from tidemark.model.names import SYSTEM_PREFIX


def schema_differences(old: Schema, new: Schema) -> tuple[str, ...]:
    """Columns that came, went, or have another name or type, by their ids.

    A column that was rewritten has another id: of such a one its type is told, as it has its
    name.
    """
    was, now = _columns(old), _columns(new)
    gone = {column.name: column for number, column in was.items() if number not in now}
    return tuple(_sentences(was, now, gone))


def _columns(schema: Schema) -> dict[int, NestedField]:
    columns = (column for column in schema.fields if not column.name.startswith(SYSTEM_PREFIX))
    return {column.field_id: column for column in columns}


def _sentences(
    was: dict[int, NestedField], now: dict[int, NestedField], gone: dict[str, NestedField]
) -> Iterator[str]:
    for number, column in now.items():
        before = was.get(number) or gone.pop(column.name, None)
        if before is None:
            yield f"{column.name} {column.field_type} was added"
            continue
        if before.name != column.name:
            yield f"{before.name} was renamed to {column.name}"
        if before.field_type != column.field_type:
            yield f"{column.name} became {column.field_type}, and was {before.field_type}"
        elif before.field_id != number:
            yield f"{column.name} was rewritten"
    for name in gone:
        yield f"{name} was dropped"
