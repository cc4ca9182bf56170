"""Names that come from outside."""

from __future__ import annotations

import pytest

from tidemark.errors import NameRefusedError
from tidemark.model.names import column_name


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
