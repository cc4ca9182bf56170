"""Names that stand twice in an object, against a reading in Python that keeps every pair."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tidemark.formats.contradictions import LEVELS, contradicts, key_contradicts

TEXTS = 2_000
NAMES = ("a", "b", "c d", "\u00e9", "payload")
SCALARS = ("0", "1", "-2.50", "true", "null", '"x"', '"{"', '"[1, 2]"', '"\\ud83d\\ude00"', '""')


def an_object(rng: random.Random, levels: int) -> str:
    """An object as text, in which names stand twice now and then."""
    pairs = [f"{json.dumps(rng.choice(NAMES))}:{a_value(rng, levels)}" for _ in range(3)]
    if rng.random() < 1 / 4:
        pairs.append(pairs[0])
    return "{" + rng.choice((",", " , ")).join(pairs[rng.randrange(3) :]) + "}"


def a_value(rng: random.Random, levels: int) -> str:
    kind = rng.random()
    if levels == 0 or kind < 1 / 2:
        return rng.choice(SCALARS)
    if kind < 3 / 4:
        return an_object(rng, levels - 1)
    return "[" + ",".join(a_value(rng, levels - 1) for _ in range(rng.randrange(3))) + "]"


def has_two_values(text: str) -> bool:
    found = False

    def read(pairs: list[tuple[str, Any]]) -> Any:
        nonlocal found
        values: dict[str, set[str]] = {}
        for name, value in pairs:
            values.setdefault(name, set()).add(repr(value))
        found = found or any(len(distinct) > 1 for distinct in values.values())
        return tuple(pairs)

    json.loads(text, object_pairs_hook=read)
    return found


def test_a_name_with_two_values_is_found_at_every_level(spark: SparkSession) -> None:
    """MSG-4: and no other name; equal values are one."""
    rng = random.Random(4)  # noqa: S311  repeatable, not secret
    texts = [an_object(rng, LEVELS - 2) for _ in range(TEXTS)]
    frame = spark.createDataFrame([(text,) for text in texts], "value STRING")
    found = {row[0]: row[1] for row in frame.select("value", contradicts("value")).collect()}
    expected = {text: has_two_values(text) for text in texts}
    assert found == expected
    assert len(set(expected.values())) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(None, False, id="no text"),
        pytest.param('{"a":1}', False, id="one name"),
        pytest.param('{"a":1,"a":1}', False, id="the same twice"),
        pytest.param('{"a":1,"a":2}', True, id="two values"),
        pytest.param('{"a":{"b":1},"a":{"b":2}}', True, id="two objects"),
        pytest.param('{"a":"{\\"b\\":1,\\"b\\":2}"}', False, id="an object inside a text"),
        pytest.param('{"a":' * LEVELS + '{"b":1,"b":2}' + "}" * LEVELS, True, id="deep"),
        pytest.param('{"a":' * 60 + '{"b":1,"b":1}' + "}" * 60, True, id="too deep to compare"),
        pytest.param(
            '{"a":' * 60 + '{"b":1,"c":1}' + "}" * 60, False, id="deep, and nothing twice"
        ),
    ],
)
def test_a_text_contradicts_itself(
    spark: SparkSession, text: str | None, *, expected: bool
) -> None:
    """MSG-4, POISON-1."""
    frame = spark.createDataFrame([(text,)], "value STRING")
    assert tuple(frame.select(contradicts("value"), key_contradicts("value")).first() or ()) == (
        expected,
        expected,
    )
