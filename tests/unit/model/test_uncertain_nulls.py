"""UNAV-11: which values PostgreSQL cannot have moved out of a row, by the columns of its table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidemark.model.column_rules import Mask
from tidemark.model.columns import TableSchema
from tidemark.model.modes import ConnectorModes
from tidemark.model.names import ColumnName
from tidemark.model.uncertain_nulls import most_unmoved
from tidemark.schema.postgres_types import postgres_column

SIZES = ColumnName("sizes")


def table(*types: str) -> TableSchema:
    """Its key, the column in question, and columns of ``types``."""
    named = {"id": "integer", SIZES: "numeric[]"}
    named |= {f"c{number}": kind for number, kind in enumerate(types)}
    columns = tuple(postgres_column(n, kind, ConnectorModes()) for n, kind in named.items())
    return TableSchema(columns, (ColumnName("id"),))


@pytest.mark.parametrize(
    ("types", "most"),
    [
        pytest.param((), (1600 - 16) // 1 - 8, id="alone"),
        pytest.param(("text",) * 9, (1600 - 16) // 10 - 8, id="beside texts that may be large"),
        pytest.param(("text",) * 4 + ("bigint",) * 20, (1600 - 21 * 16) // 5 - 8, id="numbers"),
        pytest.param(("text",) * 60, 0, id="many columns"),
        pytest.param(("text", "public.geometry(Point,4326)"), 0, id="a shape stays in its row"),
    ],
)
def test_a_small_value_of_a_table_with_few_columns_is_never_moved(
    types: tuple[str, ...], most: int
) -> None:
    assert most_unmoved(table(*types), SIZES) == most


def test_a_masked_value_tells_no_size() -> None:
    schema = table()
    columns = tuple(replace(column, mask=Mask.HASH) for column in schema.columns)
    assert most_unmoved(replace(schema, columns=columns), SIZES) == 0
