"""The engine's own checks: every winner of a cut must stand in the staged snapshot as it should.

They run on every table of every cut, whatever suites say, and each is critical.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.model.columns import POSITION, STAGED_OP
from tidemark.model.event import Op
from tidemark.model.names import ColumnName
from tidemark.model.verdict import CheckResult, Severity


def check_winners(
    staged: DataFrame,
    table: DataFrame,
    key: Sequence[ColumnName],
) -> tuple[CheckResult, ...]:
    """Compare staged winners with the rows of the staged snapshot that have their keys.

    staged: key columns, STAGED_OP and POSITION, one row per key; table: key columns and POSITION.
    One Spark job; its cost follows the batch.
    """
    wanted = staged.select(
        *(F.col(f"`{name}`") for name in key),
        F.col(STAGED_OP).alias("_op"),
        F.col(POSITION).alias("_wanted"),
    )
    there = table.select(
        *(F.col(f"`{name}`").alias(f"_t{i}") for i, name in enumerate(key)),
        F.col(POSITION).alias("_found"),
    )
    same_key = [F.col(f"`{name}`") == F.col(f"_t{i}") for i, name in enumerate(key)]
    matched = (
        wanted.join(there, on=same_key, how="left")
        .groupBy(*(F.col(f"`{name}`") for name in key), "_op", "_wanted")
        .agg(F.count("_found").alias("rows"), F.max("_found").alias("newest"))
    )
    is_delete = F.col("_op") == Op.DELETE.value
    null_key = F.lit(False)
    for name in key:
        null_key = null_key | F.col(f"`{name}`").isNull()
    rules = {
        "no key is null": null_key,
        "no key stands twice": F.col("rows") > 1,
        "every upsert is there": ~is_delete & (F.col("rows") == 0),
        "no upsert is older than its change": ~is_delete & (F.col("newest") < F.col("_wanted")),
        "every delete is gone": is_delete & (F.col("newest") <= F.col("_wanted")),
    }
    counts = matched.agg(
        F.count(F.lit(1)).alias("keys"),
        *(F.count_if(violated).alias(name) for name, violated in rules.items()),
    ).collect()[0]
    return tuple(
        CheckResult(
            name, counts[name] == 0, Severity.CRITICAL, f"{counts[name]} of {counts['keys']} keys"
        )
        for name in rules
    )
