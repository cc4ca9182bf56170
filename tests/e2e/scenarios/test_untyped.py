"""Records that say nothing of types: refused with a proposal, or taken as they look when asked."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support.records import debezium_row, postgres_row
from tests.support.stack import Stream
from tidemark.errors import TableStoppedError
from tidemark.model.result import CutStatus
from tidemark.runs.preview import preview_cut
from tidemark.runs.world import World

UNAVAILABLE = "__debezium_unavailable_value"


def opened(world: World, untyped: str, **options: Any) -> Stream:
    source = {} if untyped == "refuse" else {"untyped": untyped}
    return Stream(world, 1, "debezium-postgres", "none", source=source, **options).create()


def published(stream: Stream) -> list[dict[str, Any]]:
    rows = [
        {name: value for name, value in row.items() if not name.startswith("_")}
        for row in stream.published()
    ]
    return sorted(rows, key=lambda row: int(row["id"]))


def types(stream: Stream) -> dict[str, str]:
    table = stream.world.catalog.load_table((stream.name, "items"))
    return {f.name: str(f.field_type) for f in table.schema().fields if not f.name.startswith("_")}


def test_a_table_that_nothing_tells_of_is_refused_with_what_it_looks_like(world: World) -> None:
    """SCHEMA-1: a guess is nobody's but a person's."""
    stream = opened(world, "refuse")
    stream.send([postgres_row("c", 1, (5, 10), at=19_000, ok=True, w=0.5, doc={"a": 1}, gone=None)])
    with pytest.raises(
        TableStoppedError, match="no schema declares the columns of shop.items"
    ) as told:
        stream.cut()
    looks = '{"id": bigint, "name": text, "at": bigint, "ok": boolean, "w": double precision, '
    assert looks + '"doc": text, "gone": ?}' in str(told.value)
    assert "source.untyped takes them as they look" in str(told.value)


@pytest.mark.smoke
def test_types_are_inferred_from_all_values_of_a_cut_and_stand(world: World) -> None:
    """SCHEMA-1: a column without a value waits; what fits no more is quarantined."""
    stream = opened(world, "infer")
    stream.send(
        [
            postgres_row("c", 1, (5, 10), n=None, w=1, later=None, doc=UNAVAILABLE, flag=False),
            postgres_row(
                "c", 2, (5, 11), n=7, w=0.25, later=None, doc={"b": [1.5, "x"]}, flag=None
            ),
            postgres_row("c", 3, (5, 12), n=-(2**63), w=None, later=None, doc=None, flag=True),
        ]
    )
    (shown,) = preview_cut(stream.pipeline, world).tables
    expected = {"id": "bigint", "name": "text", "n": "bigint", "w": "double precision"}
    assert shown.inferred == expected | {"doc": "text", "flag": "boolean"}
    last = postgres_row("u", 1, (5, 13), n=None, w=1, later=None, doc="[1]", flag=False)
    stream.send([last, postgres_row("d", 9, (5, 14))])
    stream.cut()
    assert list(types(stream)) == list(expected) + ["doc", "flag"], "in the order of the records"
    assert published(stream) == [
        {"id": 1, "name": "x", "n": None, "w": 1.0, "doc": "[1]", "flag": False},
        {"id": 2, "name": "x", "n": 7, "w": 0.25, "doc": '{"b":[1.5,"x"]}', "flag": None},
        {"id": 3, "name": "x", "n": -(2**63), "w": None, "doc": None, "flag": True},
    ]
    same: dict[str, Any] = {"w": 2, "doc": "d", "flag": True}
    stream.send(
        [
            postgres_row("u", 1, (5, 20), n="half", later=5, **same),
            postgres_row("u", 2, (5, 21), n=8, later=6, **same),
        ]
    )
    result = stream.cut()
    assert result.quarantined == {"TYPE_MISMATCH": 1}
    assert types(stream)["later"] == "long"
    assert [(row["n"], row["later"]) for row in published(stream)] == [
        (None, None),
        (8, 6),
        (-(2**63), None),
    ]


def test_values_of_two_kinds_have_no_type(world: World) -> None:
    """SCHEMA-1: nor has an integer that no integer type of a target holds; a declared one has."""
    stream = opened(world, "infer")
    stream.send([postgres_row("c", 1, (5, 10), n=1), postgres_row("c", 2, (5, 11), n="two")])
    with pytest.raises(
        TableStoppedError, match="column n of shop.items, and its values are a text"
    ):
        stream.cut()
    stream.table = {"columns": {"n": "text"}}
    assert stream.cut().status is CutStatus.PUBLISHED
    assert [(row["id"], row["n"]) for row in published(stream)] == [(1, "1"), (2, "two")]
    large = opened(world, "infer")
    large.send([postgres_row("c", 1, (5, 10), n=2**63)])
    with pytest.raises(TableStoppedError, match="an integer of more than 64 bits"):
        large.cut()


def test_all_columns_may_be_texts(world: World) -> None:
    """SCHEMA-1: as they were written, also of MySQL, and those without a value."""
    source = {"untyped": "string"}
    stream = Stream(world, 1, "debezium-mysql", "none", source=source).create()
    record = debezium_row("c", 1, 10)
    change = json.loads(record.value or b"")
    change["after"] |= {"n": 1, "ok": True, "none": None}
    text = json.dumps(change).replace('"n": 1', '"n": 1.5')
    stream.send([replace(record, value=text.encode())])
    stream.cut()
    row = {"id": "1", "name": "x", "n": "1.5", "ok": "true", "none": None}
    assert published(stream) == [row]
    assert set(types(stream).values()) == {"string"}
