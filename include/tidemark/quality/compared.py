"""The check of a refolded target: it holds the rows of the target that it takes the place of."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.fold.comparable import comparable
from tidemark.model.names import SYSTEM_PREFIX, quote
from tidemark.model.verdict import CheckResult, Severity

ROW_HASH, ROWS = f"{SYSTEM_PREFIX}row_hash", f"{SYSTEM_PREFIX}rows"


def check_same_rows(before: DataFrame, now: DataFrame) -> CheckResult:
    """Compare all rows of two tables, in the columns that both have with one type.

    Equal rows count as often as they are there; rows are told apart by 64 bits of a hash. A
    difference is what a refold may be for, so that it warns and does not block. One action; its
    cost follows the tables.
    """
    types = {field.name: field.dataType for field in before.schema}
    shared = [
        field
        for field in now.schema
        if types.get(field.name) == field.dataType and not field.name.startswith(SYSTEM_PREFIX)
    ]
    values = [comparable(F.col(quote(field.name)), field.dataType) for field in shared]
    counted = (
        before.select(F.xxhash64(*values).alias(ROW_HASH), F.lit(1).alias(ROWS))
        .unionAll(now.select(F.xxhash64(*values).alias(ROW_HASH), F.lit(-1).alias(ROWS)))
        .groupBy(ROW_HASH)
        .agg(
            F.sum(ROWS).alias("more"),
            F.count_if(F.col(ROWS) == 1).alias("before"),
            F.count_if(F.col(ROWS) == -1).alias("now"),
        )
        .agg(
            *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("before", "now")),
            F.coalesce(F.sum(F.greatest("more", F.lit(0))), F.lit(0)).alias("gone"),
            F.coalesce(F.sum(F.greatest(-F.col("more"), F.lit(0))), F.lit(0)).alias("new"),
        )
        .collect()[0]
    )
    return CheckResult(
        "the rows are those of the target that is replaced",
        counted["gone"] == counted["new"] == 0,
        Severity.WARNING,
        f"{counted['before']} rows before and {counted['now']} now, in {len(shared)} columns: "
        f"{counted['gone']} only before, {counted['new']} only now",
    )
