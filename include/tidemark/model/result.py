"""What a run leaves for whoever started it: one JSON object, and the exit code beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from tidemark.errors import RetryableError, SupersededError, TidemarkError
from tidemark.model.names import AttemptId
from tidemark.model.stored_state import Stored, from_stored, to_stored


class CutStatus(StrEnum):
    """How a run of a cut ended."""

    PUBLISHED = "published"
    STAGED = "staged"
    BLOCKED = "blocked"
    IDLE = "idle"
    SUPERSEDED = "superseded"
    FAILED = "failed"


EXIT_CODES: Mapping[CutStatus, int] = {
    CutStatus.PUBLISHED: 0,
    CutStatus.STAGED: 0,
    CutStatus.IDLE: 0,
    CutStatus.BLOCKED: 3,
    CutStatus.SUPERSEDED: 4,
    CutStatus.FAILED: 1,
}
EXIT_MEANINGS: Mapping[int, str] = {
    0: "published, staged, or nothing to do",
    1: "failed; the message says whether trying again may help",
    2: "wrong usage of a command; nothing was read",
    3: "blocked by the audit; of status: a table is blocked or older than its limit",
    4: "superseded by another run",
}


@dataclass(frozen=True, slots=True)
class TableResult:
    """What a cut did to one table; counts are rows, ``outcome`` is the verdict's.

    renamed_from: what its target was called before, empty where it kept its name (SCHEMA-31).
    displaced: what the table is called now that had the name of the target until this cut, empty
    where there was none. is_beside: the target stands beside that of the table (REFOLD-1).
    """

    table: str
    target: str
    snapshot_id: int
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    truncated: int = 0
    outcome: str = ""
    renamed_from: str = ""
    displaced: str = ""
    is_beside: bool = False


@dataclass(frozen=True, slots=True)
class CutResult:
    """How a run of a cut ended.

    hold: the sentence that says why the cut goes no further, empty when nothing waits; hold_code:
    the same for machines (`model.cut.HoldCode`).
    complete_until_ms: source time up to which the tables are complete, 0 when the gate tells none.
    buckets: records of the run by accounting bucket (ACC-1). quarantined: by code what the cut put
    into quarantine (POISON-5). unknown: topics whose tables may lack a statement -> how many
    records wait in quarantine that may be one (POISON-3). stopped: table -> why it is blocked.
    retryable: of a failure, whether another attempt may help.
    """

    status: CutStatus
    attempt: AttemptId
    cut: int = 0
    hold: str = ""
    hold_code: str = ""
    complete_until_ms: int = 0
    tables: tuple[TableResult, ...] = ()
    buckets: Mapping[str, int] = field(default_factory=dict)
    quarantined: Mapping[str, int] = field(default_factory=dict)
    unknown: Mapping[str, int] = field(default_factory=dict)
    stopped: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    retryable: bool = False

    @property
    def exit_code(self) -> int:
        """0 when the run did what it should, also when there was nothing to do."""
        return EXIT_CODES[self.status]

    @classmethod
    def failed(cls, attempt: AttemptId, error: TidemarkError) -> CutResult:
        """The result of a run that ended with ``error``."""
        superseded = isinstance(error, SupersededError)
        return cls(
            status=CutStatus.SUPERSEDED if superseded else CutStatus.FAILED,
            attempt=attempt,
            error=f"{type(error).__name__}: {error}",
            retryable=isinstance(error, RetryableError),
        )

    @classmethod
    def died(cls, attempt: AttemptId) -> CutResult:
        """The result of a run that left none: somebody or something ended its process."""
        error = "the job died without a result; next: read the log of its task"
        return cls(CutStatus.FAILED, attempt, error=error, retryable=True)

    def to_json(self) -> str:
        """One JSON object."""
        return json.dumps(to_stored(asdict(self)))

    @classmethod
    def from_json(cls, text: str) -> CutResult:
        """The reverse of `to_json`."""
        stored = from_stored(Stored.RESULT, json.loads(text))
        tables = tuple(TableResult(**table) for table in stored.pop("tables"))
        return cls(**{**stored, "status": CutStatus(stored["status"]), "tables": tables})
