from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from pyspark.sql import DataFrame

from tests.spark.quality.conftest import CHANGED, MARKER, TABLE
from tidemark.errors import SuiteError
from tidemark.model.verdict import CheckResult, Outcome, Severity, outcome_of
from tidemark.quality.audit import run_suite
from tidemark.spec.audit import SuiteSpec

NOT_NULL = "expect_column_values_to_not_be_null"
BETWEEN = "expect_column_values_to_be_between"
REGEX = "expect_column_values_to_match_regex"
UNIQUE = "expect_column_values_to_be_unique"
ROW_COUNT = "expect_table_row_count_to_be_between"
CUSTOM_SQL = "unexpected_rows_expectation"


def suite(*expectations: dict[str, object]) -> SuiteSpec:
    return SuiteSpec.model_validate({"suite": "people", "expectations": list(expectations)})


def expect(
    name: str, arguments: dict[str, object], severity: str = "critical", scope: str = "changed"
) -> dict[str, object]:
    return {"expect": name, "arguments": arguments, "severity": severity, "scope": scope}


def run_one(expectation: dict[str, object], changed: DataFrame, table: DataFrame) -> CheckResult:
    (check,) = run_suite(suite(expectation), changed=changed, table=table).checks
    return check


def test_checks_stand_in_the_order_of_the_suite_with_their_counts(
    changed: DataFrame, table: DataFrame
) -> None:
    spec = suite(
        expect(REGEX, {"column": "email", "regex": "@"}, "warning"),
        expect(BETWEEN, {"column": "age", "min_value": 0}),
        expect(NOT_NULL, {"column": "id"}),
        expect(NOT_NULL, {"column": "email"}, scope="table"),
        expect(ROW_COUNT, {"min_value": 1, "max_value": 4}, "warning", "table"),
    )
    emails = [person.email for person in CHANGED if person.email is not None]
    without_at = sum("@" not in email for email in emails)
    too_young = sum(person.age is not None and person.age < 0 for person in CHANGED)
    no_age = sum(person.age is None for person in CHANGED)
    no_email = sum(person.email is None for person in TABLE)

    run = run_suite(spec, changed=changed, table=table)

    nulls = len(CHANGED) - len(emails)
    expected = (
        CheckResult(
            f"{REGEX}(column=email, regex=@) on changed rows",
            False,
            Severity.WARNING,
            f"{without_at} of {len(CHANGED)} rows unexpected, {nulls} null and not checked",
        ),
        CheckResult(
            f"{BETWEEN}(column=age, min_value=0) on changed rows",
            False,
            Severity.CRITICAL,
            f"{too_young} of {len(CHANGED)} rows unexpected, {no_age} null and not checked",
        ),
        CheckResult(
            f"{NOT_NULL}(column=id) on changed rows", True, Severity.CRITICAL, "as expected"
        ),
        CheckResult(
            f"{NOT_NULL}(column=email) on whole table",
            False,
            Severity.CRITICAL,
            f"{no_email} of {len(TABLE)} rows unexpected",
        ),
        CheckResult(
            f"{ROW_COUNT}(min_value=1, max_value=4) on whole table",
            False,
            Severity.WARNING,
            f"rows: {len(TABLE)}",
        ),
    )
    assert run.checks == tuple(replace(check, of_suite=True) for check in expected)


@pytest.mark.parametrize(
    ("expectation", "outcome"),
    [
        pytest.param(expect(NOT_NULL, {"column": "id"}), Outcome.PASS, id="kept"),
        pytest.param(expect(NOT_NULL, {"column": "email"}), Outcome.BLOCK, id="critical fails"),
        pytest.param(
            expect(NOT_NULL, {"column": "email"}, "warning"), Outcome.WARN, id="warning fails"
        ),
        pytest.param(expect(UNIQUE, {"column": "email"}), Outcome.PASS, id="changed rows alone"),
        pytest.param(
            expect(UNIQUE, {"column": "email"}, scope="table"), Outcome.BLOCK, id="whole table"
        ),
        pytest.param(
            expect(BETWEEN, {"column": "age", "min_value": 0, "mostly": 0.5}),
            Outcome.PASS,
            id="mostly counts cells that are not null",
        ),
    ],
)
def test_outcome(
    expectation: dict[str, object], outcome: Outcome, changed: DataFrame, table: DataFrame
) -> None:
    assert outcome_of([run_one(expectation, changed, table)]) is outcome


