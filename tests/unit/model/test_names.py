"""Names that come from outside."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tidemark.errors import NameRefusedError
from tidemark.model.names import (
    TableName,
    column_name,
    interval_tag,
    tag_name,
    with_dots,
    without_dots,
)


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


@pytest.mark.parametrize("month", [3, 10])
def test_no_two_intervals_have_one_tag_where_a_day_has_another_number_of_hours(month: int) -> None:
    """PUB-14: by the clock in Berlin an hour is skipped in March, and comes twice in October."""
    first = datetime(2026, month, 24, tzinfo=ZoneInfo("UTC"))
    ends = [first + timedelta(minutes=30 * number) for number in range(48 * 7)]
    berlin = ZoneInfo("Europe/Berlin")
    tags = [interval_tag(end.astimezone(berlin)) for end in ends]
    assert tags == sorted(set(tags))
    assert tags[0] == f"asof_2026{month:02}24T0000"


@pytest.mark.parametrize(
    "name", ["", "1st", "a-b", "a.b", "a b", "it's", "größe", "x" * 101, "main", "tidemark_3_a"]
)
def test_a_tag_is_a_plain_name_that_nothing_else_has(name: str) -> None:
    with pytest.raises(NameRefusedError):
        tag_name(name)
