"""Which bases are kept and which records may go, day by day (KEEP-1)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidemark.model.column_rules import ColumnRules
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.cut import Frontier
from tidemark.model.maintenance import DAY_MS
from tidemark.model.names import ColumnName, TableName
from tidemark.model.refold import TableState
from tidemark.model.renames import Rename
from tidemark.model.retention import Base, is_due, missing_in, oldest_needed, removable, removed_of
from tidemark.model.target_mode import TargetMode

ID, NAME = ColumnName("id"), ColumnName("name")
SCHEMA = TableSchema(
    (
        SourceColumn(ID, "int", ValueEncoding.INTEGER, "int"),
        SourceColumn(NAME, "string", ValueEncoding.TEXT, "text"),
    ),
    (ID,),
)
A, B, C, D = (TableName("shop", name) for name in "abcd")


def base(cut: int, at_ms: int) -> Base:
    return Base(cut, at_ms, cut, cut, TableState(Frontier()), SCHEMA)


@pytest.mark.parametrize("keep_days", [7, 30, 31])
@pytest.mark.parametrize("every", [1, 2, 5])
def test_a_year_of_maintenance_keeps_few_bases(keep_days: int, every: int) -> None:
    """What is needed is never younger than asked for, nor much older than once and a half."""
    bases: list[Base] = []
    for day in range(0, 365, every):
        now_ms = day * DAY_MS
        if is_due(bases, day + 1, keep_days, now_ms):
            bases.append(base(day + 1, now_ms))
        needed = oldest_needed(bases, keep_days, now_ms)
        if needed is None:
            assert day < 1.5 * keep_days + 2 * every
            continue
        bases = [one for one in bases if one.cut >= needed.cut]
        assert keep_days * DAY_MS <= now_ms - needed.at_ms
        assert now_ms - needed.at_ms < (1.5 * keep_days + 2 * every) * DAY_MS
        assert len(bases) <= 4


def test_a_pipeline_without_cuts_keeps_its_base() -> None:
    assert not is_due([base(3, 0)], 3, 30, 400 * DAY_MS)
    assert is_due([base(3, 0)], 4, 30, 15 * DAY_MS)
    assert not is_due([base(3, 0)], 4, 30, 15 * DAY_MS - 1)


def test_names_that_were_exchanged_share_what_may_go() -> None:
    swaps = [Rename(A, B), Rename(B, C)]
    assert removable({A: 5, B: 9, C: 7, D: 8}, [A, B, C, D], swaps) == {A: 5, B: 5, C: 5, D: 8}
    assert removable({A: 5, C: 7, D: 8}, [A, B, C, D], swaps) == {D: 8}, "B needs all"
    assert removed_of(C, {A: 5, D: 8}, swaps) == 5
    assert removed_of(C, {D: 8}, swaps) == 0


@pytest.mark.parametrize(
    ("base_rules", "rules", "missing"),
    [
        (ColumnRules(), ColumnRules(hashed=(NAME,)), ""),
        (ColumnRules(hashed=(NAME,)), ColumnRules(hashed=(NAME,)), ""),
        (ColumnRules(hashed=(NAME,)), ColumnRules(redacted=(NAME,)), ""),
        (ColumnRules(excluded=(NAME,)), ColumnRules(excluded=(NAME,)), ""),
        (ColumnRules(hashed=(NAME,)), ColumnRules(), "values of column name"),
        (ColumnRules(redacted=(NAME,)), ColumnRules(hashed=(NAME,)), "values of column name"),
        (ColumnRules(excluded=(NAME,)), ColumnRules(), "values of column name"),
    ],
)
def test_a_base_tells_no_more_than_its_target_had(
    base_rules: ColumnRules, rules: ColumnRules, missing: str
) -> None:
    found = missing_in(replace(SCHEMA, rules=base_rules), replace(SCHEMA, rules=rules))
    assert (missing in found) if missing else found == ""


def test_rows_of_an_append_target_are_no_rows_of_another() -> None:
    append = replace(SCHEMA, mode=TargetMode.APPEND)
    assert missing_in(append, append) == ""
    assert "mode append" in missing_in(append, SCHEMA)
    assert "mode append" in missing_in(SCHEMA, append)
