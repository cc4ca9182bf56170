"""The fold's rules on a real session, in the words of the domain, against a plain-Python oracle.

An event is written ``<op><key>@<position>``: ``u1@20=b`` makes row 1 hold b, ``d1@20`` ends it,
``r1@20=b`` is what an incremental snapshot read. Rules POS-13, TRUNC-2, TRUNC-4, SNAP-7 and DUP-2.
"""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidemark.fold.latest import latest_events
from tidemark.model.position import Position
from tidemark.model.reduction import above_truncate

EVENT = re.compile(r"([udtr])(\d*)@(\d+)(?:=(\w+))?")


def parse(events: str) -> list[tuple[str, str, str, str | None, int, int]]:
    """(op, key, position, value, partition, part) of each event; its number is its offset."""
    rows = []
    for offset, text in enumerate(events.split()):
        match = EVENT.fullmatch(text)
        assert match is not None, text
        op, key, at, value = match.groups()
        rows.append((op, key, f"{int(at):08X}{offset:016X}", value, 0, 0))
    return rows


def fold(spark: SparkSession, events: str, window_bound: int = 0) -> dict[str, str]:
    """Rows that are left, by the code under test; guard: below it rows that were read fall."""
    rows = parse(events)
    truncates = [Position(position) for op, _, position, *_ in rows if op == "t"]
    frame = spark.createDataFrame(
        [row for row in rows if row[0] != "t"],
        "op STRING, k STRING, position STRING, v STRING, partition INT, part INT",
    )
    is_read = F.col("op") == "r"
    changes = frame.withColumn("row_key", F.struct("k")).withColumn(
        "snapshot", F.when(is_read, "incremental")
    )
    below = Position(f"{window_bound:08X}") if window_bound else None
    counts = above_truncate(max(truncates, default=None), below)
    newest = changes.transform(latest_events, counts)
    return {row["k"]: row["v"] for row in newest.where("op <> 'd'").collect()}


def test_an_update_that_leaves_a_key_is_below_the_one_that_takes_it(spark: SparkSession) -> None:
    """POS-10, KEY-8: rows 1 and 2 become 2 and 3 in one commit of TiCDC, one update each."""
    halves = [
        ("D" if part == 0 else "U", f"{number + part}", 10 + number, part)
        for number in (1, 2)
        for part in (0, 1)
    ]
    rows = [
        (op, key, f"0001{7:016X}1{0:04X}{offset:016X}", 0, part) for op, key, offset, part in halves
    ]
    frame = spark.createDataFrame(
        rows, "op STRING, k STRING, position STRING, partition INT, part INT"
    )
    changes = frame.withColumn("row_key", F.struct("k"))
    newest = changes.transform(latest_events, "TRUE").collect()
    assert {row["k"]: row["op"] for row in newest} == {"1": "D", "2": "U", "3": "U"}


def replay(events: str) -> dict[str, str]:
    """Rows that are left, by replaying the source's order."""
    left: dict[str, str] = {}
    for op, key, _, value, *_ in sorted(parse(events), key=lambda row: row[2]):
        if op == "t":
            left.clear()
        elif op == "d":
            left.pop(key, None)
        else:
            assert value is not None
            left[key] = value
    return left


@pytest.mark.parametrize(
    ("events", "rows"),
    [
        pytest.param("u1@10=a u1@20=b", {"1": "b"}, id="later change wins"),
        pytest.param("u1@20=b u1@10=a", {"1": "b"}, id="arrival order does not matter"),
        pytest.param("u1@10=a u1@20=b u1@10=a", {"1": "b"}, id="redelivery changes nothing"),
        pytest.param("u1@10=a d1@20 u1@10=a", {}, id="a repeated insert raises no deleted row"),
        pytest.param("u1@10=a u1@10=b", {"1": "b"}, id="the later copy of one place wins"),
        pytest.param("u2@30=b t@20 u1@10=a", {"2": "b"}, id="truncate holds in any arrival order"),
        pytest.param(
            "t@20 t@10 u1@15=a u2@25=b", {"2": "b"}, id="only the greatest truncate counts"
        ),
        pytest.param("u1@10=a t@20", {}, id="truncate ends everything below"),
    ],
)
def test_fold(spark: SparkSession, events: str, rows: dict[str, str]) -> None:
    assert fold(spark, events) == rows


@pytest.mark.parametrize(
    ("events", "rows"),
    [
        pytest.param("t@20 r1@40=a", {}, id="what was read before the truncate falls"),
        pytest.param("t@20 u1@30=b r1@40=a", {"1": "b"}, id="and not the change below it"),
        pytest.param("t@20 u1@30=b d1@35 r1@40=a", {}, id="nor the delete below it"),
        pytest.param("t@20 u1@30=b r1@60=a", {"1": "a"}, id="what was read behind it is newer"),
    ],
)
def test_rows_of_an_incremental_snapshot(
    spark: SparkSession, events: str, rows: dict[str, str]
) -> None:
    assert fold(spark, events, window_bound=50) == rows


HISTORIES = st.lists(
    st.one_of(
        st.tuples(st.just("u"), st.integers(1, 4), st.sampled_from("abc")),
        st.tuples(st.just("d"), st.integers(1, 4)),
        st.tuples(st.just("t")),
    ),
    min_size=1,
    max_size=12,
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(history=HISTORIES, seed=st.integers(0, 999))
def test_any_order_and_any_repeats_give_what_the_source_holds(
    spark: SparkSession, history: list[tuple[str, ...]], seed: int
) -> None:
    words = []
    for at, (op, *rest) in enumerate(history, start=1):
        key = str(rest[0]) if rest else ""
        value = f"={rest[1]}" if len(rest) > 1 else ""
        words.append(f"{op}{key}@{at}{value}")
    expected = replay(" ".join(words))
    shuffler = random.Random(seed)  # noqa: S311 an order, no secret
    delivered = words + shuffler.sample(words, k=len(words) // 2)
    shuffler.shuffle(delivered)
    assert fold(spark, " ".join(delivered)) == expected
