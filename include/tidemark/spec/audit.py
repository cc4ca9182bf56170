"""What is expected of a table's rows, in the names and arguments of Great Expectations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue

from tidemark.model.verdict import Severity
from tidemark.spec.base import BrokenRule, SpecModel

NO_SUITE = "none"
CUSTOM_SQL = "unexpected_rows_expectation"
_EXPECTATION = re.compile(rf"expect_[a-z0-9_]+|{CUSTOM_SQL}")
_SUITE = re.compile(r"[a-z][a-z0-9_]*")


class Scope(StrEnum):
    """Which rows of the staged snapshot an expectation reads."""

    CHANGED = "changed"
    TABLE = "table"


def _expectation(name: str) -> str:
    if _EXPECTATION.fullmatch(name) is None:
        raise ValueError(
            "a name of Great Expectations, such as expect_column_values_to_not_be_null"
        )
    return name


def _suite(name: str) -> str:
    if _SUITE.fullmatch(name) is None:
        raise ValueError("the name of a suite (a-z, 0-9, _), or none")
    return name


SuiteName = Annotated[
    str, AfterValidator(_suite), Field(json_schema_extra={"pattern": f"^{_SUITE.pattern}$"})
]
ExpectationName = Annotated[
    str,
    AfterValidator(_expectation),
    Field(json_schema_extra={"pattern": f"^({_EXPECTATION.pattern})$"}),
]


class ExpectationSpec(SpecModel):
    """One expectation and what its failure means."""

    expect: ExpectationName = Field(description="Great Expectations' own name of the expectation")
    arguments: Mapping[str, JsonValue] = Field(
        default={}, description="Great Expectations' own arguments, such as {column: id}"
    )
    severity: Severity = Field(
        description="when it fails: critical blocks the cut, warning publishes with a note"
    )
    scope: Scope = Field(
        description="what it reads: changed, the rows that this cut inserted or updated; "
        "table, the whole staged snapshot"
    )

    def broken_rules(self) -> Iterator[BrokenRule]:
        """A severity stands in one place."""
        if "severity" in self.arguments:
            yield BrokenRule(
                ("arguments", "severity"), "severity", "severity beside arguments, not in them"
            )


class SuiteSpec(SpecModel):
    """The expectations of one table."""

    suite: SuiteName = Field(description="name of the suite: that of its file")
    expectations: tuple[ExpectationSpec, ...] = Field(
        min_length=1, description="all of them are run on every cut that changes the table"
    )

    def broken_rules(self) -> Iterator[BrokenRule]:
        """A suite has a name of its own and says nothing twice."""
        if self.suite == NO_SUITE:
            yield BrokenRule(
                ("suite",), "'none'", "another name: none means that a table has no suite"
            )
        for index, expectation in enumerate(self.expectations):
            if expectation in self.expectations[:index]:
                yield BrokenRule(
                    ("expectations", index), "an expectation for the second time", "each once"
                )
