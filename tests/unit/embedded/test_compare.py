"""The comparison that ends the demo finds what is missing, too much or different."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from embedded.compare import compare, is_same
from embedded.sample import SourceTable

TABLE = SourceTable(
    ("id",),
    {"id": "bigint", "name": "varchar(80)"},
    ({"id": 1, "name": "a"}, {"id": 2, "name": None}),
)
GOOD: list[dict[str, Any]] = [
    {"id": 1, "name": "a", "_tidemark_position": b"x"},
    {"id": 2, "name": None, "_tidemark_position": b"y"},
]


@pytest.mark.parametrize(
    ("published", "differences"),
    [
        pytest.param(GOOD, (), id="the same"),
        pytest.param(GOOD[:1], ("row 2 is missing",), id="a row is missing"),
        pytest.param([*GOOD, {"id": 3}], ("row 3 is too much",), id="a row too much"),
        pytest.param(
            [GOOD[0], {**GOOD[1], "name": "b"}], ("row 2 differs in name",), id="another value"
        ),
        pytest.param(
            [GOOD[0], {**GOOD[1], "tier": "gold"}],
            ("row 2 differs in tier",),
            id="a value in a column that the source does not have",
        ),
    ],
)
def test_rows_are_compared_by_key(
    published: list[dict[str, Any]], differences: tuple[str, ...]
) -> None:
    found = compare("shop.customers", TABLE, published)
    assert found.differences == differences
    assert found.is_equal == (not differences)


def test_a_row_that_is_there_twice_is_not_equal() -> None:
    assert not compare("shop.customers", TABLE, [*GOOD, GOOD[0]]).is_equal


@pytest.mark.parametrize(
    ("recorded", "published", "source_type", "same"),
    [
        pytest.param("347.78", Decimal("347.780"), "decimal(12,2)", True, id="decimal"),
        pytest.param("347.78", 347.78, "decimal(12,2)", False, id="a double for a decimal"),
        pytest.param(2**64 - 1, Decimal(2**64 - 1), "bigint unsigned", True, id="unsigned"),
        pytest.param(3.14, 3.140000104904175, "float", True, id="32-bit float"),
        pytest.param(
            "2026-04-01 06:46:33.999999",
            datetime(2026, 4, 1, 6, 46, 33, 999999),  # noqa: DTZ001  a DATETIME has no zone
            "datetime(6)",
            True,
            id="datetime",
        ),
        pytest.param("2016-01-16", date(2016, 1, 17), "date", False, id="another day"),
        pytest.param('{"a": 1, "b": 2}', '{"b":2,"a":1}', "json", True, id="json"),
        pytest.param("4", "x", "varchar(1)", False, id="another text"),
        pytest.param(4, "4", "int", False, id="a text for a number"),
        pytest.param(0, None, "int", False, id="null for zero"),
    ],
)
def test_values(recorded: Any, published: Any, source_type: str, same: bool) -> None:
    assert is_same(recorded, published, source_type) is same
