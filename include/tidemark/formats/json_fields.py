"""Column names as a `from_json` schema."""

from __future__ import annotations

from collections.abc import Iterable

from tidemark.model.names import quote


def text_fields(names: Iterable[str]) -> str:
    """The columns ``names``, each to be read as its text.

    >>> text_fields(["id", "odd`name"])
    '`id` STRING, `odd``name` STRING'
    """
    return ", ".join(f"{quote(name)} STRING" for name in names)
