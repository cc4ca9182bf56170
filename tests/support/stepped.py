"""Columns of the engine's rules, added one after the other by SQLite, without a JVM."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def stepped(
    rows: Sequence[Mapping[str, Any]], *steps: Iterable[Mapping[str, str]]
) -> list[sqlite3.Row]:
    """``rows``, all with the same columns, with the columns of ``steps`` added."""
    if not rows:
        return []
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    names = list(rows[0])
    database.execute(f"CREATE TABLE given ({', '.join(names)})")
    marks = ", ".join("?" for _ in names)
    values = ([row[name] for name in names] for row in rows)
    database.executemany(f"INSERT INTO given VALUES ({marks})", values)  # noqa: S608  our own names
    query = "SELECT * FROM given"
    for columns in (columns for part in steps for columns in part):
        added = ", ".join(f"{text} AS {name}" for name, text in columns.items())
        query = f"SELECT *, {added} FROM ({query})"  # noqa: S608  our own texts
    return database.execute(query).fetchall()
