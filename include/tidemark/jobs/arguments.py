"""What jobs take on the command line."""

from __future__ import annotations

from tidemark.model.names import TableName


def tables_of(text: str) -> tuple[TableName, ...]:
    """Source tables, separated by commas."""
    return tuple(TableName.parse(name) for name in text.split(",") if name)
