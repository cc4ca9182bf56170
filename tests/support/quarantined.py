"""Rows of shop.items that fit their columns or not, and what became of them."""

from __future__ import annotations

import json
from typing import Any

from tests.support.records import Record, debezium_row
from tests.support.stack import Stream
from tidemark.lake.catalog import SystemTables
from tidemark.lake.quarantine import read_entries
from tidemark.model.names import TableName
from tidemark.model.quarantine import Entry, Selection
from tidemark.model.result import CutResult
from tidemark.runs.orders import replay_entries
from tidemark.runs.plan import plan_cut
from tidemark.runs.world import World

ITEMS = TableName("shop", "items")
NARROW = {"key": ["id"], "columns": {"id": "bigint", "name": "text", "n": "int"}}
WIDE = {"key": ["id"], "columns": {"id": "bigint", "name": "text", "n": "bigint"}}
POSTGRES = {"columns": {"id": "integer", "name": "text", "n": "integer"}}
UNAVAILABLE = "__debezium_unavailable_value"
TOO_MUCH = 3_000_000_000
EVERYTHING = Selection()


def row(op: str, number: int | None, pos: int, n: Any = 0, **told: Any) -> Record:
    """A row of shop.items with a column more."""
    record = debezium_row(op, number or 0, pos, **told)
    value = json.loads(record.value or b"")
    for image in filter(None, (value["before"], value["after"])):
        image |= {"n": n, "id": number}
    key = json.dumps({"id": number}).encode()
    return Record(json.dumps(value).encode(), key)


def opened(world: World, *records: Record, **options: Any) -> Stream:
    stream = Stream(world, 1, "debezium-mysql", "none", NARROW, options).create()
    stream.send(records)
    return stream


def published(stream: Stream) -> dict[int, int]:
    return {row["id"]: row["n"] for row in stream.published()}


def entries(stream: Stream) -> list[Entry]:
    return list(read_entries(stream.world.catalog, SystemTables.of(stream.pipeline.name)))


def states(stream: Stream) -> dict[tuple[int, int | None], str]:
    return {(entry.offset, entry.row): entry.state.value for entry in entries(stream)}


def replay(stream: Stream, selection: Selection = EVERYTHING) -> CutResult:
    replay_entries(stream.pipeline, stream.world, selection)
    assert plan_cut(stream.pipeline, stream.world).has_work
    return stream.cut()


def item(number: int, n: str) -> dict[str, str | None]:
    return {"id": str(number), "name": "x", "n": n}
