"""Names that come from outside."""

from __future__ import annotations

import pytest

from tidemark.errors import NameRefusedError
from tidemark.model.names import TableName, column_name, with_dots, without_dots


@pytest.mark.parametrize(
    "name",
    ["", " a", "a\n", "a/b", "a..b", "_tidemark_op", "x" * 129, "ü" * 65, "\ud800", "\ufeff"],
)
def test_names_that_could_mean_something_else_are_refused(name: str) -> None:
    """POISON-6"""
    with pytest.raises(NameRefusedError):
        column_name(name)


@pytest.mark.parametrize("name", ["a", "odd `name", 'it"s', "größe", "x" * 128, "a.b", "$1"])
def test_any_other_name_stays_as_it_is(name: str) -> None:
    assert column_name(name) == name


@pytest.mark.parametrize("name", ["a.b", ".", "_x002E_", "_x005F_", "__x002E__", "a_x002E_.b", "x"])
def test_a_table_is_found_by_its_text_whatever_dots_its_names_have(name: str) -> None:
    """The text is what is stored, and what a file says."""
    assert with_dots(without_dots(name)) == name
    assert "." not in without_dots(name)
    table = TableName(name, name)
    assert TableName.parse(str(table)) == table
