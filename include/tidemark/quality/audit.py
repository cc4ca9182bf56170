"""Run an expectation suite on a staged snapshot; what comes out holds no value of the table.

Great Expectations is imported and set up by the first suite of a process and kept for the next.
It holds state that threads must not share, so one suite runs at a time: threads may call
`run_suite` as they like and take turns.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame

from tidemark.errors import SuiteError
from tidemark.log import get_logger
from tidemark.model.verdict import CheckResult
from tidemark.quality.counts import counts_only, observed_text, reason_of
from tidemark.quality.suites import AUDIT_STATE, ROWS, build_expectations, columns_of
from tidemark.spec.audit import ExpectationSpec, Scope, SuiteSpec

if TYPE_CHECKING:
    from great_expectations.core.result_format import ResultFormatUnion
    from great_expectations.data_context.data_context.ephemeral_data_context import (
        EphemeralDataContext,
    )
    from great_expectations.datasource.fluent.interfaces import Batch
    from great_expectations.datasource.fluent.spark_datasource import SparkDatasource
    from great_expectations.expectations.expectation import Expectation

log = get_logger()

_TURN = threading.Lock()
_WHETHER: ResultFormatUnion = "BOOLEAN_ONLY"
_HOW_MANY: ResultFormatUnion = {"result_format": "SUMMARY", "partial_unexpected_count": 0}
_SHOWN_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """One run of a suite: its checks in the order of the suite, and what Data Docs show of it.

    document: a validation result of Great Expectations as JSON, with counts instead of values.
    """

    suite: str
    checks: tuple[CheckResult, ...]
    document: str


def run_suite(suite: SuiteSpec, *, changed: DataFrame, table: DataFrame) -> SuiteRun:
    """Run the expectations of ``suite``, each on the frame of its scope.

    changed: the rows that this cut inserted or updated, as they stand in the staged snapshot; it
    is cached while the suite runs. table: the staged snapshot.

    Null cells and frames without rows mean what they mean to Great Expectations: what is asked of
    every row holds when there is none (and, but for null checks, of null cells), what is asked of
    a largest, smallest or average value fails when there is none, and row counts count.

    Raises `SuiteError` when the suite cannot be run as written, also when a single expectation of
    it cannot; none of them counts as passed then.
    """
    frames = {Scope.CHANGED: changed, Scope.TABLE: table}
    with great_expectations() as context, _data_source(context) as source, _cached(changed):
        started = time.monotonic()
        columns = {scope: frame.columns for scope, frame in frames.items()}
        expectations = build_expectations(suite, columns)
        results: dict[int, dict[str, Any]] = {}
        for scope, frame in frames.items():
            chosen = _in_scope(suite, expectations, scope)
            if chosen:
                results |= _validate(suite, chosen, _batch(source, scope, frame), frame)
    ordered = [results[index] for index in sorted(results)]
    checks = tuple(map(_check, suite.expectations, ordered))
    failed = sum(not check.success for check in checks)
    took_ms = round((time.monotonic() - started) * 1000)
    log.info("suite_run", suite=suite.suite, checks=len(checks), failed=failed, took_ms=took_ms)
    return SuiteRun(suite.suite, checks, _document(suite, ordered))


def describe(spec: ExpectationSpec) -> str:
    """The name of a check: an expectation with its arguments and scope, as the suite has them."""
    arguments = ", ".join(f"{name}={_shown(value)}" for name, value in spec.arguments.items())
    return f"{spec.expect}({arguments}) on {ROWS[spec.scope]}"


def load_great_expectations() -> None:
    """Load Great Expectations, which takes seconds, so that the first suite need not."""
    with great_expectations():
        pass


@contextmanager
def great_expectations() -> Iterator[EphemeralDataContext]:
    """The Great Expectations of this process, for one thread at a time."""
    with _TURN:
        yield _context()


@cache
def _context() -> EphemeralDataContext:
    """In memory, silent, sending nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import great_expectations as gx
        from great_expectations.data_context.types.base import (
            DataContextConfig,
            InMemoryStoreBackendDefaults,
            ProgressBarsConfig,
        )
    # These log exceptions with their text, which holds values; we raise them without it.
    logging.getLogger("great_expectations").setLevel(logging.CRITICAL)
    for query in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(query).setLevel(logging.CRITICAL)
    return gx.get_context(
        mode="ephemeral",
        project_config=DataContextConfig(
            store_backend_defaults=InMemoryStoreBackendDefaults(),
            analytics_enabled=False,
            progress_bars=ProgressBarsConfig(globally=False, metric_calculations=False),
        ),
    )


