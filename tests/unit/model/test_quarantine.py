"""What was quarantined: one state of each change, and what an order means."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidemark.lake.quarantine import as_stored, entries_of, rows_of
from tidemark.model.event import Reason
from tidemark.model.names import TableName
from tidemark.model.position import Position
from tidemark.model.progress import Progress
from tidemark.model.quarantine import (
    Entry,
    Kind,
    RecordPlace,
    Selection,
    State,
    by_kind,
    newest_states,
)
from tidemark.model.renames import Rename

SWAP = ("items", "goods")
NINTH = RecordPlace("shop.items", 0, 9)
BAD = Entry(
    *("shop.items", 0, 7, 2, Reason.VALUE_OUT_OF_RANGE, "shop.items", "n", "0001FF", None),
    bytes=5,
    sha256="ab",
    cut=3,
)
WHOLE = replace(BAD, offset=9, row=None, code=Reason.JSON_INVALID, table="", column="")


def test_a_change_has_one_state_whatever_order_its_rows_are_read_in() -> None:
    """POISON-4: tried in vain it waits on, from the later cut, until it is over."""
    again, applied = replace(BAD, cut=5), replace(BAD, cut=6, state=State.APPLIED)
    assert newest_states([again, BAD]) == (again,)
    assert newest_states([WHOLE, applied, again, BAD]) == (applied, WHOLE)
    dropped = replace(WHOLE, cut=3, state=State.DROPPED)
    assert newest_states([dropped, WHOLE, replace(BAD, row=4)]) == (replace(BAD, row=4), dropped)


def test_what_is_quarantined_again_waits_again() -> None:
    """POISON-4: a refold tries what a replay had applied, or a person dropped, once more."""
    for state in (State.APPLIED, State.DROPPED):
        ended, again = replace(BAD, cut=4, state=state), replace(BAD, cut=6)
        assert newest_states([BAD, again, ended]) == (again,)
        assert newest_states([BAD, ended, replace(BAD, cut=4)]) == (ended,)


@pytest.mark.parametrize(
    ("selection", "taken"),
    [
        pytest.param(Selection(), [BAD, WHOLE], id="all"),
        pytest.param(Selection("shop.items"), [BAD], id="table"),
        pytest.param(Selection(code=Reason.JSON_INVALID), [WHOLE], id="code"),
        pytest.param(Selection(record=NINTH), [WHOLE], id="record"),
        pytest.param(Selection("shop.items", record=NINTH), [], id="both"),
    ],
)
def test_an_order_means_what_it_names_also_once_it_was_kept(
    selection: Selection, taken: list[Entry]
) -> None:
    kept = Selection.from_json(selection.to_json())
    assert kept == selection
    assert [entry for entry in (BAD, WHOLE) if kept.takes(entry)] == taken


def test_an_order_reads_like_its_command() -> None:
    selection = Selection("shop.items", Reason.JSON_INVALID, NINTH)
    assert str(selection) == "--table shop.items --code JSON_INVALID --record shop.items:0:9"
    assert str(Selection()) == ""


@pytest.mark.parametrize(
    ("renames", "name"),
    [
        pytest.param([], "shop.items", id="none"),
        pytest.param([("items", "goods", "0002")], "shop.goods", id="quarantined before"),
        pytest.param([("items", "goods", "0001")], "shop.items", id="another one of that name"),
        pytest.param([("items", "goods", None)], "shop.goods", id="declared, not read yet"),
        pytest.param(
            [("items", "goods", "0002"), ("goods", "wares", "0003")], "shop.wares", id="chain"
        ),
        pytest.param(
            [("items", "goods", "0002"), ("goods", "items", "0002")], "shop.goods", id="exchange"
        ),
        pytest.param(
            [(*pair, at) for at in ("0002", "0003") for pair in (SWAP, SWAP[::-1])],
            "shop.items",
            id="there and back",
        ),
    ],
)
def test_what_was_quarantined_goes_with_its_table(
    renames: list[tuple[str, str, str | None]], name: str
) -> None:
    """SCHEMA-31, SCHEMA-34: entries are kept with the names that their records have."""
    known = [
        Rename(TableName("shop", old), TableName("shop", new), None if at is None else Position(at))
        for old, new, at in renames
    ]
    assert BAD.under(known) == replace(BAD, table=name)
    assert BAD.under(known).as_stored(known) == BAD
    kept = as_stored(rows_of([replace(BAD, table=name), WHOLE]), known)
    assert entries_of(kept) == [BAD, WHOLE]
    assert WHOLE.under(known) == WHOLE


def test_what_waits_is_counted_by_its_cause() -> None:
    """POISON-1: each cause with the first of its records, however many there are."""
    later = replace(BAD, offset=BAD.offset + 1)
    other = replace(BAD, column="other")
    kinds = by_kind([later, other, WHOLE, BAD])
    assert kinds == (
        Kind("", WHOLE.code, "", 1, RecordPlace(*WHOLE.place)),
        Kind(BAD.table, BAD.code, BAD.column, 2, RecordPlace(*BAD.place)),
        Kind(BAD.table, BAD.code, "other", 1, RecordPlace(*BAD.place)),
    )


def test_progress_knows_what_was_quarantined_by_the_name_of_now() -> None:
    """SCHEMA-31: with the cut that follows the rename, and in orders that were given before."""
    old, new = TableName("shop", "items"), TableName("shop", "goods")
    orders = (Selection("shop.items"), Selection(record=NINTH))
    progress = Progress(quarantined=frozenset({old}), replays=orders)
    now = progress.under((Rename(old, new),))
    assert now.quarantined == {new}
    assert now.replays == (Selection("shop.goods"), Selection(record=NINTH))
