"""Expectation suites: what is read, and what a wrong one is answered with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidemark.errors import SpecError
from tidemark.model.verdict import Severity
from tidemark.spec import Scope, load_suite

SUITE = """\
suite: orders
expectations:
  - expect: expect_column_values_to_be_between
    arguments: {column: qty, min_value: 1, strict_min: true, since: 2026-01-01}
    severity: warning
    scope: table
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "orders.yaml"
    file.write_text(text)
    return file


def test_arguments_are_kept_as_written(tmp_path: Path) -> None:
    written(tmp_path, SUITE)
    (expectation,) = load_suite("orders", tmp_path).expectations
    assert expectation.expect == "expect_column_values_to_be_between"
    assert expectation.arguments == {
        "column": "qty",
        "min_value": 1,
        "strict_min": True,
        "since": "2026-01-01",
    }
    assert (expectation.severity, expectation.scope) == (Severity.WARNING, Scope.TABLE)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(
            SUITE.replace("severity: warning", "severity: warn"),
            "5 -> expectations[0].severity: got 'warn'; expected one of critical, warning; "
            "did you mean 'warning'",
            id="severity that does not exist",
        ),
        pytest.param(
            SUITE.replace("    scope: table\n", ""),
            "3 -> expectations[0].scope: got nothing; expected this key: what it reads: changed, "
            "the rows that this cut inserted or updated; table, the whole staged snapshot",
            id="scope is declared",
        ),
        pytest.param(
            SUITE.replace("expect: expect_", "expect: Expect"),
            "3 -> expectations[0].expect: got 'Expectcolumn_values_to_be_between'; expected a "
            "name of Great Expectations, such as expect_column_values_to_not_be_null",
            id="class name for an expectation",
        ),
        pytest.param(
            SUITE.replace("column: qty", "column: qty, severity: critical"),
            "4 -> expectations[0].arguments.severity: got severity; expected severity beside "
            "arguments, not in them",
            id="severity in two places",
        ),
        pytest.param(
            SUITE + SUITE.partition("expectations:\n")[2],
            "7 -> expectations[1]: got an expectation for the second time; expected each once",
            id="expectation twice",
        ),
        pytest.param(
            SUITE.replace("suite: orders", "suite: order"),
            "1 -> suite: got 'order'; expected 'orders', the name of the file",
            id="named unlike its file",
        ),
        pytest.param(
            "suite: orders\nexpectations: []\n",
            "2 -> expectations: got an empty list; expected at least 1 entry",
            id="nothing expected",
        ),
    ],
)
def test_fault(tmp_path: Path, text: str, fault: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(SpecError) as caught:
        load_suite("orders", tmp_path)
    assert caught.value.what == f"{file}:{fault}"


def test_missing_suite_names_the_nearest(tmp_path: Path) -> None:
    written(tmp_path, SUITE)
    with pytest.raises(SpecError) as caught:
        load_suite("order", tmp_path)
    assert caught.value.what == (
        f"{tmp_path}:1 -> (file): got no suite 'order'; expected one of orders; "
        "did you mean 'orders'"
    )


def test_a_suite_cannot_be_called_none(tmp_path: Path) -> None:
    (tmp_path / "none.yaml").write_text(SUITE.replace("suite: orders", "suite: none"))
    with pytest.raises(SpecError, match="none means that a table has no suite"):
        load_suite("none", tmp_path)
