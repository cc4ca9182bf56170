"""What may leave an audit: counts, shares, and the names of columns and types; never a value.

Results of Great Expectations and the texts of its exceptions hold cells of the audited table (a
largest value, a value that could not be cast), so only what is known to be none passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import JsonValue

from tidemark.spec.audit import CUSTOM_SQL

_COUNTS = (
    "element_count",
    "missing_count",
    "missing_percent",
    "unexpected_count",
    "unexpected_percent",
    "unexpected_percent_nonmissing",
    "unexpected_percent_total",
)
# Expectations whose observed value tells the shape of a table; that of any other may be a cell.
_SHAPES = {
    "expect_column_proportion_of_non_null_values_to_be_between": "share of values",
    "expect_column_proportion_of_unique_values_to_be_between": "share of values",
    "expect_column_unique_value_count_to_be_between": "different values",
    "expect_column_values_to_be_in_type_list": "type",
    "expect_column_values_to_be_of_type": "type",
    "expect_table_column_count_to_be_between": "columns",
    "expect_table_column_count_to_equal": "columns",
    "expect_table_columns_to_match_ordered_list": "columns",
    "expect_table_columns_to_match_set": "columns",
    "expect_table_row_count_to_be_between": "rows",
    "expect_table_row_count_to_equal": "rows",
    CUSTOM_SQL: "unexpected rows",
}
_RAISED = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception)): ", re.MULTILINE)
_SPARK_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")


def counts_only(expect: str, result: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Of one result of Great Expectations, what is no cell of the table."""
    counts: dict[str, JsonValue] = {name: result[name] for name in _COUNTS if name in result}
    if expect in _SHAPES:
        counts |= {name: result[name] for name in ("observed_value", "details") if name in result}
    return counts


def observed_text(expect: str, counts: Mapping[str, Any]) -> str:
    """What a failed expectation found, as the text of its check."""
    unexpected, rows = counts.get("unexpected_count"), counts.get("element_count")
    if unexpected is not None:
        of_rows = f"{unexpected} values" if rows is None else f"{unexpected} of {rows} rows"
        nulls = counts.get("missing_count")
        return f"{of_rows} unexpected" + (f", {nulls} null and not checked" if nulls else "")
    if expect in _SHAPES:
        return _shape_text(_SHAPES[expect], counts)
    return "not as expected; what was found may be a value of the table and is not kept"


def reason_of(exception_info: Mapping[str, Any]) -> str | None:
    """Why Great Expectations could not run an expectation: the kinds of error, without their text.

    None when it ran. A reason names Python's exceptions, innermost first, and Spark's conditions.
    """
    if exception_info.get("raised_exception") is False:
        return None
    text = "\n".join(_texts(exception_info))
    kinds = [*_RAISED.findall(text), *_SPARK_CONDITION.findall(text)]
    return ", ".join(dict.fromkeys(kinds)) or "an unknown error"


def _shape_text(unit: str, counts: Mapping[str, Any]) -> str:
    mismatched = counts.get("details", {}).get("mismatched")
    if isinstance(mismatched, dict):
        return "; ".join(f"{kind} {', '.join(names)}" for kind, names in sorted(mismatched.items()))
    observed = counts.get("observed_value")
    if isinstance(observed, list):
        observed = ", ".join(observed)
    return f"{unit}: {observed}"


def _texts(exception_info: Mapping[str, Any]) -> Iterator[str]:
    """Tracebacks and messages; they stand at the top, or below the metric that failed."""
    for value in exception_info.values():
        if isinstance(value, dict):
            yield from _texts(value)
        elif isinstance(value, str):
            yield value
