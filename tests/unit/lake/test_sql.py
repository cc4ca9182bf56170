"""Hostile names go through every statement as one identifier; values as one literal."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import expressions as exp

from tidemark.lake import sql
from tidemark.model.columns import SourceColumn, TableSchema, Wire
from tidemark.model.names import ColumnName

HOSTILE = "a`; DROP TABLE x; --'\\\""
COLUMN = SourceColumn(ColumnName(HOSTILE), "int", Wire.INTEGER, "int")
OTHER = SourceColumn(ColumnName("select"), "string", Wire.TEXT, "text")
SCHEMA = TableSchema((COLUMN, OTHER), (COLUMN.name, OTHER.name))
TABLE = ("lake", "db", HOSTILE)


@pytest.mark.parametrize(
    "statement",
    [
        sql.create_target(TABLE, SCHEMA, {"p'": "v\\'"}),
        sql.add_column(TABLE, COLUMN),
        sql.widen_column(TABLE, COLUMN),
        sql.set_property(TABLE, "p", "'; DROP TABLE x; --"),
        sql.create_branch(TABLE, "tidemark_1_a"),
        sql.delete_below(TABLE, "'; DROP TABLE x; --"),
        sql.merge_staged(TABLE, "/tmp/o'dd`folder", SCHEMA.key, SCHEMA.names),  # noqa: S108
    ],
)
def test_hostile_names_stay_inside_their_quotes(statement: str) -> None:
    tokens = sqlglot.tokenize(statement, dialect="spark")
    assert not any(token.token_type is sqlglot.TokenType.SEMICOLON for token in tokens)
    assert not any(token.token_type is sqlglot.TokenType.DROP for token in tokens)
    assert any(token.text == HOSTILE for token in tokens)


def test_a_literal_is_read_back_as_it_was() -> None:
    text = "it's \\ a 'test'"
    (parsed,) = sqlglot.parse(f"SELECT {sql.literal(text)}", dialect="spark")
    assert isinstance(parsed, exp.Select)
    assert parsed.expressions[0].this == text


def test_a_key_of_several_columns_is_merged_with_its_hash() -> None:
    one = sql.merge_staged(TABLE, "/f", SCHEMA.key[:1], SCHEMA.names)
    assert "xxhash64" not in one
    assert "xxhash64" in sql.merge_staged(TABLE, "/f", SCHEMA.key, SCHEMA.names)
