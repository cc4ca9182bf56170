"""Hundreds of names that mean harm: refused, or nothing but a name in whatever is made of them."""

from __future__ import annotations

import pytest
import sqlglot

from tests.support.hostile import names
from tidemark.errors import NameRefusedError
from tidemark.lake import sql
from tidemark.lake.catalog import TableId
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import TableName, column_name, refusal, without_dots
from tidemark.spec.references import resolve

HOSTILE = names(500)
ACCEPTED = [name for name in HOSTILE if refusal(name) is None]


def test_there_are_enough_of_both_kinds() -> None:
    assert len(HOSTILE) == len(set(HOSTILE)) == 500
    assert len(ACCEPTED) > 200
    assert len(ACCEPTED) < 450


@pytest.mark.parametrize("part", ["..", "/", "\\", "*", "\0", "\n", "\u202e", "\u200b", "\ud800"])
def test_none_is_accepted_that_could_be_a_path_or_hide(part: str) -> None:
    """POISON-6"""
    assert any(part in name for name in HOSTILE)
    assert not [name for name in ACCEPTED if part in name]
    assert not [name for name in ACCEPTED if name.lower().startswith("_tidemark_")]


def test_the_rest_come_back_from_the_text_of_their_table() -> None:
    """POISON-6"""
    for name in ACCEPTED:
        table = TableName(name, name)
        assert TableName.parse(str(table)) == table
        target = TableId("shop", without_dots(name))
        assert str(target).count(".") == 1
    with pytest.raises(NameRefusedError):
        TableName("shop", "a/b")


def test_the_rest_are_one_identifier_in_statements() -> None:
    """POISON-6: what a tokenizer of Spark's SQL finds in a statement are our words and the name."""
    plain = _tokens("plain")
    for name in ACCEPTED:
        named = [(kind, name if text == "plain" else text) for kind, text in plain]
        assert _tokens(name) == named


def _tokens(name: str) -> list[tuple[object, str]]:
    column = SourceColumn(column_name(name), "int", ValueEncoding.INTEGER, "int")
    schema = TableSchema((column,), (column.name,))
    table = ("lake", name, name)
    statements = (
        sql.create_target(table, schema, {name: name}),
        sql.add_columns(table, [column]),
        sql.by_spark(sql.rename_column(table, column.name, column.name)),
        sql.merge_staged(table, [name], schema),
        sql.set_property(table, name, name),
    )
    return [
        (token.token_type, token.text)
        for statement in statements
        for token in sqlglot.tokenize(statement, dialect="spark")
    ]


def test_none_is_a_reference_that_anything_resolves() -> None:
    """A name of a record never passes by what resolves references of files."""
    referring = [name for name in HOSTILE if "${" in name]
    assert referring
    assert resolve("${env:HOST}", {"HOST": referring[0]}) == referring[0]
