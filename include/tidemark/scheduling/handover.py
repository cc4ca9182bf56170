"""What the tasks of a cut leave for each other: ids and counts by XCom, the result as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from tidemark.model.names import AttemptId, PipelineName
from tidemark.model.result import CutResult

PLAN, FOLD, AUDIT, PUBLISH = "plan", "fold", "audit", "publish"


class Planned(TypedDict):
    """What plan leaves under the key ``plan``; until: a time or a position, or empty."""

    sentence: str
    unread: int
    stem: str
    until: str
    tables: list[str]
    reason: str


class Folded(TypedDict):
    """What fold returns; cut and status as in the result of its job."""

    attempt: str
    status: str
    cut: int
    tables: int
    hold: str


def result_file(state: Path, pipeline: PipelineName, attempt: AttemptId) -> Path:
    """Where the job of an attempt leaves its result."""
    return state / "results" / pipeline / f"{attempt}.json"


def read_result(file: Path) -> CutResult | None:
    """What the job left in ``file``; None when it left nothing."""
    try:
        return CutResult.from_json(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
