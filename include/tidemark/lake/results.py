"""Results of attempts: one file each in the state folder of the installation; no engine, no JVM.

Airflow's tasks read them, and `tidemark status` tells by them which attempts failed: a failed one
leaves nothing in the lake. Only the newest are kept.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tidemark.model.maintenance import MaintenanceResult
from tidemark.model.names import AttemptId, PipelineName
from tidemark.model.result import CutResult, CutStatus

MAX_RESULT_FILES = 100
"""Result files of one pipeline that are kept."""


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """An attempt that came to no cut.

    at_ms: when it failed. error: the name of its error, what happened, `state:` and `next:`.
    """

    attempt: AttemptId
    at_ms: int
    error: str


def result_file(state: Path, pipeline: PipelineName, attempt: AttemptId) -> Path:
    """Where an attempt leaves its result."""
    return state / "results" / pipeline / f"{attempt}.json"


def preview_file(state: Path, pipeline: PipelineName, attempt: AttemptId) -> Path:
    """Where a dry run leaves its result: it says nothing of the attempts before it."""
    return state / "previews" / pipeline / f"{attempt}.json"


def write_result(result: CutResult, file: Path) -> None:
    """Write ``file`` whole or not at all, and remove those beyond the newest `MAX_RESULT_FILES`."""
    _write(result.to_json(), file)


def _write(text: str, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(f".{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(file)
    for _, old in _newest_first(file.parent)[MAX_RESULT_FILES:]:
        old.unlink(missing_ok=True)


def maintenance_file(state: Path, pipeline: PipelineName, run: str) -> Path:
    """Where a run of maintenance leaves its result."""
    return state / "maintenance" / pipeline / f"{run}.json"


def write_maintenance(result: MaintenanceResult, file: Path) -> None:
    """As `write_result`."""
    _write(result.to_json(), file)


def read_maintenance(file: Path) -> MaintenanceResult | None:
    """What a run of maintenance left in ``file``; None when it left nothing."""
    try:
        return MaintenanceResult.from_json(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def read_result(file: Path) -> CutResult | None:
    """What an attempt left in ``file``; None when it left nothing."""
    try:
        return CutResult.from_json(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def failed_attempts(
    state: Path, pipeline: PipelineName, since_ms: int
) -> tuple[FailedAttempt, ...]:
    """Attempts that failed after ``since_ms`` (milliseconds since 1970), newest first.

    Those before a run that went well are over, be it idle.
    """
    attempts = []
    for at_ms, file in _newest_first(state / "results" / pipeline):
        if at_ms <= since_ms:
            break
        result = read_result(file)
        if result is None or result.status is CutStatus.SUPERSEDED:
            continue
        if result.status is not CutStatus.FAILED:
            break
        attempts.append(FailedAttempt(result.attempt, at_ms, result.error))
    return tuple(attempts)


def _newest_first(folder: Path) -> list[tuple[int, Path]]:
    """Result files and when they were written, in milliseconds; other runs may remove some."""
    files = []
    for file in folder.glob("*.json"):
        with suppress(FileNotFoundError):
            files.append((file.stat().st_mtime_ns // 1_000_000, file))
    return sorted(files, reverse=True)
