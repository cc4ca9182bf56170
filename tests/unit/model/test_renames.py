"""Names that one statement passes on: which table has which afterwards, in whatever order told."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import pytest

from tidemark.model.names import TableName
from tidemark.model.position import Position
from tidemark.model.renames import (
    Rename,
    Renames,
    steps,
    swapped_tables,
    table_swaps_of,
    unexplained,
    way,
)


def name(text: str) -> TableName:
    return TableName("shop", text)


def pairs(text: str) -> tuple[tuple[TableName, TableName], ...]:
    """Of ``a>t b>a``."""
    return tuple((name(one[0]), name(one[2])) for one in text.split())


def declared(text: str) -> tuple[Rename, ...]:
    """Of pairs, each into the target that its old name had."""
    return tuple(Rename(old, new, target=f"of_{old.table}") for old, new in pairs(text))


def at(place: int, offset: int = 0) -> Position:
    """Of a binlog."""
    return Position(f"{1:04X}{9:08X}{place:016X}1{offset:016X}")


def names(text: str) -> list[TableName]:
    return [name(one) for one in text]


SWAP = declared("a>b b>a")
TABLE_SWAP = declared("a>b b>c c>a")


@pytest.mark.parametrize(
    ("due", "told", "made"),  # the file has the table c under this name alone
    [
        pytest.param("a>b", "a>b", "a>b", id="one"),
        pytest.param("a>b", "a>t t>b", "a>b", id="through another name"),
        pytest.param("a>b", "a>c", "", id="another name"),
        pytest.param("a>b", "b>a", "", id="the other way round"),
        pytest.param("a>b b>a", "a>t b>a t>b", "a>b b>a", id="exchange"),
        pytest.param("a>b b>a", "a>b b>a", "a>b b>a", id="exchange, one record per table"),
        pytest.param("a>b b>a", "a>t b>a a>b", "a>b b>a", id="exchange, by names from before"),
        pytest.param("a>b b>a", "a>t b>a", "", id="half of an exchange"),
        pytest.param("a>b b>a", "a>b", "", id="half of an exchange, by one record"),
        pytest.param("a>b b>a", "a>b b>c c>a", "", id="a ring of three for one of two"),
        pytest.param("a>b b>d d>a", "d>t b>d a>b t>a", "a>b b>d d>a", id="ring"),
        pytest.param("a>b b>d", "b>d a>b", "a>b b>d", id="chain"),
        pytest.param("a>b b>d", "b>d", "b>d", id="head of a chain"),
        pytest.param("a>b b>d", "a>b", "", id="a name that another table still has"),
        pytest.param("a>b b>a x>y", "x>y", "x>y", id="beside an exchange that is to come"),
    ],
)
def test_what_a_statement_makes_of_what_the_file_says(due: str, told: str, made: str) -> None:
    """MSG-54, SCHEMA-31, SCHEMA-34: parts of a statement may come in any order."""
    file = Renames(declared(due), others=frozenset(names("c")))
    expected = {(old, new, at(3)) for old, new in pairs(made)}
    for order in permutations(pairs(told)):
        found = file.made_by(order, at(3))
        assert {(one.old, one.new, one.position) for one in found} == expected


def test_an_swapped_tables_without_place_is_not_followed() -> None:
    """POS-12: what is sent again would undo it."""
    by_offset = Position(f"{1:04X}{7:016X}")
    assert Renames(SWAP).made_by(pairs("a>t b>a t>b"), by_offset) == ()
    assert Renames(declared("a>b")).made_by(pairs("a>b"), by_offset) != ()


@pytest.mark.parametrize(
    ("told", "moves", "left"),
    [
        pytest.param("a>t b>a t>b", "a>b b>a", "", id="exchange"),
        pytest.param("a>t b>a a>b", "a>b b>a", "", id="names from before"),
        pytest.param("a>t b>a a>b b>c", "a>b b>a", "b>c", id="names from before, and on"),
        pytest.param("a>b x>a", "a>b", "x>a", id="a name is taken"),
        pytest.param("a>b b>c", "a>b", "b>c", id="and on"),
        pytest.param("a>t b>a", "", "a>t b>a", id="nothing is followed"),
    ],
)
def test_what_is_left_of_a_statement(told: str, moves: str, left: str) -> None:
    assert unexplained(pairs(told), dict(pairs(moves))) == list(pairs(left))


@pytest.mark.parametrize(
    ("told", "tables", "table_swap"),
    [
        pytest.param("a>t b>a t>b", "ab", "ab", id="two"),
        pytest.param("a>t b>a a>b", "ab", "ab", id="names from before"),
        pytest.param("t>c a>t b>a c>b", "abc", "acb", id="three"),
        pytest.param("a>t b>a t>b", "a", "", id="one of two is followed"),
        pytest.param("a>b", "ab", "", id="no ring"),
        pytest.param("a>b", "a", "", id="a name that nobody has"),
    ],
)
def test_whose_names_tables_take(told: str, tables: str, table_swap: str) -> None:
    """SCHEMA-34: what the message of an exchange goes by."""
    assert swapped_tables(pairs(told), name("a"), names(tables)) == names(table_swap)


def test_a_table_does_not_pass_through_another_one() -> None:
    told = pairs("a>b b>c")
    assert way(told, name("a"), name("c"), ()) == told
    assert way(told, name("a"), name("c"), names("b")) == ()


def test_table_swaps() -> None:
    chain = declared("x>y y>z")
    assert table_swaps_of((*SWAP, *chain)) == (SWAP,)
    assert table_swaps_of((*chain, *TABLE_SWAP[::-1])) == (TABLE_SWAP,)
    assert table_swaps_of(chain) == ()


def made(renames: Sequence[Rename], place: int) -> tuple[Rename, ...]:
    return Renames(tuple(renames)).made_by([(one.old, one.new) for one in renames], at(place))


def test_an_swapped_tables_is_due_again_when_the_file_has_its_targets_the_other_way() -> None:
    """SCHEMA-34: the names in the file are the same then."""
    there = made(SWAP, 3)
    assert Renames(SWAP, there).due == ()
    back = tuple(
        Rename(one.old, one.new, target=other.target)
        for one, other in zip(SWAP, reversed(SWAP), strict=True)
    )
    again = Renames(back, there)
    assert (again.due, again.table_swaps) == (back, (back,))
    assert Renames(back, (*there, *made(back, 5))).due == ()


def test_a_rename_is_not_due_again_for_another_target() -> None:
    """Its names say that it came; who gives the table another target has reasons of his own."""
    (one,) = declared("a>b")
    assert Renames((Rename(one.old, one.new, target="z"),), made([one], 3)).due == ()


def test_renames_of_one_statement_happen_at_once() -> None:
    """SCHEMA-34: also where a table that stands lower has read another copy of it (POS-14)."""
    low, high = made(SWAP, 3)
    copy = Rename(high.old, high.new, at(3, 7), high.target)
    later = made(declared("b>c"), 5)
    known = Renames(declared("d>e"), (low, copy)).with_renames(later)
    assert list(steps(known)) == [
        (at(3, 7), dict(pairs("a>b b>a"))),
        (at(5), dict(pairs("b>c"))),
        (None, dict(pairs("d>e"))),
    ]


def test_what_is_kept_of_a_rename() -> None:
    (one, _) = made(SWAP, 3)
    assert Rename.from_json(one.to_json()) == one