@pytest.mark.parametrize(
    ("expectation", "success"),
    [
        pytest.param(expect(NOT_NULL, {"column": "id"}), True, id="asked of every row"),
        pytest.param(expect(UNIQUE, {"column": "id"}), True, id="uniqueness"),
        pytest.param(
            expect("expect_column_max_to_be_between", {"column": "age", "max_value": 9}),
            False,
            id="asked of a largest value",
        ),
        pytest.param(expect(ROW_COUNT, {"min_value": 1}), False, id="row count"),
    ],
)
def test_frame_without_rows(
    expectation: dict[str, object], success: bool, changed: DataFrame, table: DataFrame
) -> None:
    check = run_one(expectation, changed.where("id < 0"), table)
    assert check.success is success


@pytest.mark.parametrize(
    ("query", "scope", "found"),
    [
        pytest.param("SELECT * FROM {batch} WHERE age < -100", "table", 0, id="no row"),
        pytest.param("SELECT * FROM {batch} WHERE age < 0;", "table", 1, id="one row"),
        pytest.param("SELECT * FROM {batch} WHERE id > 2", "changed", 2, id="changed rows"),
        pytest.param("SELECT * FROM {batch} WHERE id = 1", "changed", 0, id="an unchanged row"),
        pytest.param("SELECT * FROM {batch} WHERE id = 1", "table", 1, id="the whole table"),
    ],
)
def test_custom_sql_fails_by_the_rows_that_it_returns(
    query: str, scope: str, found: int, changed: DataFrame, table: DataFrame
) -> None:
    custom = suite(expect(CUSTOM_SQL, {"unexpected_rows_query": query}, scope=scope))

    run = run_suite(custom, changed=changed, table=table)

    (check,) = run.checks
    assert check.success is (found == 0)
    assert check.observed == (f"unexpected rows: {found}" if found else "as expected")
    assert MARKER not in run.document


def test_custom_sql_must_read_the_staged_rows(changed: DataFrame, table: DataFrame) -> None:
    query = expect(CUSTOM_SQL, {"unexpected_rows_query": "SELECT * FROM lake.shop.orders"})
    with pytest.raises(SuiteError, match=r"has no \{batch\}"):
        run_one(query, changed, table)


def test_custom_sql_that_spark_refuses_is_no_pass(changed: DataFrame, table: DataFrame) -> None:
    query = expect(CUSTOM_SQL, {"unexpected_rows_query": "SELECT nothing FROM {batch}"})
    with pytest.raises(SuiteError, match="could not run unexpected_rows_expectation"):
        run_one(query, changed, table)


def test_frames_of_one_suite_are_not_mistaken_for_those_of_the_next(
    changed: DataFrame, table: DataFrame
) -> None:
    expectation = expect(NOT_NULL, {"column": "email"})
    assert not run_one(expectation, changed, table).success
    assert run_one(expectation, changed.where("email IS NOT NULL"), table).success


def test_changed_rows_are_not_left_in_the_cache(changed: DataFrame, table: DataFrame) -> None:
    narrow = changed.select("id")
    run_one(expect(NOT_NULL, {"column": "id"}), narrow, table)
    assert not narrow.is_cached
    assert changed.is_cached, "its owner keeps it"


def test_threads_take_turns(changed: DataFrame, table: DataFrame) -> None:
    frames = [changed.where(f"id = {person.id}") for person in CHANGED]
    spec = suite(expect(NOT_NULL, {"column": "email"}))
    with ThreadPoolExecutor(len(frames)) as threads:
        runs = list(threads.map(lambda frame: run_suite(spec, changed=frame, table=table), frames))
    found = [run.checks[0].success for run in runs]
    assert found == [person.email is not None for person in CHANGED]


@pytest.mark.parametrize(
    "expectation",
    [
        pytest.param(expect(REGEX, {"column": "email", "regex": "^z"}), id="rows"),
        pytest.param(
            expect("expect_column_max_to_be_between", {"column": "age", "max_value": 5}),
            id="largest value",
        ),
        pytest.param(
            expect(
                "expect_column_distinct_values_to_be_in_set",
                {"column": "email", "value_set": ["z"]},
            ),
            id="distinct values",
        ),
        pytest.param(
            expect(
                "expect_column_most_common_value_to_be_in_set",
                {"column": "email", "value_set": ["z"]},
            ),
            id="most common value",
        ),
    ],
)
def test_no_value_leaves_the_table(
    expectation: dict[str, object],
    changed: DataFrame,
    table: DataFrame,
    capfd: pytest.CaptureFixture[str],
) -> None:
    run = run_suite(suite(expectation), changed=changed, table=table)
    said = f"{run} {capfd.readouterr()}"
    assert not run.checks[0].success
    assert MARKER not in said
    assert "77310977" not in said
    assert json.loads(run.document)["success"] is False


