"""What an erasure is asked for, what it took away, and what still holds it (ERASE-1)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

Key = Mapping[str, str]
"""The columns of a key with their values as text."""


def keys_in(text: str) -> list[Key]:
    """The keys of a file, one on each line; ValueError, without values, where it has none.

    >>> keys_in('{"id": 4711}')
    [{'id': '4711'}]
    """
    keys: list[Key] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            key = json.loads(line, parse_float=str, parse_int=str)
        except ValueError:
            raise ValueError(f"line {number} is no JSON") from None
        if not isinstance(key, dict) or not all(isinstance(v, str) for v in key.values()):
            raise ValueError(f"line {number} is no object of columns")
        keys.append(key)
    if not keys:
        raise ValueError("it has no keys")
    return keys


@dataclass(frozen=True, slots=True)
class Erasure:
    """What an erasure did to one table.

    keys: that were asked for. records: of the changelog that lost key, value and headers.
    shortened: records that lost rows of these keys, and hold rows of others. shared: records with
    a row that was left, as it has another key as well. rows: of the target that were
    deleted. entries: of the quarantine that were dropped. unreadable: records in quarantine of
    which nobody knows the key. is_rewritten: no file of the target's newest snapshot holds a row
    that is deleted. refs: tags and branches of target and changelog that hold what was there
    before. tables: what refolds left beside the target. days: for which snapshots are kept.
    """

    keys: int
    records: int = 0
    shortened: int = 0
    shared: int = 0
    rows: int = 0
    entries: int = 0
    unreadable: int = 0
    is_rewritten: bool = False
    refs: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    days: int = 0
