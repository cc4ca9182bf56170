"""Texts of a column as records hold them, and what has to be read from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidemark.formats.values import conversion_error, typed
from tidemark.model.columns import SourceColumn, ValueEncoding
from tidemark.model.names import ColumnName


def column(
    iceberg: str, wire: ValueEncoding, digits: int = 0, zone: str = "", labels: tuple[str, ...] = ()
) -> SourceColumn:
    """A column whose records are read as ``wire`` says."""
    return SourceColumn(ColumnName("c"), iceberg, wire, "", digits, zone, labels)


@dataclass(frozen=True)
class Reading:
    """Texts of one column and what must be read from them; ``...`` where they are misread."""

    column: SourceColumn
    cases: Sequence[tuple[str | None, Any]]


def encoded(
    of: SourceColumn,
    values: Sequence[Any],
    encode: Callable[[Any], str],
    show: Callable[[Any], Any] = lambda value: value,
) -> Reading:
    """``values`` as a source encodes them, and as they are to be shown."""
    return Reading(of, [(encode(value), show(value)) for value in values])


def refused(of: SourceColumn, *texts: str) -> Reading:
    """Texts that are no values of the column."""
    return Reading(of, [(text, ...) for text in texts])


def check(spark: SparkSession, *readings: Reading) -> None:
    """Read all ``readings`` side by side in one action."""
    texts = zip_longest(*([text for text, _ in reading.cases] for reading in readings))
    names = [f"raw{n}" for n in range(len(readings))]
    fields = ", ".join(f"{name} STRING" for name in names)
    raws = spark.createDataFrame(list(enumerate(texts)), "n INT, raws STRUCT<" + fields + ">")
    values = raws.select(
        "n",
        "raws",
        *(
            typed(F.col("raws")[name], r.column).alias(name)
            for name, r in zip(names, readings, strict=True)
        ),
    )
    found = values.select(
        "n",
        *names,
        *(
            conversion_error(F.col("raws")[name], F.col(name), r.column).alias(f"lost_{name}")
            for name, r in zip(names, readings, strict=True)
        ),
    )
    rows = sorted(found.collect(), key=lambda row: row["n"])
    for name, reading in zip(names, readings, strict=True):
        assert found.schema[name].dataType.simpleString() == reading.column.iceberg
        got = [... if row[f"lost_{name}"] else row[name] for row in rows]
        pairs = zip(reading.cases, got, strict=False)
        wrong = [(text, wanted, value) for (text, wanted), value in pairs if wanted != value]
        assert not wrong[:5], reading.column


def drawn(strategy: st.SearchStrategy[Any], extremes: Sequence[Any], count: int = 300) -> list[Any]:
    """``extremes`` and values of ``strategy``, to be read in one action."""
    found: list[Any] = list(extremes)

    @settings(
        max_examples=count,
        database=None,
        phases=[Phase.generate],
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return found