@pytest.mark.parametrize(
    ("expectation", "words"),
    [
        pytest.param(
            expect("expect_column_values_to_not_be_nul", {"column": "id"}),
            f"no expectation of Great Expectations; nearest: '{NOT_NULL}'",
            id="unknown expectation",
        ),
        pytest.param(
            expect(BETWEEN, {"column": "age", "mim_value": 1}),
            "no argument 'mim_value'; nearest: 'min_value'",
            id="unknown argument",
        ),
        pytest.param(
            expect(BETWEEN, {"column": "age", "min_value": [1]}),
            "argument 'min_value' is a list: value is not a valid float, or ",
            id="wrong value",
        ),
        pytest.param(
            expect(BETWEEN, {"min_value": 1}), "argument 'column' is missing", id="no column"
        ),
        pytest.param(
            expect(BETWEEN, {"column": "age"}),
            "min_value and max_value cannot both be None",
            id="arguments that say nothing together",
        ),
        pytest.param(
            expect(NOT_NULL, {"column": "email", "result_format": "COMPLETE"}),
            "no argument 'result_format'",
            id="argument that would bring values",
        ),
        pytest.param(
            expect(NOT_NULL, {"column": "id", "description": "<b>"}),
            "no argument 'description'",
            id="argument that would be markup in a page",
        ),
        pytest.param(
            expect(NOT_NULL, {"column": "mail"}),
            "no column 'mail' in the changed rows; nearest: 'email'",
            id="unknown column",
        ),
        pytest.param(
            expect("expect_compound_columns_to_be_unique", {"column_list": ["id", "agge"]}),
            "no column 'agge' in the changed rows; nearest: 'age'",
            id="unknown column in a list",
        ),
    ],
)
def test_suite_that_cannot_be_run_as_written(
    expectation: dict[str, object], words: str, changed: DataFrame, table: DataFrame
) -> None:
    spec = suite(expect(NOT_NULL, {"column": "id"}), expectation)
    with pytest.raises(SuiteError) as caught:
        run_suite(spec, changed=changed, table=table)
    assert caught.value.what.startswith("suite people cannot be run as written:\n")
    assert f"expectations[1] {expectation['expect']}: {words}" in caught.value.what


def test_columns_are_those_of_the_scope(changed: DataFrame, table: DataFrame) -> None:
    narrow = changed.select("id", "email")
    assert not run_one(
        expect(BETWEEN, {"column": "age", "min_value": 0}, scope="table"), narrow, table
    ).success
    with pytest.raises(SuiteError, match="no column 'age' in the changed rows"):
        run_one(expect(BETWEEN, {"column": "age", "min_value": 0}), narrow, table)


def test_columns_that_a_table_must_have_may_be_missing(
    changed: DataFrame, table: DataFrame
) -> None:
    expected = {"column_set": ["id", "zip"], "exact_match": False}
    check = run_one(expect("expect_table_columns_to_match_set", expected), changed, table)
    assert (check.success, check.observed) == (False, "missing zip; unexpected age, email")


@pytest.mark.parametrize(
    ("expectation", "why"),
    [
        pytest.param(
            expect(BETWEEN, {"column": "email", "min_value": 1}),
            ": InvalidColumnTypeError, MetricResolutionError; email is string",
            id="type does not fit",
        ),
        pytest.param(
            expect("expect_column_values_to_be_in_set", {"column": "email", "value_set": [1]}),
            "CAST_INVALID_INPUT; email is string",
            id="a cell does not cast",
        ),
        pytest.param(
            expect("expect_column_max_to_be_between", {"column": "email", "max_value": 3}),
            "TypeError; email is string",
            id="largest value does not compare",
        ),
    ],
)
def test_expectation_that_raises_never_passes(
    expectation: dict[str, object],
    why: str,
    changed: DataFrame,
    table: DataFrame,
    capsys: pytest.CaptureFixture[str],
) -> None:
    spec = suite(expect(NOT_NULL, {"column": "id"}), expectation)
    with pytest.raises(SuiteError) as caught:
        run_suite(spec, changed=changed, table=table)
    assert str(expectation["expect"]) in caught.value.what
    assert caught.value.what.endswith(why)
    assert MARKER not in f"{caught.value} {capsys.readouterr()}"


def test_great_expectations_is_imported_by_the_first_suite_only() -> None:
    code = (
        "import sys, tidemark.quality.audit, tidemark.quality.report, tidemark.quality.suites;"
        "sys.exit('great_expectations' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
