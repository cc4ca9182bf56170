from __future__ import annotations

import pytest

from tidemark.errors import RowsUnknownError, TableStoppedError
from tidemark.model.columns import WITHHELD, SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import ColumnName
from tidemark.model.position import Position
from tidemark.runs.columns.policy import refuse_by_policy
from tidemark.runs.columns.withheld import refuse_withheld_key
from tidemark.runs.ddl.effects import DdlEffects
from tidemark.schema.changes import RenameColumn
from tidemark.spec import TableSpec

ID, CODE = ColumnName("id"), ColumnName("code")
HIDDEN = ColumnName(f"{WITHHELD}{CODE}")


def schema(*key: ColumnName) -> TableSchema:
    at = Position("0001A0")
    code = SourceColumn(
        CODE, "int", ValueEncoding.INTEGER, "int", unknown_below=at, is_withheld=True
    )
    return TableSchema((SourceColumn(ID, "int", ValueEncoding.INTEGER, "int"), code), key)


def test_the_target_has_a_withheld_column_under_another_name() -> None:
    """SCHEMA-38: once; records have it under its own."""
    target = schema(ID).in_target
    assert target.names == (ID, HIDDEN)
    assert target.in_target == target
    assert target.column_alias(HIDDEN).names == (HIDDEN, CODE)


@pytest.mark.parametrize("key", [(), (CODE,), (ID, CODE)])
def test_no_row_is_found_by_a_withheld_column(key: tuple[ColumnName, ...]) -> None:
    """SCHEMA-38."""
    refuse_withheld_key(schema(ID))
    with pytest.raises(RowsUnknownError, match="got values in code that nothing shows"):
        refuse_withheld_key(schema(*key))


def test_a_policy_that_lets_columns_join_lets_them_take_their_name() -> None:
    """SCHEMA-12, SCHEMA-38: any other name is a change of its own."""
    told = {"source": "shop.items", "expectations": "none", "column-changes": "additive-only"}
    spec = TableSpec.model_validate(told)
    for was, name in ((HIDDEN, CODE), (CODE, HIDDEN)):
        refuse_by_policy(spec, [RenameColumn(was, name)], DdlEffects())
    for was, name in ((CODE, ID), (HIDDEN, ID)):
        with pytest.raises(TableStoppedError, match="its policy is additive-only"):
            refuse_by_policy(spec, [RenameColumn(was, name)], DdlEffects())
