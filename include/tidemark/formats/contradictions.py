"""Names that stand twice in one JSON object, with different values (MSG-4, POISON-1).

Spark's reader of structs takes the last of them and says nothing. Its reader of variants refuses
such names, in the time of another reading, and its reader of maps keeps them all.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

LEVELS = 6
"""How deep a record is read to compare what stands twice: to the fields of structures in a row."""
_OPENS = r"^\s*[\[{]"


def contradicts(text: Column) -> Column:
    """Whether a name has two values in an object of ``text``, which is JSON; never null.

    Below LEVELS equal values are taken for different ones.
    """
    # Of both sides of `&` Spark computes what they share for every text.
    return F.coalesce(F.when(_has_twice(text), _differs(text, LEVELS)), F.lit(False))


def key_contradicts(text: Column) -> Column:
    """As `contradicts`, of short texts: most keys have one field, and one colon."""
    has_many = F.substring_index(text, ":", 2) != text
    return F.coalesce(F.when(has_many, contradicts(text)), F.lit(False))


def _has_twice(text: Column) -> Column:
    return text.isNotNull() & F.try_parse_json(text).isNull()


def _differs(text: Column, levels: int) -> Column:
    if levels == 0:
        return F.when(text.rlike(_OPENS), _has_twice(text)).otherwise(F.lit(False))
    fields = F.from_json(text, "MAP<STRING, STRING>")
    # Of a field in which nothing stands twice, no level below is read.
    inside = F.filter(
        F.coalesce(F.map_values(fields), F.from_json(text, "ARRAY<STRING>")),
        lambda value: value.rlike(_OPENS),
    )
    pairs, names = F.array_distinct(F.map_entries(fields)), F.array_distinct(F.map_keys(fields))
    here = F.coalesce(F.size(pairs) > F.size(names), F.lit(False))
    return here | F.exists(inside, lambda value: _differs(value, levels - 1))
