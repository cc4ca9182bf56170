"""Names that stand twice in one JSON object, with different values (MSG-4, POISON-1).

Spark's reader of structs takes the last of them and says nothing. Its reader of variants refuses
such names, in the time of another reading, and its reader of maps keeps them all.

Written as SQL, as each part of a column that is made in Python is a call of the JVM.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

LEVELS = 4
"""How deep a record is read to compare what stands twice: to the structures in a row's columns."""


def contradicts(part: str) -> Column:
    """Whether a name has two values in an object of ``part``, never null.

    part: a column with JSON, as bytes or text. Below LEVELS equal values are taken for different
    ones.
    """
    return F.expr(_contradicts(f"CAST({part} AS STRING)"))


def key_contradicts(part: str) -> Column:
    """As `contradicts`, of short texts: most keys have one field, and one colon."""
    text = f"CAST({part} AS STRING)"
    has_many = f"substring_index({text}, ':', 2) != {text}"
    return F.expr(f"CASE WHEN {has_many} THEN {_contradicts(text)} ELSE FALSE END")


def _contradicts(text: str) -> str:
    # Of both sides of AND Spark computes what they share for every text; of a CASE it does not.
    return f"CASE WHEN {_has_twice(text)} THEN {_differs(text, LEVELS)} ELSE FALSE END"


def _has_twice(text: str) -> str:
    return f"{text} IS NOT NULL AND try_parse_json({text}) IS NULL"


def _differs(text: str, levels: int) -> str:
    """Of an object, a list, or anything else, which has nothing twice."""
    opens = f"left({text}, 1) IN ('{{', '[')"
    if levels == 0:
        return f"{opens} AND {_has_twice(text)}"
    fields, value = f"from_json({text}, 'MAP<STRING, STRING>')", f"value_{levels}"
    pairs, names = f"array_distinct(map_entries({fields}))", f"array_distinct(map_keys({fields}))"
    values = f"coalesce(map_values({fields}), from_json({text}, 'ARRAY<STRING>'))"
    inside = f"exists({values}, {value} -> {_differs(value, levels - 1)})"
    return f"coalesce(size({pairs}) > size({names}) OR {inside}, FALSE)"
