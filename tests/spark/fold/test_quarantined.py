"""What keys become without the changes that cannot be applied, and what is tried again."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession

from tidemark.fold.quarantined import APPLICABLE, QUARANTINED, decided
from tidemark.fold.replayed import not_overtaken
from tidemark.model.columns import CHANGE, CONVERSION_ERROR, POSITION, UNAVAILABLE
from tidemark.model.names import ColumnName

TYPED = (
    f"`a``b` INT, is_kept INT, {POSITION} STRING, {CONVERSION_ERROR} STRING, {UNAVAILABLE} "
    f"ARRAY<STRING>, "
    f"{CHANGE} STRUCT<part: INT, partition: INT, number: INT>"
)
KEY = (ColumnName("a`b"), ColumnName("is_kept"))
CHANGES = "row_key STRUCT<id: INT>, position STRING, op STRING, number INT"


def test_a_key_becomes_what_its_newest_good_change_tells(spark: SparkSession) -> None:
    """POISON-4, UNAV-7: against a few lines of Python; keys that are null are keys as well."""
    chance = random.Random(7)  # noqa: S311  reproducible, not secret
    changes = []
    for number in range(600):
        key = (chance.choice([None, 1, 2]), chance.randrange(30))
        conversion_error = chance.choice([None, None, "n"])
        unavailable = chance.choice([None, None, None, ["n"]])
        at = (f"{chance.randrange(40):04}", chance.randrange(2), number)
        changes.append((*key, at[0], conversion_error, unavailable, (*at[1:], number)))
    rows = decided(spark.createDataFrame(changes, TYPED), KEY).collect()

    kept, aside = set(), set()
    for key in {change[:2] for change in changes}:
        own = sorted((c for c in changes if c[:2] == key), key=lambda c: (c[2], c[5]), reverse=True)
        above = True
        for change in own:
            good = change[3] is None and change[4] is None
            if above and good:
                kept.add(change[5][2])
                above = False
            elif above:
                aside.add(change[5][2])
    assert {row[CHANGE]["number"] for row in rows if row[APPLICABLE]} == kept
    assert {row[CHANGE]["number"] for row in rows if row[QUARANTINED]} == aside
    assert len(rows) == len(changes)
    assert min(len(kept), len(aside)) > 0


def binlog(pos: int, offset: int) -> str:
    return f"0001{9:08X}{pos:016X}1{offset:016X}"


def postgres(commit: int, lsn: int, offset: int) -> str:
    return f"0001{commit:016X}1{lsn:016X}{offset:016X}"


def by_offset(offset: int) -> str:
    return f"0001{offset:016X}"


@pytest.mark.parametrize(
    ("again", "later", "stays"),
    [
        pytest.param(("U", binlog(10, 1)), [], True, id="nothing came after it"),
        pytest.param(("U", binlog(10, 1)), [("D", binlog(20, 2))], False, id="its row is deleted"),
        pytest.param(("U", binlog(10, 1)), [("U", binlog(20, 2))], False, id="a newer change"),
        pytest.param(("U", binlog(10, 5)), [("U", binlog(9, 8))], True, id="an older one, again"),
        pytest.param(("U", binlog(10, 1)), [("U", binlog(10, 9))], True, id="a copy of itself"),
        pytest.param(
            ("U", binlog(10, 1)), [("D", binlog(10, 2))], False, id="deleted at the same place"
        ),
        pytest.param(("D", binlog(10, 1)), [("D", binlog(10, 7))], True, id="a copy of a delete"),
        pytest.param(
            ("U", postgres(5, 8, 1)), [("U", postgres(7, 8, 9))], True, id="knows another commit"
        ),
        pytest.param(("U", postgres(5, 8, 1)), [("D", postgres(9, 12, 4))], False, id="LSN"),
        pytest.param(("U", by_offset(3)), [("U", by_offset(4))], False, id="by offset"),
    ],
)
def test_what_was_overtaken_changes_nothing(
    spark: SparkSession, again: tuple[str, str], later: list[tuple[str, str]], *, stays: bool
) -> None:
    """POISON-4, POS-13, POS-14: a row that was deleted since does not come back."""
    tried = spark.createDataFrame([((1,), again[1], again[0], 0)], CHANGES)
    other = ((2,), binlog(99, 99), "D", 9)
    settled = spark.createDataFrame([other, *(((1,), at, op, 1) for op, at in later)], CHANGES)
    assert [row["number"] for row in not_overtaken(tried, settled).collect()] == [0] * stays


def test_keys_that_could_not_be_read_do_not_overtake_each_other(spark: SparkSession) -> None:
    """POISON-4."""
    tried = spark.createDataFrame([((None,), binlog(10, 1), "U", 0)], CHANGES)
    settled = spark.createDataFrame([((None,), binlog(20, 2), "U", 1)], CHANGES)
    assert not_overtaken(tried, settled).count() == 1
