"""What a record is, by a word of its own: each format has a table of such words."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.model.event import Kind


def kind_of(word: Column, kinds: Mapping[str, Kind]) -> Column:
    """The kind that ``word`` stands for; null where it is null, or not among ``kinds``."""
    return F.coalesce(
        *(
            F.when(word.isin([code for code in kinds if kinds[code] is kind]), F.lit(kind.value))
            for kind in dict.fromkeys(kinds.values())
        )
    )
