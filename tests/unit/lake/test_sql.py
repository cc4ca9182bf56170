"""Hostile names go through every statement as one identifier; values as one literal."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import sqlglot
from sqlglot import expressions as exp

from tidemark.lake import sql
from tidemark.model.column_rules import Mask
from tidemark.model.columns import ROW, SourceColumn, TableSchema, ValueEncoding
from tidemark.model.ends import End
from tidemark.model.names import ColumnName
from tidemark.model.position import Position
from tidemark.model.target_mode import TargetMode

HOSTILE = "a`; DROP TABLE x; --'\\\""
COLUMN = SourceColumn(ColumnName(HOSTILE), "int", ValueEncoding.INTEGER, "int")
OTHER = SourceColumn(ColumnName("select"), "string", ValueEncoding.TEXT, "text")
SCHEMA = TableSchema((COLUMN, OTHER), (COLUMN.name, OTHER.name))
WITHOUT_KEY = TableSchema((COLUMN, OTHER))
TABLE = ("lake", "db", HOSTILE)
KEPT = tuple(replace(SCHEMA, mode=mode) for mode in TargetMode if mode is not TargetMode.MIRROR)
ENDS = (End(Position("0A"), 1), End(Position("0B")))


@pytest.mark.parametrize(
    "statement",
    [
        sql.create_target(TABLE, SCHEMA, {"p'": "v\\'"}),
        sql.set_identifier(TABLE, SCHEMA.key),
        sql.set_location(TABLE, "/it's/o`dd"),
        sql.add_columns(TABLE, [COLUMN]),
        sql.widen_columns(TABLE, [COLUMN]),
        sql.by_spark(sql.rename_column(TABLE, OTHER.name, COLUMN.name)),
        sql.set_property(TABLE, "p", "'; DROP TABLE x; --"),
        sql.create_branch(TABLE, "tidemark_1_a", 7),
        sql.create_tag(TABLE, "tidemark_1_a_audited", 7),
        sql.delete_below(TABLE, "'; DROP TABLE x; --"),
        sql.merge_staged(TABLE, "o'dd`name", SCHEMA),
        sql.create_target(TABLE, WITHOUT_KEY, {}),
        sql.merge_staged(TABLE, ["staged"], WITHOUT_KEY),
        *(sql.create_target(TABLE, schema, {}) for schema in KEPT),
        *(sql.merge_staged(TABLE, ["staged"], schema) for schema in KEPT),
        *(sql.mark_below(TABLE, schema, ENDS) for schema in KEPT),
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
    one = TableSchema(SCHEMA.columns, SCHEMA.key[:1])
    assert "xxhash64" not in sql.merge_staged(TABLE, ["staged"], one)
    assert "xxhash64" in sql.merge_staged(TABLE, ["staged"], SCHEMA)


def test_a_table_without_key_is_merged_by_a_column_of_its_own() -> None:
    """KEY-14."""
    assert "`_tidemark_row` string NOT NULL" in sql.create_target(TABLE, WITHOUT_KEY, {})
    assert "_tidemark_row" not in sql.create_target(TABLE, SCHEMA, {})
    merge = sql.merge_staged(TABLE, ["staged"], WITHOUT_KEY)
    assert "ON t.`_tidemark_row` = s.`_tidemark_row` WHEN" in merge


@pytest.mark.parametrize(
    ("schema", "identifier"),
    [
        pytest.param(SCHEMA, SCHEMA.key, id="a mirror: one row for each key"),
        pytest.param(WITHOUT_KEY, (), id="no key"),
        pytest.param(replace(SCHEMA, mode=TargetMode.HISTORY), (), id="versions share it"),
        *(
            pytest.param(TableSchema((replace(COLUMN, iceberg=kind),), (COLUMN.name,)), (), id=kind)
            for kind in ("float", "double", "array<int>", "map<string,string>", "struct<a:int>")
        ),
        pytest.param(
            TableSchema((replace(COLUMN, iceberg="array<int>", mask=Mask.HASH),), SCHEMA.key[:1]),
            SCHEMA.key[:1],
            id="a hash of an array",
        ),
    ],
)
def test_a_key_is_an_identifier_where_iceberg_has_one(
    schema: TableSchema, identifier: tuple[str, ...]
) -> None:
    """KEY-17."""
    assert schema.identifier == identifier


@pytest.mark.parametrize("mode", TargetMode)
def test_each_own_column_says_what_it_is(mode: TargetMode) -> None:
    schema = replace(WITHOUT_KEY if mode is TargetMode.APPEND else SCHEMA, mode=mode)
    made = sqlglot.parse_one(sql.create_target(TABLE, schema, {}), dialect="spark")
    told = {
        column.name
        for column in made.find_all(exp.ColumnDef)
        if column.find(exp.CommentColumnConstraint)
    }
    assert told == set(sql.system_columns(schema))


@pytest.mark.parametrize(
    ("mode", "columns", "row_key"),
    [
        (TargetMode.MIRROR, ["position", "commit_time"], SCHEMA.key),
        (TargetMode.SOFT_DELETE, ["position", "commit_time", "deleted", "deleted_at"], SCHEMA.key),
        (TargetMode.HISTORY, ["position", "valid_from", "valid_to", "end_position"], SCHEMA.key),
        (TargetMode.APPEND, ["position", "commit_time", "op", "left_out", "row"], (ROW,)),
    ],
)
def test_a_mode_has_its_columns_and_keeps_its_name(
    mode: TargetMode, columns: list[str], row_key: tuple[str, ...]
) -> None:
    """KEY-11, KEY-14."""
    schema = replace(SCHEMA, mode=mode)
    assert [*sql.system_columns(schema)] == [f"_tidemark_{name}" for name in columns]
    assert schema.row_key == row_key
    kept = json.loads(json.dumps(schema.to_json()))
    assert TableSchema.from_json(kept) == schema
