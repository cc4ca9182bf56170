"""PostgreSQL's columns that change without a statement, through whole cuts."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from tests.support.records import Record, postgres_row
from tests.support.stack import Stream
from tidemark.errors import TableStoppedError
from tidemark.runs.world import World

MOMENT = datetime(2026, 4, 1, 12, 30, 15, 250_000)  # noqa: DTZ001  a wall-clock time
MILLIS = 1_775_046_615_250
FORMS = {"MicroTimestamp": MILLIS * 1000, "Timestamp": MILLIS}


def stamped(op: str, number: int, lsn: int, form: str) -> Record:
    """A row with its schema, and a time in the column ``at``, written as ``form`` is."""
    plain = postgres_row(op, number, (lsn, lsn + 1), at=FORMS[form])
    fields = [
        {"type": "int32", "optional": False, "field": "id"},
        {"type": "string", "optional": True, "field": "name"},
        {"type": "int64", "optional": True, "name": f"io.debezium.time.{form}", "field": "at"},
    ]
    images = [
        {"type": "struct", "fields": fields, "optional": True, "field": image}
        for image in ("before", "after")
    ]
    value = {
        "schema": {"type": "struct", "fields": images, "optional": False},
        "payload": json.loads(plain.value or b""),
    }
    return Record(json.dumps(value).encode(), plain.key)


def times(stream: Stream) -> dict[int, datetime]:
    rows = stream.world.catalog.load_table((stream.name, "items")).scan().to_arrow().to_pylist()
    return {row["id"]: row["at"] for row in rows}


def test_a_time_is_read_in_the_form_of_its_records(world: World) -> None:
    """SCHEMA-4, SCHEMA-5: also where a delete comes with an older schema behind it."""
    stream = Stream(world, format="debezium-postgres", gate="none").create()
    stream.send([stamped("c", number, 100 * number, "MicroTimestamp") for number in (1, 2)])
    stream.cut()
    stream.send([stamped("c", 3, 300, "Timestamp"), stamped("d", 1, 400, "MicroTimestamp")])
    stream.cut()
    assert times(stream) == {2: MOMENT, 3: MOMENT}


def test_two_forms_in_one_cut_stop_the_table(world: World) -> None:
    """SCHEMA-4: none is read in the form of the other."""
    stream = Stream(world, format="debezium-postgres", gate="none").create()
    stream.send([stamped("c", 1, 100, "MicroTimestamp"), stamped("c", 2, 200, "Timestamp")])
    with pytest.raises(TableStoppedError, match="records of one cut hold its column at as"):
        stream.cut()
    assert not world.catalog.table_exists((stream.name, "items"))
