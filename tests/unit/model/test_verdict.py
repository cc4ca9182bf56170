"""PUB-7: what an operator may accept of an audit, and how that is shown."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from tidemark.cli.console import failed_checks
from tidemark.model.verdict import CheckResult, Outcome, Severity, Verdict

FINDING = CheckResult("expect_x()", False, Severity.CRITICAL, "3 rows", of_suite=True)
REMARK = CheckResult("expect_y()", False, Severity.WARNING, "1 row", of_suite=True)
FAULT = CheckResult("keys are unique", False, Severity.CRITICAL, "1 key")
PASSED = CheckResult("counts", True, Severity.CRITICAL, "as expected")


@pytest.mark.parametrize(
    ("checks", "before", "after"),
    [
        pytest.param((PASSED,), Outcome.PASS, Outcome.WARN, id="nothing failed"),
        pytest.param((PASSED, REMARK), Outcome.WARN, Outcome.WARN, id="a warning"),
        pytest.param((PASSED, FINDING), Outcome.BLOCK, Outcome.WARN, id="a finding"),
        pytest.param((FINDING, FAULT), Outcome.BLOCK, Outcome.BLOCK, id="a fault beside it"),
        pytest.param((FAULT,), Outcome.BLOCK, Outcome.BLOCK, id="a fault"),
    ],
)
def test_findings_can_be_accepted_and_faults_cannot(
    checks: tuple[CheckResult, ...], before: Outcome, after: Outcome
) -> None:
    verdict = Verdict("shop.items", 1, "items", checks)
    assert (verdict.outcome, replace(verdict, accepted="so be it").outcome) == (before, after)


def test_what_was_accepted_is_shown_with_its_reason() -> None:
    checks = (PASSED, REMARK, FINDING)
    console = Console(file=StringIO(), width=200)
    failed_checks(console, [Verdict("shop.items", 1, "items", checks, accepted="so be it")])
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue().splitlines() == [
        "warned shop.items: expect_y(): 1 row",
        "accepted shop.items: expect_x(): 3 rows; so be it",
    ]