@contextmanager
def _data_source(context: EphemeralDataContext) -> Iterator[SparkDatasource]:
    """A data source for one suite: it keeps frames and computed metrics by name, so it goes."""
    sources = context.data_sources
    try:
        yield sources.add_spark("audit", persist=False)
    finally:
        sources.delete("audit")


@contextmanager
def _cached(frame: DataFrame) -> Iterator[None]:
    """Keep ``frame`` for the several jobs of a suite, unless its owner keeps it anyway."""
    if frame.is_cached:
        yield
        return
    frame.cache()
    try:
        yield
    finally:
        frame.unpersist()


def _in_scope(
    suite: SuiteSpec, expectations: Sequence[Expectation], scope: Scope
) -> dict[int, Expectation]:
    return {
        index: expectations[index]
        for index, spec in enumerate(suite.expectations)
        if spec.scope is scope
    }


def _batch(source: SparkDatasource, scope: Scope, frame: DataFrame) -> Batch:
    asset = source.add_dataframe_asset(scope.value)
    rows = asset.add_batch_definition_whole_dataframe("rows")
    return rows.get_batch(batch_parameters={"dataframe": frame})


def _validate(
    suite: SuiteSpec, expectations: Mapping[int, Expectation], batch: Batch, frame: DataFrame
) -> dict[int, dict[str, Any]]:
    """Position in the suite -> result without values: first whether, then how many for failures."""
    results = _run(suite, expectations, batch, _WHETHER, frame)
    failed = {index: expectations[index] for index in results if not results[index]["success"]}
    if failed:
        counted = _run(suite, failed, batch, _HOW_MANY, frame)
        for index, result in counted.items():
            results[index]["result"] = counts_only(
                suite.expectations[index].expect, result["result"]
            )
    return results


def _run(
    suite: SuiteSpec,
    expectations: Mapping[int, Expectation],
    batch: Batch,
    result_format: ResultFormatUnion,
    frame: DataFrame,
) -> dict[int, dict[str, Any]]:
    from great_expectations import ExpectationSuite
    from great_expectations.exceptions.exceptions import GreatExpectationsError

    runnable = ExpectationSuite(suite.suite, expectations=list(expectations.values()))
    try:
        run = batch.validate(runnable, result_format=result_format)
    except GreatExpectationsError as error:
        raise _not_run(suite, "the suite", type(error).__name__) from None
    documents: list[dict[str, Any]] = [result.to_json_dict() for result in run.results]
    # Great Expectations sorts what it runs by column; the position travels in the metadata.
    results = {result["expectation_config"]["meta"]["index"]: result for result in documents}
    for index, result in results.items():
        reason = reason_of(result["exception_info"])
        if reason is not None:
            spec = suite.expectations[index]
            types = [f"{name} is {kind}" for name, kind in frame.dtypes if name in columns_of(spec)]
            raise _not_run(suite, describe(spec), "; ".join([reason, *types]))
    return results


def _not_run(suite: SuiteSpec, what: str, why: str) -> SuiteError:
    return SuiteError(
        f"suite {suite.suite}: Great Expectations could not run {what}: {why}",
        state=AUDIT_STATE,
        next_step="check the arguments against the types of the columns, fix the suite "
        f"{suite.suite} in the expectations folder, then run the cut again",
    )


def _check(spec: ExpectationSpec, result: Mapping[str, Any]) -> CheckResult:
    success = bool(result["success"])
    observed = "as expected" if success else observed_text(spec.expect, result["result"])
    return CheckResult(describe(spec), success, spec.severity, observed, of_suite=True)


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def _document(suite: SuiteSpec, results: Sequence[Mapping[str, Any]]) -> str:
    passed = sum(bool(result["success"]) for result in results)
    return json.dumps(
        {
            "success": passed == len(results),
            "suite_name": suite.suite,
            "statistics": {
                "evaluated_expectations": len(results),
                "successful_expectations": passed,
                "unsuccessful_expectations": len(results) - passed,
                "success_percent": 100 * passed / len(results),
            },
            "results": list(map(_result, results)),
            "meta": {},
        }
    )


def _result(result: Mapping[str, Any]) -> dict[str, Any]:
    config = result["expectation_config"]
    arguments = {name: value for name, value in config["kwargs"].items() if name != "batch_id"}
    about = {name: config[name] for name in ("type", "severity")}
    return {
        "success": result["success"],
        "expectation_config": {**about, "kwargs": arguments, "meta": {}},
        "result": result["result"],
        "exception_info": result["exception_info"],
        "meta": {},
    }
