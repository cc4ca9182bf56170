"""Numbers of JSON as texts: every digit of them, and nothing of what stands in texts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from tests.support.readings import drawn
from tidemark.formats.number_tokens import pointed, unrounded

TOKENS = st.one_of(
    st.integers(-(10**40), 10**40).map(str),
    st.decimals(allow_nan=False, allow_infinity=False).map(str).filter(str.isascii),
    st.sampled_from(["0", "-0", "1E-7", "1.5e+30", "-2.50E9", "0.10000000000000000000000001"]),
)
TEXTS = st.text(st.sampled_from('0123456789.-eE:,[]{}"\\/ \n\taß'), max_size=20).map(json.dumps)
LEAVES = st.one_of(TOKENS, TEXTS, st.sampled_from(["null", "true", "false"]))


def written(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Arrays and objects in JSON, with and without blanks."""
    separators = st.sampled_from([",", ", ", " ,\n"])
    pairs = st.tuples(TEXTS, st.sampled_from([":", ": ", " :\t"]), inner).map("".join)
    return st.one_of(
        st.tuples(separators, st.lists(inner, max_size=4)).map(lambda a: f"[{a[0].join(a[1])}]"),
        st.tuples(separators, st.lists(pairs, max_size=4)).map(lambda o: f"{{{o[0].join(o[1])}}}"),
    )


DOCUMENTS = drawn(
    written(st.recursive(LEAVES, written, max_leaves=8)),
    ['{"a":"it is \\"1.5\\", \\\\","b":-1.50}', "[NaN,-Infinity,7]", "[]", '{"a":"\\\\"}'],
)


def pairs(text: str, number: Callable[[str], Any]) -> Any:
    """``text`` with ``number`` of every token, its objects as lists: names may come twice."""
    return json.loads(text, parse_int=number, parse_float=number, object_pairs_hook=list)


class Fraction(str):
    """The token of a number with a point or an exponent."""


def named_fractions(text: str) -> list[Fraction]:
    """Those of ``text`` that stand behind a name, as columns do."""
    found: list[Fraction] = []

    def look(pairs: list[tuple[str, Any]]) -> None:
        found.extend(value for _, value in pairs if isinstance(value, Fraction))

    json.loads(text, parse_float=Fraction, object_pairs_hook=look)
    return found


def texts(spark: SparkSession, change: Callable[[Column], Column], *values: str) -> list[str]:
    rows = spark.createDataFrame(list(enumerate(values)), "n INT, text STRING")
    found = rows.select("n", change(F.col("text")).alias("text")).collect()
    return [row["text"] for row in sorted(found, key=lambda row: row["n"])]


def with_point(token: str) -> str:
    size = re.split("[eE]", token)[0]
    return f"{size}{'' if '.' in size else '.'}{token[len(size) :]}"


def test_every_number_gets_a_point_and_keeps_its_digits(spark: SparkSession) -> None:
    """MSG-4."""
    for before, after in zip(DOCUMENTS, texts(spark, pointed, *DOCUMENTS), strict=True):
        assert repr(pairs(after, float)) == repr(pairs(before, with_point)), before


def test_numbers_are_texts_where_one_of_them_would_be_rounded(spark: SparkSession) -> None:
    """MSG-4, TYPE-9."""
    changed = 0
    for before, after in zip(DOCUMENTS, texts(spark, unrounded, *DOCUMENTS), strict=True):
        if after == before:
            assert not named_fractions(before), before
            continue
        changed += 1
        assert repr(pairs(after, float)) == repr(pairs(before, str)), before
    assert changed > 30


def test_long_texts_are_passed_over_without_recursion(spark: SparkSession) -> None:
    """POISON-6: a record has up to 16 MiB."""
    text, blanks = "x\\n" * 1_000_000, " " * 1_000_000
    listed = ",".join(["1.5"] * 200_000)
    value = f'{{"a":"{text}",{blanks}"b":[{listed}],"c":-1.25}}'
    (found,) = texts(spark, pointed, value)
    assert found == value.replace(listed, ",".join(['"1.5"'] * 200_000)).replace("-1.25", '"-1.25"')
