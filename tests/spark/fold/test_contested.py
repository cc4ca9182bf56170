"""Keys that rows share inside a transaction, against a plain-Python oracle (KEY-9)."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from tidemark.fold.contested import BEFORE, MOST, contested_keys, count_contested
from tidemark.fold.flags import mark_images
from tidemark.fold.latest import mark_latest, only_newest
from tidemark.fold.settled import beside_settled
from tidemark.fold.versions import mark_event_ids

FIELDS = (
    "row_key STRUCT<id: INT>, op STRING, begins BOOLEAN, transaction STRING, position STRING, "
    "part INT, partition INT, topic STRING, offset LONG, commit_time TIMESTAMP"
)
STEPS = {"c": 1, "u": 0, "d": -1}


class Event(NamedTuple):
    """A change of a key; transaction: None of a row that a snapshot read."""

    key: int
    kind: str
    transaction: str | None
    at: int


def frame(spark: SparkSession, events: list[Event]) -> DataFrame:
    """The events in any order, some of them twice: a copy has another offset."""
    rows = [
        (
            (event.key,),
            "D" if event.kind == "d" else "U",
            event.kind == "c",
            event.transaction,
            f"{event.at:08X}{offset:016X}",
            *(0, 0, "items", offset, None),
        )
        for offset, event in enumerate([*events, *events[::3]])
    ]
    return spark.createDataFrame(rows, FIELDS)


def oracle(events: list[Event]) -> dict[int, tuple[int, int | None]]:
    """Key -> the most rows that its last transaction gave it, and how many were there before."""
    found: dict[int, tuple[int, int | None]] = {}
    for key in {event.key for event in events}:
        own = [event for event in events if event.key == key]
        last = own[-1]
        taken = [event.transaction for event in own if event.kind == "c"]
        if last.kind != "d" or last.transaction is None or taken[-1:] != [last.transaction]:
            continue
        inside = [event for event in own if event.transaction == last.transaction]
        before = [event for event in own if event.transaction != last.transaction]
        counts = [sum(STEPS[event.kind] for event in inside[: n + 1]) for n in range(len(inside))]
        found[key] = (max(counts), int(before[-1].kind != "d") if before else None)
    return found


def history(rng: random.Random, number: int) -> list[Event]:
    """Transactions behind one another, and rows of a snapshot between them; two keys of its own."""
    events: list[Event] = []
    for transaction in range(rng.randint(1, 4)):
        name = None if rng.random() < 0.2 else f"{number}:{transaction}"
        for _ in range(rng.randint(1, 6)):
            kind = "u" if name is None else rng.choice("ccddu")
            events.append(Event(2 * number + rng.randrange(2), kind, name, 10 + len(events)))
    return events


def test_rows_of_a_key_are_counted(spark: SparkSession) -> None:
    rng = random.Random("contested")  # noqa: S311  repeatable, not secret
    events = [event for number in range(200) for event in history(rng, number)]
    expected = oracle(events)
    changes = frame(spark, events).repartition(2)
    keys = contested_keys(changes, F.col("transaction"), F.col("begins"))
    assert {row["row_key"]["id"]: (row[MOST], row[BEFORE]) for row in keys.collect()} == expected
    assert {before for _, before in expected.values()} == {None, 0, 1}
    assert {0, 1, 2} <= {most for most, _ in expected.values()}
    counted = Observation()
    count_contested(changes, "TRUE", counted).collect()
    assert len(expected) <= counted.get["keys"] < len({event.key for event in events})


def mark_each(changes: DataFrame, counts: str) -> DataFrame:
    return mark_event_ids(beside_settled(changes, None, F.lit(0).cast("long")), counts)


@pytest.mark.parametrize("mark", [mark_latest, mark_images, mark_each])
@pytest.mark.parametrize("counts", ["TRUE", "position > '0000000A'"])
def test_what_is_counted_is_not_shuffled_once_more(
    spark: SparkSession, tmp_path: Path, mark: Callable[[DataFrame, str], DataFrame], counts: str
) -> None:
    """Whole records are what a shuffle would carry."""
    frame(spark, history(random.Random(1), 0)).write.parquet(str(tmp_path / "changes"))  # noqa: S311
    changes = spark.read.parquet(str(tmp_path / "changes"))

    def shuffles(of: DataFrame) -> int:
        reduced = only_newest(mark(of, counts), Observation())
        return str(reduced._jdf.queryExecution().executedPlan()).count("Exchange hash")

    assert shuffles(changes) == 1
    assert shuffles(count_contested(changes, counts, Observation())) == 1
