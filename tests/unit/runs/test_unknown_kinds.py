"""What tables may lack because of what waits in quarantine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidemark.lake.quarantine import rows_of
from tidemark.model.event import Reason
from tidemark.model.position import Position
from tidemark.model.quarantine import KINDLESS, Entry, State
from tidemark.runs.unknown_kinds import codes_of, unknown_kinds, warnings
from tidemark.spec import SourceSpec

UNREAD = Entry(
    *("shop.items", 0, 7, None, Reason.JSON_INVALID, "", "", Position(""), None),
    bytes=5,
    sha256="ab",
    cut=3,
)
ROW = replace(UNREAD, offset=8, row=2, code=Reason.VALUE_OUT_OF_RANGE, table="shop.items")


def source(**told: object) -> SourceSpec:
    topics = {"data": ["^shop[.].*", "signals"], "schema-changes": ["db"], "transactions": ["tx"]}
    return SourceSpec.model_validate(
        {"format": "debezium-mysql", "gate": "none", "topics": topics, **told}
    )


def test_a_record_that_waits_may_be_a_statement() -> None:
    """POISON-3: of a data topic, and until somebody replays or drops it."""
    again = replace(UNREAD, offset=9, code=Reason.OP_UNKNOWN, table="shop.items")
    settled = [replace(UNREAD, offset=n, state=s) for n, s in enumerate(State) if s != "waiting"]
    elsewhere = [replace(UNREAD, topic="db"), replace(UNREAD, topic="tx")]
    signals = replace(UNREAD, topic="signals")
    found = unknown_kinds(source(), [UNREAD, again, ROW, signals, *settled, *elsewhere])
    assert found == {"shop.items": 2, "signals": 1}


@pytest.mark.parametrize("code", [code for code in Reason if code not in KINDLESS])
def test_what_was_found_in_a_row_is_no_statement(code: Reason) -> None:
    assert unknown_kinds(source(), [replace(UNREAD, code=code)]) == {}


def test_a_warning_says_what_may_be_lacking() -> None:
    (sentence,) = warnings(source(), {"shop.items": 1200})
    assert sentence.startswith(
        "tables of topic shop.items may lack a truncate: nobody can read 1,200 of its records"
    )
    canal = source(format="canal-json", topics={"data": ["t"]})
    (sentence,) = warnings(canal, {"t": 1})
    assert "may lack a truncate or a schema change" in sentence


def test_codes_are_those_of_what_is_quarantined() -> None:
    """POISON-5: what was tried again and came to an end is not."""
    applied = replace(ROW, offset=10, state=State.APPLIED)
    assert codes_of(rows_of([UNREAD, ROW, replace(ROW, row=3), applied])) == {
        "JSON_INVALID": 1,
        "VALUE_OUT_OF_RANGE": 2,
    }
