"""Tables that come into the file of a pipeline that runs already (SCHEMA-35)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.support.records import (
    Record,
    boundary,
    debezium_row,
    postgres_row,
    ticdc_row,
    ticdc_watermark,
)
from tests.support.stack import Stream
from tidemark.runs.plan import plan_cut
from tidemark.runs.preview import preview_cut
from tidemark.runs.world import World

FIRST = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
TYPED = {"columns": {"id": "integer", "name": "text"}}
OTHER = {"tables": [{"source": "shop.others", "expectations": "none", **TYPED}]}
SOURCES = {
    "watermark": ("ticdc-canal-json", {}),
    "transaction": ("debezium-mysql", TYPED),
    "none": ("debezium-postgres", TYPED),
}


def records(gate: str, first: int) -> Sequence[Record]:
    """Rows 1 and 2 come at ``first``; then 1 is deleted and 2 gets another name."""
    if gate == "watermark":
        rows = [("INSERT", 1, "a"), ("INSERT", 2, "b"), ("DELETE", 1, "a"), ("UPDATE", 2, "c")]
        changes = [
            ticdc_row(op, key, first + at, name=name) for at, (op, key, name) in enumerate(rows)
        ]
        return [*changes, ticdc_watermark(first + 9)]
    rows = [("c", 1, "a"), ("c", 2, "b"), ("d", 1, "a"), ("u", 2, "c")]
    if gate == "none":
        return [
            postgres_row(op, key, (first, first + at), name=name)
            for at, (op, key, name) in enumerate(rows)
        ]
    return [
        debezium_row(op, key, first + at, name=name, transaction=(f"{FIRST}:{first}", at + 1))
        for at, (op, key, name) in enumerate(rows)
    ]


def send(stream: Stream, first: int) -> None:
    if stream.gate == "transaction":
        name = f"{FIRST}:{first}"
        stream.send([boundary("BEGIN", name), boundary("END", name, 4)], stream.transactions)
    stream.send(records(stream.gate, first))


@pytest.mark.parametrize("gate", SOURCES)
def test_a_table_that_is_added_has_all_its_rows(world: World, gate: str) -> None:
    """SCHEMA-35: what earlier cuts filtered counts, though nothing new is there to read."""
    source, table = SOURCES[gate]
    stream = Stream(world, 1, source, gate, table, OTHER).create()
    send(stream, 100)
    assert stream.cut().buckets["filtered"] == 4
    assert stream.published() == []
    stream.options = {}
    planned = plan_cut(stream.pipeline, world)
    assert planned.has_work
    assert "shop.items came into the file" in planned.sentence
    assert [table.rows for table in preview_cut(stream.pipeline, world).tables] == [4]
    assert stream.cut().stopped == {}
    assert stream.rows() == {2: "c"}
    assert not plan_cut(stream.pipeline, world).has_work
    send(stream, 200)
    stream.cut()
    assert stream.rows() == {2: "c"}, "the same once more, behind"


@pytest.mark.smoke
def test_a_table_that_went_out_of_the_file_comes_back_whole(world: World) -> None:
    """SCHEMA-35: what came while it was out is folded, and nothing is twice."""
    stream = Stream(world, 1, "debezium-postgres", "none", {**TYPED, "mode": "append"}).create()
    stream.send([postgres_row("c", 1, (10, 10), name="a")])
    stream.cut()
    stream.options = OTHER
    stream.send([postgres_row("c", 2, (20, 20), name="b")])
    stream.cut()
    stream.options = {}
    stream.cut()
    assert sorted((row["id"], row["name"]) for row in stream.published()) == [(1, "a"), (2, "b")]
    stream.cut()
    assert len(stream.published()) == 2


def test_a_table_without_records_costs_one_cut(world: World) -> None:
    """SCHEMA-35: it is known from then on, and what comes later is folded as it comes."""
    stream = Stream(world, 1, "debezium-postgres", "none", TYPED, OTHER).create()
    other = postgres_row("c", 1, (10, 10), name="a")
    value = json.loads(other.value or b"")
    value["source"]["table"] = "others"
    stream.send([replace(other, value=json.dumps(value).encode())])
    stream.cut()
    stream.options = {}
    stream.cut()
    assert stream.published() == []
    assert not plan_cut(stream.pipeline, world).has_work
    stream.send([postgres_row("c", 1, (20, 20), name="a")])
    stream.cut()
    assert stream.rows() == {1: "a"}
