"""What an examination finds around a pipeline: how bad it is, what it costs, what ends it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Grade(StrEnum):
    """How bad a finding is, the worst first.

    ``error``: rows are missing or wrong, or nothing can run. ``warning``: that may come. ``note``:
    what holds as things are. ``good``: it was looked at, and is as it should be.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    GOOD = "good"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    about: the thing, such as ``topic shop``. what: how it is. cost, fix: what that costs, and what
    to do about it; empty where it is good.
    """

    grade: Grade
    about: str
    what: str
    cost: str = ""
    fix: str = ""

    @classmethod
    def good(cls, about: str, what: str) -> Finding:
        """What is as it should be."""
        return cls(Grade.GOOD, about, what)


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """``findings`` by their grade, in their order within one.

    >>> note, error = (Finding(grade, "a", "b") for grade in (Grade.NOTE, Grade.ERROR))
    >>> worst_first([note, error]) == (error, note)
    True
    """
    order = list(Grade)
    return tuple(sorted(findings, key=lambda finding: order.index(finding.grade)))
