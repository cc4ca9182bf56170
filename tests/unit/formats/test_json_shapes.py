"""Rows of records in which every name stands once; where one stands twice, nothing is read."""

from __future__ import annotations

import json
import random
from typing import Any

import msgspec
import pytest

from tidemark.formats.json_shapes import AfterDecoder

COLUMNS = {"id": int, "name": str, "odd name": float}


def record(**changed: Any) -> dict[str, Any]:
    row = {"id": 1, "name": "a", "odd name": 0.5, "gone": [1, "x"]}
    source = {"table": "items", "deep": {"pos": 7}}
    return {"before": None, "after": row, "source": source, "op": "c", "ts_ms": 3} | changed


def text(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def test_columns_come_in_their_order_and_absent_ones_are_null() -> None:
    decoder = AfterDecoder(COLUMNS)
    for _ in range(2):
        assert decoder.decode(text(record())) == (1, "a", 0.5)
        assert decoder.decode(text(record(after={"name": None, "id": 2}))) == (2, None, None)
        assert decoder.decode(text(record(after=None, before={"id": 3}))) is None
        assert decoder.decode(text({"op": "d"})) is None
        assert decoder.decode(text(record(other=[{"a": 1}, {"a": 2}]))) == (1, "a", 0.5)
        assert decoder.decode(text(record(other=[[1], []]))) == (1, "a", 0.5)


QUOTED = r'he said "a": b \ "c": \\" : ,'


def test_colons_and_quotes_in_texts_are_no_names() -> None:
    decoder = AfterDecoder(COLUMNS)
    for name in (QUOTED, "\\", '"', '":', "\n\t : ", '\\":'):
        row = {"id": 1, "name": name, "odd name": None, "gone": name}
        assert decoder.decode(text(record(after=row, before=row))) == (1, name, None)


@pytest.mark.parametrize(
    "twice",
    [
        b'"id":1,"id":1',
        b'"id":1,"id" :2',
        b'"id":1,\n"id"\n:2',
        b'"id":1,"gone":{"a":1,"a":2}',
        b'"id":1,"gone":[{"a":1,"a":2}]',
        b'"id":1,"gone":{"a\\\\":1,"a\\\\":2}',
        b'"id":1,"gone":[{"a\\\\":1,"a\\\\":2}]',
        rb'"id":1,"\u0069d":2',
    ],
)
def test_a_name_that_stands_twice_is_odd(twice: bytes) -> None:
    """POISON-1, MSG-4: also where as many names are expected, as another one is absent."""
    decoder = AfterDecoder(COLUMNS)
    for row in (
        {"id": 1},
        {"id": 1, "name": "a"},
        {"id": 1, "gone": {"a": 1}},
        {"id": 1, "gone": []},
    ):
        decoder.decode(text(record(after=row)))
    for part in ("after", "before", "source"):
        damaged = text(record(**{part: "HERE"})).replace(b'"HERE"', b"{" + twice + b"}")
        for _ in range(2):
            with pytest.raises((ValueError, msgspec.DecodeError)):
                decoder.decode(damaged)


def names(value: object) -> list[list[str]]:
    """Of each object."""
    if isinstance(value, list):
        return [one for inner in value for one in names(inner)]
    if not isinstance(value, Pairs):
        return []
    return [[name for name, _ in value], *(one for _, inner in value for one in names(inner))]


class Pairs(list[tuple[str, Any]]):
    """An object with all that stands in it."""


def drawn(chances: random.Random, depth: int = 0) -> str:
    """JSON of few names, some of them twice, and of texts that look like names."""
    kind = chances.randrange(7 if depth < 3 else 5)
    if kind == 5:
        pieces = (f'"{chances.choice(NAMES)}":{drawn(chances, depth + 1)}' for _ in range(3))
        inside = list(pieces)[: chances.randint(0, 3)]
        return f"{{{chances.choice((',', ', ')).join(inside)}}}"
    if kind == 6:
        inside = [drawn(chances, depth + 1) for _ in range(chances.randint(0, 2))]
        return f"[{','.join(inside)}]"
    return chances.choice(('"a"', r'"\":"', r'"x\\"', "7", "null", "true", '"b : "'))


NAMES = ("id", "name", "a", r"b\\", r"c\"", r"\":d", "after")


def test_nothing_is_read_that_stands_twice() -> None:
    """Against Python's own reader, which hands over every pair."""
    chances = random.Random(1)  # noqa: S311  the same each time
    decoder, read = AfterDecoder(dict.fromkeys(("id", "name"), msgspec.Raw)), 0
    for _ in range(30_000):
        row, other = drawn(chances, 0), drawn(chances, 0)
        damaged = f'{{"after":{row},"a":{other}}}'.encode()
        try:
            found = decoder.decode(damaged)
        except (ValueError, msgspec.DecodeError):
            continue
        read += 1
        pairs = json.loads(damaged, object_pairs_hook=Pairs)
        assert all(len(set(one)) == len(one) for one in names(pairs)), damaged
        assert (found is None) == (dict(pairs)["after"] is None)
    assert read > 3_000
