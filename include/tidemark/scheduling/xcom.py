"""What the tasks of a cut leave for each other by XCom: ids and counts, never rows."""

from __future__ import annotations

from typing import NotRequired, TypedDict

PLAN, FOLD, AUDIT, PUBLISH, STALL = "plan", "fold", "audit", "publish", "stall"
CUT, MAINTAIN, REFOLD, RESYNC, ACTION = "cut", "maintain", "refold", "resync", "action"


class Planned(TypedDict):
    """What plan leaves under the key ``plan``; until: a time or a position, or empty.

    tag: what the targets are to get, or empty. starts: topic -> partition -> the first offset that
    is not landed, for OpenLineage. dry_run, tag, starts: not there in runs that an older version
    began.
    """

    sentence: str
    unread: int
    stem: str
    until: str
    tables: list[str]
    reason: str
    dry_run: NotRequired[bool]
    tag: NotRequired[str]
    starts: NotRequired[dict[str, dict[str, int]]]


class Folded(TypedDict):
    """What fold returns; cut and status as in the result of its job."""

    attempt: str
    status: str
    cut: int
    tables: int
    hold: str
