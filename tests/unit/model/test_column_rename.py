from __future__ import annotations

import pytest

from tidemark.model.column_rename import ColumnRename, column_alias, is_reused, name_after
from tidemark.model.names import ColumnName
from tidemark.model.position import Position


def column_renames(*texts: str) -> list[ColumnRename]:
    """``a>b -c +d`` is one statement; they stand at 1, 2, and so on."""
    found = []
    for place, text in enumerate(texts, start=1):
        words = text.split()
        pairs = (word.split(">") for word in words if ">" in word)
        found.append(
            ColumnRename(
                Position(str(place)),
                tuple((ColumnName(old), ColumnName(new)) for old, new in pairs),
                tuple(ColumnName(word[1:]) for word in words if word[0] == "-"),
                tuple(ColumnName(word[1:]) for word in words if word[0] == "+"),
            )
        )
    return found


@pytest.mark.parametrize(
    ("statements", "name", "former", "since"),
    [
        pytest.param([], "a", [], None, id="nothing happened"),
        pytest.param(["a>b"], "b", [("1", "a")], None, id="a rename"),
        pytest.param(["a>b", "b>c"], "c", [("2", "b"), ("1", "a")], None, id="a chain"),
        pytest.param(["a>b b>a"], "a", [("1", "b")], None, id="a swap"),
        pytest.param(["a>b b>c c>a"], "c", [("1", "b")], None, id="a ring"),
        pytest.param(["a>t", "b>a", "t>b"], "b", [("3", "t"), ("1", "a")], None, id="by a third"),
        pytest.param(["a>b", "b>a"], "a", [("2", "b"), ("1", "a")], None, id="there and back"),
        pytest.param(["+c"], "c", [], "1", id="added"),
        pytest.param(["-c", "+c"], "c", [], "2", id="another column of that name"),
        pytest.param(["-c +c"], "c", [], "1", id="another one by the same statement"),
        pytest.param(["a>b +a"], "a", [], "1", id="the name is free again"),
        pytest.param(["a>b +a"], "b", [("1", "a")], None, id="who bore it"),
        pytest.param(["+a", "a>b"], "b", [("2", "a")], "1", id="added, then renamed"),
    ],
)
def test_what_records_call_a_column(
    statements: list[str], name: str, former: list[tuple[str, str]], since: str | None
) -> None:
    """SCHEMA-4, SCHEMA-30."""
    found = column_alias(column_renames(*statements), ColumnName(name))
    assert (list(found.former), found.since) == (former, since)


@pytest.mark.parametrize(
    ("statements", "name", "at", "now"),
    [
        (["a>b"], "a", "1", "b"),
        (["a>b"], "b", "2", "b"),
        (["a>b"], "b", None, "b"),
        (["a>b", "b>c"], "a", "1", "c"),
        (["a>b", "b>c"], "b", "2", "c"),
        (["a>b b>a"], "a", "0", "b"),
        (["-c"], "c", "1", None),
        (["-c", "+c"], "c", "1", None),
        (["-c", "+c"], "c", "3", "c"),
        (["a>b", "-b"], "a", "0", None),
        (["a>b +a"], "a", "1", "b"),
        (["a>b +a"], "a", "2", "a"),
    ],
)
def test_what_a_records_column_is_called_now(
    statements: list[str], name: str, at: str | None, now: str | None
) -> None:
    """SCHEMA-4: by the position of the record, not by when it is read."""
    position = None if at is None else Position(at)
    assert name_after(column_renames(*statements), ColumnName(name), position) == now


def test_a_name_that_two_columns_bore() -> None:
    assert is_reused(column_renames("-c", "+c"), ColumnName("c"))
    assert is_reused(column_renames("a>b +a"), ColumnName("a"))
    assert not is_reused(column_renames("a>b +c"), ColumnName("c"))


def test_a_column_rename_is_kept_as_it_is() -> None:
    for column_rename in column_renames("a>b b>a -c +d", "+e"):
        assert ColumnRename.from_json(column_rename.to_json()) == column_rename
