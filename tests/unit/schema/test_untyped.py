"""Types by the looks of values."""

from __future__ import annotations

from itertools import combinations

import pytest

from tidemark.model.json_kind import JsonKind
from tidemark.schema.untyped import type_of_kinds
from tidemark.spec import SourceFormat

POSTGRES, MYSQL = SourceFormat.DEBEZIUM_POSTGRES, SourceFormat.DEBEZIUM_MYSQL
TYPES = {
    (JsonKind.BOOLEAN,): ("boolean", "bit(1)"),
    (JsonKind.INTEGER,): ("bigint", "bigint"),
    (JsonKind.NUMBER,): ("double precision", "double"),
    (JsonKind.INTEGER, JsonKind.NUMBER): ("double precision", "double"),
    (JsonKind.TEXT,): ("text", "longtext"),
}
OTHERS = [
    *((kind,) for kind in JsonKind),
    *combinations(JsonKind, 2),
    *combinations(JsonKind, 3),
]


@pytest.mark.parametrize("kinds", OTHERS)
def test_one_kind_of_values_has_a_type(kinds: tuple[JsonKind, ...]) -> None:
    """SCHEMA-1: nulls say nothing, and of values of two kinds nobody says what they are."""
    told = tuple(kind for kind in kinds if kind is not JsonKind.NULL)
    found = type_of_kinds(kinds, POSTGRES), type_of_kinds(set(kinds), MYSQL)
    assert found == TYPES.get(told, (None, None))
