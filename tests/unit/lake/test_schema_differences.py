"""What became of columns between two schemas of a target."""

from __future__ import annotations

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, IntegerType, LongType, NestedField, StringType

from tidemark.lake.schema_differences import schema_differences

ID = (1, "id", LongType())


def schema(*columns: tuple[int, str, IcebergType]) -> Schema:
    return Schema(*(NestedField(*column, required=False) for column in columns))


@pytest.mark.parametrize(
    ("new", "told"),
    [
        pytest.param([ID, (2, "n", IntegerType())], (), id="nothing"),
        pytest.param(
            [ID, (2, "n", LongType())], ("n became long, and was int",), id="a wider type"
        ),
        pytest.param([ID, (2, "m", IntegerType())], ("n was renamed to m",), id="another name"),
        pytest.param(
            [ID, (2, "m", LongType())],
            ("n was renamed to m", "m became long, and was int"),
            id="another name and type",
        ),
        pytest.param([ID], ("n was dropped",), id="gone"),
        pytest.param(
            [ID, (2, "n", IntegerType()), (3, "t", StringType())],
            ("t string was added",),
            id="one more",
        ),
        pytest.param(
            [ID, (3, "n", StringType())],
            ("n became string, and was int",),
            id="rewritten with another type",
        ),
        pytest.param([ID, (3, "n", IntegerType())], ("n was rewritten",), id="rewritten"),
        pytest.param(
            [ID, (2, "m", IntegerType()), (3, "n", StringType())],
            ("n was renamed to m", "n string was added"),
            id="another one under a name that became free",
        ),
        pytest.param(
            [ID, (2, "n", IntegerType()), (9, "_tidemark_deleted", StringType())],
            (),
            id="a column of our own",
        ),
    ],
)
def test_columns_are_told_by_their_ids(
    new: list[tuple[int, str, IcebergType]], told: tuple[str, ...]
) -> None:
    assert schema_differences(schema(ID, (2, "n", IntegerType())), schema(*new)) == told
