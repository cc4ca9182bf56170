"""Rows that an erasure took out of a record which holds others as well (ERASE-1).

Something stands in the place of each, so that the rows behind it keep their numbers.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator

from pyspark.sql import Column

from tidemark.formats.json_spans import Edit, elements, fields, spliced, whole
from tidemark.model.names import SYSTEM_PREFIX

ERASED_ROW = f"{SYSTEM_PREFIX}erased"
"""The one field of a row that is gone; no column has such a name."""
_GONE = "row"
_IMAGES = {"data": json.dumps({ERASED_ROW: _GONE}), "old": "null"}
_EMPTY = ("null", '""')


def without_rows(value: bytes, rows: Collection[int]) -> bytes:
    """A record without the values of ``rows``, by their numbers; all else of it stays as it is.

    The text of the statement that changed them goes as well. ValueError where the record has no
    such rows.
    """
    text = value.decode()
    edits, there = list[Edit](), set[int]()
    for name, begin, end in fields(text, whole(text)):
        if name in _IMAGES and text[begin] == "[":
            numbered = list(enumerate(elements(text, begin)))
            there |= {number for number, _ in numbered if name == "data"}
            edits += _gone(numbered, rows, _IMAGES[name])
        elif name == "sql" and text[begin:end] not in _EMPTY:
            edits.append((begin, end, _EMPTY[1]))
    if not there.issuperset(rows):
        raise ValueError(f"a record has no row {min(set(rows) - there)}")
    return spliced(text, edits).encode()


def _gone(
    numbered: list[tuple[int, tuple[int, int]]], rows: Collection[int], instead: str
) -> Iterator[Edit]:
    for number, (begin, end) in numbered:
        if number in rows:
            yield begin, end, instead


def is_erased(mark: Column) -> Column:
    """Whether a row is gone; mark: its field ERASED_ROW, null where it has none."""
    return mark.eqNullSafe(_GONE)
