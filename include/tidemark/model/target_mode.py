"""What a target keeps of the changes of its source table."""

from __future__ import annotations

from enum import StrEnum


class TargetMode(StrEnum):
    """``mirror``: the source's rows. ``soft-delete``: these, and with a flag those that are gone.

    ``history``: one row for each version of a row, with when it was valid. ``append``: one row for
    each change.
    """

    MIRROR = "mirror"
    SOFT_DELETE = "soft-delete"
    HISTORY = "history"
    APPEND = "append"

    @property
    def needs_key(self) -> bool:
        """Whether rows of the target are found again by the source's key."""
        return self in (TargetMode.SOFT_DELETE, TargetMode.HISTORY)


class Operation(StrEnum):
    """What a row of an append target tells of the source."""

    UPSERT = "upsert"
    DELETE = "delete"
    TRUNCATE = "truncate"
