"""The outcome of an audit of exactly one snapshot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum


class Outcome(StrEnum):
    """``pass`` and ``warn`` may be published; ``block`` leaves main as it was."""

    PASS = "pass"  # noqa: S105 an outcome, not a password
    WARN = "warn"
    BLOCK = "block"


class Severity(StrEnum):
    """What a failed expectation means: ``critical`` blocks, ``warning`` publishes with a note."""

    CRITICAL = "critical"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One expectation or engine check as it came out: counts, never cell values.

    of_suite: it is an expectation, which an operator may accept when it fails.
    """

    name: str
    success: bool
    severity: Severity
    observed: str
    of_suite: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the audit of one staged snapshot of one table found.

    accepted: why an operator has this snapshot published, whatever expectations failed; empty where
    nobody has. audit: what Data Docs call the audit; empty before it is written.
    """

    table: str
    snapshot_id: int
    suite: str
    checks: tuple[CheckResult, ...]
    accepted: str = ""
    audit: str = field(default="", compare=False)

    @property
    def outcome(self) -> Outcome:
        """Blocks when a critical check failed, warns when only others did.

        Accepted findings warn. A check of the engine is a fault of the fold, which nobody accepts.
        """
        if self.accepted and not self.faults:
            return Outcome.WARN
        return outcome_of(self.checks)

    @property
    def faults(self) -> tuple[CheckResult, ...]:
        """The critical checks of the engine that failed."""
        critical = (check for check in self.failures if check.severity is Severity.CRITICAL)
        return tuple(check for check in critical if not check.of_suite)

    def reason_of(self, check: CheckResult) -> str:
        """Why ``check``, which failed, does not block; empty where it does, or never would."""
        is_blocking = check.of_suite and check.severity is Severity.CRITICAL
        return self.accepted if is_blocking else ""

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if not check.success)


def outcome_of(checks: Iterable[CheckResult]) -> Outcome:
    """The outcome that ``checks`` add up to."""
    failed = {check.severity for check in checks if not check.success}
    if Severity.CRITICAL in failed:
        return Outcome.BLOCK
    return Outcome.WARN if failed else Outcome.PASS
