"""Rows of the table of verdicts, and the verdicts that they make up."""

from __future__ import annotations

from typing import Any

from tidemark.lake.verdicts import ACCEPTED, Author, verdicts_of
from tidemark.model.verdict import Outcome


def row(attempt: str, check: str, author: Author, *, success: bool = True) -> dict[str, Any]:
    """One row, of snapshot 7 of one table."""
    return {
        "attempt": attempt,
        "cut": 3,
        "table": "shop.items",
        "snapshot_id": 7,
        "suite": "items",
        "check": check,
        "success": success,
        "severity": "critical",
        "observed": "because",
        "said_by": author.value,
    }


def test_each_attempt_has_its_own_verdict_of_a_snapshot() -> None:
    """PUB-7: where columns alone change, several attempts audit one snapshot."""
    rows = [
        row("first", "expect_x()", Author.SUITE, success=False),
        row("second", "expect_x()", Author.SUITE),
        row("third", "expect_x()", Author.SUITE, success=False),
        row("third", ACCEPTED, Author.OPERATOR),
    ]
    first, second, third = verdicts_of(rows)
    assert [first.outcome, second.outcome] == [Outcome.BLOCK, Outcome.PASS]
    assert (third.outcome, third.accepted) == (Outcome.WARN, "because")
    assert [first.audit, second.audit] == ["tidemark_3_first", "tidemark_3_second"]
    assert [len(verdict.checks) for verdict in (first, second, third)] == [1, 1, 1]
