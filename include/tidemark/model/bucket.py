"""The buckets of which every change of a run ends in exactly one (ACC-1)."""

from __future__ import annotations

from enum import StrEnum


class Bucket(StrEnum):
    """Where a change ended."""

    APPLIED = "applied"
    SUPERSEDED = "superseded"
    DUPLICATE = "duplicate"
    CONTROL = "control"
    FILTERED = "filtered"
    QUARANTINED = "quarantined"
    HELD = "held"
