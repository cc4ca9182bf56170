"""What is quarantined was seen: its transaction goes on, and what it may have been is said."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.support.quarantined import (
    NARROW,
    TOO_MUCH,
    entries,
    item,
    published,
    row,
)
from tests.support.records import Record, boundary, canal_rows
from tests.support.stack import Stream, counted
from tidemark.errors import ActionRefusedError
from tidemark.model.event import Reason
from tidemark.model.quarantine import Selection
from tidemark.runs.orders import drop_entries, replay_entries, skip_transaction
from tidemark.runs.status import pipeline_status
from tidemark.runs.world import World


def test_a_change_that_is_quarantined_has_been_seen(world: World) -> None:
    """POISON-5: its transaction is whole, and so are those behind it."""
    stream = Stream(world, 1, "debezium-mysql", "transaction", NARROW).create()
    first = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1"
    stream.send([boundary("BEGIN", first), boundary("END", first, 2)], stream.transactions)
    stream.send(
        [
            row("c", 1, 10, TOO_MUCH, transaction=(first, 1)),
            row("c", 2, 20, 2, transaction=(first, 2)),
        ]
    )
    result = stream.cut()
    assert (result.hold, counted(result)["quarantined"]) == ("", 1)
    assert published(stream) == {2: 2}


@pytest.mark.smoke
def test_what_cannot_be_read_of_a_transaction_has_been_seen(world: World) -> None:
    """POISON-5: whenever it came; it settles with its transaction, and the cut says so."""
    stream = Stream(world, 1, "debezium-mysql", "transaction", NARROW).create()
    first, second, third = (f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{n}" for n in (1, 2, 3))
    stream.send([without_row(1, 10, (first, 1))])
    assert stream.cut().buckets["quarantined"] == 0
    ends = [boundary("BEGIN", first), boundary("END", first, 1)]
    ends += [boundary("BEGIN", second), boundary("END", second, 3)]
    stream.send(ends, stream.transactions)
    stream.send([row("c", 2, 20, 2, transaction=(second, 1)), without_row(3, 21, (second, 2))])
    result = stream.cut()
    assert "its END counts 3 of shop.items, 2 came" in result.hold
    assert (result.quarantined, result.buckets["held"]) == ({"IMAGE_MISSING": 1}, 4)
    stream.send([row("c", 4, 22, 4, transaction=(second, 3))])
    result = stream.cut()
    assert (result.hold, result.quarantined) == ("", {"IMAGE_MISSING": 1})
    assert published(stream) == {2: 2, 4: 4}
    assert [(one.offset, one.code, bool(one.position)) for one in entries(stream)] == [
        (0, Reason.IMAGE_MISSING, True),
        (2, Reason.IMAGE_MISSING, True),
    ]
    stream.send([boundary("BEGIN", third), boundary("END", third, 1)], stream.transactions)
    stream.send([without_row(5, 30, None)])
    result = stream.cut()
    assert "its END counts 1 of shop.items, 0 came" in result.hold, "nobody knows whose it is"
    skip_transaction(stream.pipeline, world, third)
    assert stream.cut().hold == ""


def without_row(number: int, pos: int, transaction: tuple[str, int] | None) -> Record:
    """An insert whose row is not in it."""
    record = row("c", number, pos, transaction=transaction)
    return replace(
        record, value=json.dumps(json.loads(record.value or b"") | {"after": None}).encode()
    )


def test_a_record_of_unknown_kind_may_have_been_a_statement(world: World) -> None:
    """POISON-3: the cut and the status say so, until it is replayed or dropped."""
    stream = Stream(world, format="canal-json", gate="none", table={"columns": {"n": "int"}})
    stream.create().send([canal_rows("INSERT", item(1, "1")), Record(b"cut off {")])
    result = stream.cut()
    assert (result.quarantined, result.unknown) == ({"JSON_INVALID": 1}, {stream.topic: 1})
    stream.send([canal_rows("INSERT", item(2, "2"))])
    result = stream.cut()
    assert (result.quarantined, result.unknown) == ({}, {stream.topic: 1})
    (warning,) = pipeline_status(stream.pipeline, world).warnings
    assert f"tables of topic {stream.topic} may lack a truncate or a schema change" in warning
    drop_entries(stream.pipeline, world, Selection(), "a test sent it")
    assert pipeline_status(stream.pipeline, world).warnings == ()
    stream.send([canal_rows("INSERT", item(3, "3"))])
    assert stream.cut().unknown == {}
    assert published(stream) == {1: 1, 2: 2, 3: 3}


def test_what_a_person_gives_up_of_a_transaction_is_listed(world: World) -> None:
    """GATE-T8, POISON-1."""
    stream = Stream(world, 1, "debezium-mysql", "transaction", NARROW).create()
    first, second = (f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{number}" for number in (1, 2))
    ends = [boundary("BEGIN", first), boundary("END", first, 2)]
    ends += [boundary("BEGIN", second), boundary("END", second, 1)]
    stream.send(ends, stream.transactions)
    stream.send([row("c", 1, 10, 1, transaction=(first, 1))])
    stream.send([row("c", 3, 20, 3, transaction=(second, 1))])
    stream.cut()
    skip_transaction(stream.pipeline, world, first)
    stream.cut()
    assert [(entry.offset, entry.code) for entry in entries(stream)] == [(0, Reason.TX_SKIPPED)]
    with pytest.raises(ActionRefusedError, match="TX_SKIPPED"):
        replay_entries(stream.pipeline, world, Selection())
    assert published(stream) == {3: 3}
