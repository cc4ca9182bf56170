"""Expectation suites as Great Expectations' own objects, or one error that lists every fault.

Nothing is run and no row is read here. Great Expectations costs seconds to import, so only the
functions that need it import it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from tidemark.errors import SuiteError
from tidemark.spec.audit import CUSTOM_SQL, ExpectationSpec, Scope, SuiteSpec
from tidemark.spec.faults import nearest, shown

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

ROWS = {Scope.CHANGED: "changed rows", Scope.TABLE: "whole table"}
AUDIT_STATE = "no audited table is published; main of every table of the cut is as it was"

# Arguments that name columns which must exist. Expectations about the columns of a table
# (expect_table_..., expect_column_to_exist) have an opinion on missing ones and keep it.
_COLUMN_ARGUMENTS = ("column", "column_A", "column_B", "column_list")
_QUERY, _BATCH = "unexpected_rows_query", "{batch}"  # the batch is the frame of the scope
_ABOUT_COLUMNS = ("expect_table_", "expect_column_to_exist")


def build_expectations(
    suite: SuiteSpec, columns: Mapping[Scope, Sequence[str]]
) -> tuple[Expectation, ...]:
    """The expectations of ``suite`` in its order, ready to run.

    columns: what the frame of each scope has. Raises `SuiteError` with every unknown name,
    refused argument and missing column of the suite.
    """
    built, faults = [], []
    for index, spec in enumerate(suite.expectations):
        spec_faults = list(_faults(spec, columns[spec.scope]))
        faults += [f"expectations[{index}] {spec.expect}: {fault}" for fault in spec_faults]
        if not spec_faults:
            built.append(_class_of(spec.expect)(**_arguments(spec), meta={"index": index}))
    if faults:
        lines = "\n".join(f"  {fault}" for fault in faults)
        raise SuiteError(
            f"suite {suite.suite} cannot be run as written:\n{lines}",
            state=AUDIT_STATE,
            next_step=f"fix the suite {suite.suite} in the expectations folder, "
            "then run the cut again",
        )
    return tuple(built)


def columns_of(spec: ExpectationSpec) -> tuple[str, ...]:
    """The columns that ``spec`` reads."""
    if spec.expect.startswith(_ABOUT_COLUMNS):
        return ()
    named = [spec.arguments.get(argument) for argument in _COLUMN_ARGUMENTS]
    flat = [name for value in named for name in (value if isinstance(value, list) else [value])]
    return tuple(name for name in flat if isinstance(name, str))


def _faults(spec: ExpectationSpec, columns: Sequence[str]) -> Iterator[str]:
    from great_expectations.expectations.registry import (
        list_registered_expectation_implementations,
    )

    known = [
        name
        for name in list_registered_expectation_implementations()
        if name.startswith("expect_") or name == CUSTOM_SQL
    ]
    if spec.expect not in known:
        yield _fault("no expectation of Great Expectations", nearest(spec.expect, known))
        return
    yield from _argument_faults(spec)
    for name in columns_of(spec):
        if name not in columns:
            yield _fault(f"no column {name!r} in the {ROWS[spec.scope]}", nearest(name, columns))


def _argument_faults(spec: ExpectationSpec) -> Iterator[str]:
    from great_expectations.compatibility.pydantic import ValidationError
    from great_expectations.exceptions.exceptions import GreatExpectationsError
    from great_expectations.expectations.expectation import Expectation

    kind = _class_of(spec.expect)
    # What every expectation takes steers the run (result_format would bring cell values), goes to
    # pages as markup (description) or stands elsewhere in the suite file (severity).
    known = set(kind.__fields__) - set(Expectation.__fields__) - {"batch_id"}
    unknown = set(spec.arguments) - known
    for name in sorted(unknown):
        yield _fault(f"no argument {name!r}", nearest(name, known))
    if unknown:
        return
    query = spec.arguments.get(_QUERY)
    if spec.expect == CUSTOM_SQL and isinstance(query, str) and _BATCH not in query:
        yield f"argument {_QUERY!r} has no {_BATCH}, and would not read the staged rows"
        return
    try:
        kind(**_arguments(spec))
    except ValidationError as error:
        yield from _refusals(spec.arguments, error.errors())
    except GreatExpectationsError as error:
        yield str(error)


def _refusals(
    arguments: Mapping[str, JsonValue], refused: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """One fault an argument; what is said of all together only when each is good by itself."""
    reasons: dict[str, list[str]] = {}
    for refusal in refused:
        reasons.setdefault(str(refusal["loc"][0]), []).append(refusal["msg"])
    together = reasons.pop("__root__", [])
    for name, why in reasons.items():
        if name in arguments:
            yield f"argument {name!r} is {shown(arguments[name])}: {', or '.join(why)}"
        else:
            yield f"argument {name!r} is missing"
    if not reasons:
        yield from together


def _class_of(name: str) -> type[Expectation]:
    from great_expectations.expectations.registry import get_expectation_impl

    return get_expectation_impl(name)


def _arguments(spec: ExpectationSpec) -> dict[str, Any]:
    return {**spec.arguments, "severity": spec.severity.value}


def _fault(what: str, hint: str) -> str:
    return f"{what}; nearest: {hint}" if hint else what
