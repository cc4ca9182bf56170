"""Avro on the whole stack, with a registry over HTTP: what is asked of it, and what it may lose."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.cases import read_case
from tests.corpus.run import Options, run_case
from tests.support.avro import Registry, running_registry, wire
from tests.support.records import Record
from tests.support.stack import Stream
from tidemark.errors import PreflightError, RegistryUnreachableError, UnreadableRecordsError
from tidemark.lake.catalog import SystemTables
from tidemark.lake.landing import read_mark
from tidemark.lake.quarantine import read_entries
from tidemark.lake.writer_schemas import read_schemas
from tidemark.model.event import Reason
from tidemark.model.names import TableName
from tidemark.model.quarantine import RecordPlace, Selection, State
from tidemark.model.result import CutStatus
from tidemark.runs.orders import replay_entries
from tidemark.runs.preview import preview_cut
from tidemark.runs.refold import begin_refold
from tidemark.runs.world import World

CASES = Path(__file__).parents[2] / "corpus" / "cases"
KEY_ID, OLD_ID, NEW_ID = 1, 2, 3
KEY = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "int"}]}
SOURCE = {
    "type": "record",
    "name": "Source",
    "fields": [
        {"name": "ts_ms", "type": "long"},
        {"name": "snapshot", "type": ["string", "null"]},
        {"name": "db", "type": "string"},
        {"name": "table", "type": "string"},
        {"name": "file", "type": "string"},
        {"name": "pos", "type": "long"},
    ],
}


def envelope(*columns: tuple[str, Any]) -> dict[str, Any]:
    image = {
        "type": "record",
        "name": "Value",
        "fields": [{"name": name, "type": declared} for name, declared in columns],
    }
    return {
        "type": "record",
        "name": "Envelope",
        "fields": [
            {"name": "after", "type": ["null", image]},
            {"name": "source", "type": SOURCE},
            {"name": "op", "type": "string"},
        ],
    }


OLD = envelope(("id", "int"), ("name", "string"))
NEW = envelope(
    ("price", ["null", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}]),
    ("name", "string"),
    ("id", "long"),
)
SCHEMAS = {OLD_ID: OLD, NEW_ID: NEW}


def row(written: int, of: int, pos: int, **after: Any) -> Record:
    """An insert at ``pos`` that was written with one of the two schemas."""
    at = {
        "ts_ms": 1,
        "snapshot": "false",
        "db": "shop",
        "table": "items",
        "file": "b.1",
        "pos": pos,
    }
    change = {"after": {"id": of, **after}, "source": at, "op": "c"}
    value = wire(written, SCHEMAS[written], change)
    return Record(value, wire(KEY_ID, KEY, {"id": of}))


@pytest.fixture
def registry() -> Iterator[Registry]:
    with running_registry(Registry()) as running:
        running.add(KEY_ID, KEY)
        running.add(OLD_ID, OLD)
        running.add(NEW_ID, NEW)
        yield running


def stream_of(world: World, registry: Registry, **options: Any) -> Stream:
    avro = {"avro": {"registry": {"url": registry.url}}}
    return Stream(world, 1, "debezium-mysql", "none", source=avro, options=options).create()


def landed(stream: Stream) -> int:
    return read_mark(stream.world.catalog, SystemTables.of(stream.pipeline.name)).number


def kept(stream: Stream) -> set[int]:
    return set(read_schemas(stream.world.catalog, SystemTables.of(stream.pipeline.name)))


def test_schemas_are_asked_for_once_and_kept(world: World, registry: Registry) -> None:
    """MSG-19, MSG-20: several in one batch, and the registry may be gone afterwards."""
    stream = stream_of(world, registry)
    stream.send([row(OLD_ID, 1, 100, name="a"), row(NEW_ID, 2, 110, name="b", price=b"\x04\xd2")])
    assert preview_cut(stream.pipeline, world).tables[0].rows == 2
    assert kept(stream) == set()

    registry.asked.clear()
    assert stream.cut().status is CutStatus.PUBLISHED
    assert stream.rows() == {1: "a", 2: "b"}
    assert sorted(registry.asked) == [KEY_ID, OLD_ID, NEW_ID]
    assert kept(stream) == {KEY_ID, OLD_ID, NEW_ID}
    table = world.catalog.load_table((stream.name, "items"))
    types = {column.name: str(column.field_type) for column in table.schema().fields}
    assert (types["id"], types["price"]) == ("long", "decimal(9, 2)")
    prices = {r["id"]: r["price"] for r in table.scan().to_arrow().to_pylist()}
    assert {of: str(price) for of, price in prices.items()} == {1: "None", 2: "12.34"}

    registry.failing = 503
    stream.send([row(OLD_ID, 3, 120, name="c"), row(NEW_ID, 1, 130, name="aa", price=None)])
    assert stream.cut().status is CutStatus.PUBLISHED
    assert stream.rows() == {1: "aa", 2: "b", 3: "c"}


def test_a_schema_is_kept_with_those_that_it_leans_on(world: World, registry: Registry) -> None:
    """MSG-19: what is landed is read without the registry."""
    registry.add_version("sources", SOURCE)
    leaning = {
        **OLD,
        "fields": [
            {**field, "type": "Source"} if field["name"] == "source" else field
            for field in OLD["fields"]
        ],
    }
    registry.schemas[OLD_ID] = {
        "schema": json.dumps(leaning),
        "references": [{"name": "Source", "subject": "sources", "version": 1}],
    }
    stream = stream_of(world, registry)
    stream.send([row(OLD_ID, 1, 100, name="a")])
    assert stream.cut().status is CutStatus.PUBLISHED
    registry.failing = 503
    stream.send([row(OLD_ID, 1, 110, name="aa"), row(OLD_ID, 2, 120, name="b")])
    assert stream.cut().status is CutStatus.PUBLISHED
    assert stream.rows() == {1: "aa", 2: "b"}


def test_another_framing_stops_before_anything_is_landed(world: World, registry: Registry) -> None:
    """MSG-19: the error says which setting of the converter to change."""
    stream = stream_of(world, registry)
    of_apicurio = row(OLD_ID, 1, 100, name="a")
    assert of_apicurio.value is not None
    stream.send([replace(of_apicurio, value=b"\0" + bytes(4) + of_apicurio.value[1:])] * 2)
    with pytest.raises(PreflightError, match="an id of eight bytes") as refused:
        stream.cut()
    assert "Legacy4ByteIdHandler" in refused.value.next_step
    assert (landed(stream), stream.rows()) == (0, {})


def test_a_registry_that_is_away_fails_the_run_and_changes_nothing(
    world: World, registry: Registry
) -> None:
    """MSG-19: the next run sees the same records."""
    stream = stream_of(world, registry)
    stream.send([row(OLD_ID, 1, 100, name="a")])
    registry.failing = 503
    with pytest.raises(RegistryUnreachableError, match="/schemas/ids/1 answered with HTTP 503"):
        stream.cut()
    with pytest.raises(RegistryUnreachableError):
        preview_cut(stream.pipeline, world)
    assert (landed(stream), kept(stream), stream.rows()) == (0, set(), {})

    registry.failing = 0
    assert stream.cut().status is CutStatus.PUBLISHED
    assert (landed(stream), stream.rows()) == (1, {1: "a"})


@pytest.mark.smoke
def test_what_cannot_be_read_is_landed_and_counted(world: World, registry: Registry) -> None:
    """POISON-6, ACC-1"""
    stream = stream_of(world, registry)
    good = row(OLD_ID, 1, 100, name="a")
    assert good.value is not None
    stream.send(
        [
            good,
            Record(b"\0\0\0\0\x63" + good.value[5:], good.key),
            Record(good.value + b"\0", good.key),
            Record(json.dumps({"op": "c"}).encode(), good.key),
        ]
    )
    result = stream.cut()
    assert (result.buckets["quarantined"], result.buckets["applied"]) == (3, 1)
    assert stream.rows() == {1: "a"}
    name = f"lake.tidemark_{stream.name}.changelog"
    found = world.spark.table(name).orderBy("offset").select("kind", "reason", "value").collect()
    assert [(r.kind, r.reason) for r in found] == [
        ("row", None),
        ("unreadable", "AVRO_SCHEMA_UNKNOWN"),
        ("unreadable", "AVRO_DECODE"),
        ("unreadable", "AVRO_MAGIC"),
    ]
    assert bytes(found[2].value) == good.value + b"\0"


def test_records_are_read_once_their_schema_is_known(world: World, registry: Registry) -> None:
    """POISON-4, MSG-19: with the columns that they bring; what came behind one stays."""
    del registry.schemas[NEW_ID]
    stream = stream_of(world, registry)
    unknown = [row(NEW_ID, of, 200 + of, name="new", price=b"\x04\xd2") for of in (1, 2)]
    stream.send([row(OLD_ID, 1, 100, name="a"), *unknown])
    stream.cut()
    stream.send([row(OLD_ID, 1, 300, name="newer")])
    stream.cut()
    assert stream.rows() == {1: "newer"}
    replay_entries(stream.pipeline, world, Selection())
    assert stream.cut().buckets["applied"] == 0
    registry.add(NEW_ID, NEW)
    replay_entries(stream.pipeline, world, Selection(code=Reason.AVRO_SCHEMA_UNKNOWN))
    result = stream.cut()
    assert (result.buckets["applied"], result.buckets["duplicate"]) == (1, 1)
    rows = stream.published()
    found = {row["id"]: (row["name"], str(row["price"])) for row in rows}
    assert found == {1: ("newer", "None"), 2: ("new", "12.34")}
    kept = read_entries(world.catalog, SystemTables.of(stream.pipeline.name))
    assert [entry.state for entry in kept] == [State.DUPLICATE, State.APPLIED]


def deleted(of: int, pos: int, written: int) -> Record:
    """A delete, whose envelope has the schema ``written``."""
    at = {"ts_ms": 1, "snapshot": "false", "db": "shop", "table": "items", "file": "b.1"}
    change = {"after": None, "source": {**at, "pos": pos}, "op": "d"}
    return Record(wire(written, SCHEMAS[written], change), wire(KEY_ID, KEY, {"id": of}))


def test_what_a_replay_has_read_is_part_of_the_past(world: World, registry: Registry) -> None:
    """POISON-4, REFOLD-1: of its delete for later replays, of all of it for a refold."""
    del registry.schemas[NEW_ID]
    stream = stream_of(world, registry)
    stream.send([row(OLD_ID, 1, 100, name="a"), row(OLD_ID, 3, 105, name="c")])
    stream.send([deleted(3, 130, NEW_ID), row(NEW_ID, 2, 110, name="new", price=None)])
    stream.send([row(NEW_ID, 3, 120, name="older", price=None)])
    stream.cut()
    registry.add(NEW_ID, NEW)
    replay_entries(stream.pipeline, world, Selection(record=RecordPlace(stream.topic, 0, 2)))
    stream.cut()
    assert stream.rows() == {1: "a"}
    replay_entries(stream.pipeline, world, Selection())
    stream.cut()
    assert stream.rows() == {1: "a", 2: "new"}
    begin_refold(stream.pipeline, world, TableName.parse("shop.items"))
    stream.cut()
    assert stream.rows() == {1: "a", 2: "new"}


def test_garbage_does_not_flood_the_registry(world: World, registry: Registry) -> None:
    """POISON-2: what the limit refuses anyway is not asked for."""
    stream = stream_of(world, registry, limits={"max-unreadable": 2})
    stream.send([Record(b"\0" + (100 + n).to_bytes(4) + b"x") for n in range(50)])
    with pytest.raises(UnreadableRecordsError, match="AVRO_SCHEMA_UNKNOWN"):
        stream.cut()
    assert len(registry.asked) == 3
    assert landed(stream) == 0


def test_schemas_may_lie_in_a_folder(world: World) -> None:
    """MSG-19: recorded Avro without keys, compared with the source at every stage."""
    case = read_case(CASES / "flink-json" / "debezium-avro-confluent", "avro-confluent")
    assert run_case(case, "avro_folder", world, Options()).faults == ()
