"""The comparison finds what is planted, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.corpus.cases import Column, Table
from tests.corpus.compare import differences

COLUMNS = (Column("id", "bigint unsigned"), Column("name", "varchar(20)"))
EXPECTED: tuple[Mapping[str, Any], ...] = ({"id": 1, "name": "a"}, {"id": 2, "name": None})
AS_READ: tuple[Mapping[str, Any], ...] = (
    {"id": 2, "name": None, "_tidemark_position": "9"},
    {"id": 1, "name": "a", "_tidemark_position": "8"},
)


def found(actual: Sequence[Mapping[str, Any]] | None, *, key: tuple[str, ...] = ("id",)) -> str:
    return "; ".join(differences(Table(key, COLUMNS, EXPECTED), actual))


@pytest.mark.parametrize("key", [("id",), ()], ids=["by key", "as multiset"])
def test_equal_tables_have_no_differences(key: tuple[str, ...]) -> None:
    assert found(AS_READ, key=key) == ""


def test_a_column_that_a_row_lacks_is_null() -> None:
    assert found([{"id": 1, "name": "a"}, {"id": 2}]) == ""


@pytest.mark.parametrize(
    ("actual", "says"),
    [
        pytest.param(AS_READ[1:], "missing row {id: 2}", id="missing row"),
        pytest.param([*AS_READ, {"id": 3, "name": "c"}], "unexpected row {id: 3}", id="extra row"),
        pytest.param(
            [AS_READ[0], {"id": 1, "name": "b"}],
            "row {id: 1}: name is 'b', not 'a'",
            id="wrong value",
        ),
        pytest.param(
            [AS_READ[0], {"id": 1, "name": None}], "name is null, not 'a'", id="value lost"
        ),
        pytest.param(
            [AS_READ[1], {"id": 2, "name": ""}], "name is '', not null", id="null became text"
        ),
        pytest.param(
            [AS_READ[0], {"id": 3, "name": "a"}],
            "missing row {id: 1}; unexpected row {id: 3}",
            id="wrong row",
        ),
        pytest.param([*AS_READ, AS_READ[0]], "row {id: 2} is there 2 times", id="row twice"),
        pytest.param(
            [AS_READ[0], {"id": 1, "name": "a", "note": "x"}],
            "row {id: 1}: note is 'x', not null",
            id="column that the source lacks",
        ),
        pytest.param(
            [AS_READ[0], {"id": "1", "name": "a"}], "column id holds str '1'", id="wrong type"
        ),
        pytest.param(None, "missing row {id: 1}; missing row {id: 2}", id="no table"),
    ],
)
def test_what_is_planted_is_found(actual: Sequence[Mapping[str, Any]] | None, says: str) -> None:
    assert says in found(actual)


def test_rows_without_key_count() -> None:
    twice = (*AS_READ, AS_READ[0])
    assert found(twice, key=()) == "unexpected row {id: 2, name: null}, 1 times"
    assert found(AS_READ[:1], key=()) == "missing row {id: 1, name: 'a'}, 1 times"


def test_a_table_that_does_not_exist_equals_one_without_rows() -> None:
    assert list(differences(Table(("id",), COLUMNS, ()), None)) == []
    assert list(differences(Table(("id",), COLUMNS, ()), [])) == []
