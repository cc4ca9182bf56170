"""What an erasure took away, and what still holds it (ERASE-1)."""

from __future__ import annotations

from dataclasses import dataclass


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
