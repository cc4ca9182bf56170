"""Names of the tables that online schema changes make beside another one (SCHEMA-32)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator

from tidemark.model.names import TableName


def _pattern(text: str) -> str:
    if text.count("*") != 1 or text == "*":
        raise ValueError("a name with one *, which stands for that of the other table: _*_new")
    return text


ShadowPattern = Annotated[str, AfterValidator(_pattern)]
OF_KNOWN_TOOLS: tuple[ShadowPattern, ...] = ("_*_gho", "_*_ghc", "_*_del", "_*_new", "_*_old")
"""Those of gh-ost and of pt-online-schema-change."""


def shadowed_by(patterns: Iterable[ShadowPattern], table: TableName) -> TableName | None:
    """The table whose shadow ``table`` is by its name; None where it is none.

    >>> shadowed_by(["_*_gho"], TableName("shop", "_items_gho"))
    TableName(schema='shop', table='items')
    """
    for before, _, after in (pattern.partition("*") for pattern in patterns):
        name = table.table.removeprefix(before).removesuffix(after)
        if name and table.table == f"{before}{name}{after}":
            return TableName(table.schema, name)
    return None
