"""The engine's checks of targets that keep more than the source's rows: versions, and changes.

Like those of `quality.checks`, they run on every cut, and each is critical.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from tidemark.model.columns import END_POSITION, OPERATION, POSITION, ROW, STAGED_OP, TableSchema
from tidemark.model.ends import End
from tidemark.model.event import Op
from tidemark.model.names import SYSTEM_PREFIX, quote
from tidemark.model.reduction import EVENT_ID
from tidemark.model.target_mode import Operation
from tidemark.model.verdict import CheckResult, Severity

_COLUMNS = ("actual", "following", "is_wanted", "what", "at", "rows", "point")
ACTUAL, FOLLOWING, IS_WANTED, WHAT, AT, ROWS, POINT = (
    f"{SYSTEM_PREFIX}{name}" for name in _COLUMNS
)
PLACES = (POSITION, END_POSITION)


def check_versions(
    staged: DataFrame, table: DataFrame, schema: TableSchema
) -> tuple[CheckResult, ...]:
    """Compare what was to begin and to end with all versions of the staged snapshot of its keys.

    staged: key columns, STAGED_OP, POSITION and END_POSITION; table: the key columns, POSITION and
    END_POSITION. Two actions; their cost follows the batch.
    """
    key = [F.col(quote(name)) for name in schema.key]
    there = table.select(*(k.alias(f"{ACTUAL}_{i}") for i, k in enumerate(key)), *PLACES)
    versions = _beside(there, staged.select(*key), schema)
    in_order = Window.partitionBy(*key).orderBy(POSITION)
    end, following = F.col(END_POSITION), F.col(FOLLOWING)
    placed = versions.withColumn(FOLLOWING, F.lead(POSITION).over(in_order))
    is_upsert = F.col(STAGED_OP) == Op.UPSERT.value
    wanted = _points(staged, key, is_upsert).withColumn(IS_WANTED, F.lit(1))
    actual = _points(versions, key, F.lit(True)).withColumn(IS_WANTED, F.lit(0))
    points = wanted.unionByName(actual).groupBy(*key, WHAT, AT)
    per_point = points.agg(
        F.max(IS_WANTED).alias(IS_WANTED),
        F.count_if(F.col(IS_WANTED) == 0).alias(ROWS),
    )
    is_missing = (F.col(IS_WANTED) == 1) & (F.col(ROWS) == 0)
    begins = F.col(WHAT) == "begin"
    return (
        *_counted(
            placed,
            {
                "no key has two open versions": end.isNull() & following.isNotNull(),
                "no versions of a key overlap": end > following,
            },
            "versions",
        ),
        *_counted(
            per_point,
            {
                "no key is null": F.greatest(*(k.isNull() for k in key), F.lit(False)),
                "every version is there": is_missing & begins,
                "no version is there twice": begins & (F.col(ROWS) > 1),
                "every end is there": is_missing & ~begins,
            },
            "begins and ends",
        ),
    )


def _points(versions: DataFrame, key: Sequence[Column], is_begun: Column) -> DataFrame:
    """Each begin and each end of versions, one a row."""
    begin = F.when(is_begun, F.struct(F.lit("begin").alias(WHAT), F.col(POSITION).alias(AT)))
    has_end = F.col(END_POSITION).isNotNull()
    end = F.when(has_end, F.struct(F.lit("end").alias(WHAT), F.col(END_POSITION).alias(AT)))
    points = F.explode(F.array_compact(F.array(begin, end))).alias(POINT)
    return versions.select(*key, points).select(*key, f"{POINT}.*")


def check_appended(staged: DataFrame, table: DataFrame) -> tuple[CheckResult, ...]:
    """Each staged change stands in the staged snapshot once. staged, table: ROW. One action."""
    actual = table.select(F.col(ROW).alias(ACTUAL))
    matched = staged.join(actual, F.col(ROW) == F.col(ACTUAL), "left").groupBy(ROW)
    return _counted(
        matched.agg(F.count(ACTUAL).alias(ROWS)),
        {
            "every change is there": F.col(ROWS) == 0,
            "no change stands twice": F.col(ROWS) > 1,
        },
        "changes",
    )


def check_truncates(table: DataFrame, ends: Sequence[End]) -> CheckResult:
    """Each of ``ends`` has a row of its own; table: a staged append target."""
    session = table.sparkSession
    positions = pa.array([end.position for end in ends], pa.string())
    truncates = session.createDataFrame(pa.table({"position": positions}))
    event_ids = truncates.select(F.expr(EVENT_ID).alias("event_id")).distinct()
    rows = table.where(F.col(OPERATION) == Operation.TRUNCATE.value).select(
        F.col(POSITION).alias("position")
    )
    actual = rows.select(F.expr(EVENT_ID).alias("actual"))
    per_event_id = event_ids.join(actual, F.col("event_id") == F.col("actual"), "left").groupBy(
        "event_id"
    )
    wrong = per_event_id.agg(F.count("actual").alias(ROWS)).where(F.col(ROWS) != 1).count()
    return CheckResult(
        "every truncate is there once", wrong == 0, Severity.CRITICAL, f"{wrong} truncates"
    )


def _beside(there: DataFrame, keys: DataFrame, schema: TableSchema) -> DataFrame:
    """The rows of ``there`` that have one of ``keys``, under the names of the key."""
    actual_key = [F.col(f"{ACTUAL}_{i}") for i in range(len(schema.key))]
    staged_key = [F.col(quote(name)) for name in schema.key]
    same = [actual == staged for actual, staged in zip(actual_key, staged_key, strict=True)]
    if len(staged_key) > 1:  # as in the merge: one column alone filters nothing
        same.append(F.xxhash64(*actual_key) == F.xxhash64(*staged_key))
    near = there.join(keys, same, "left_semi")
    named = (column.alias(name) for column, name in zip(actual_key, schema.key, strict=True))
    return near.select(*named, *PLACES)


def _counted(frame: DataFrame, rules: Mapping[str, Column], of: str) -> tuple[CheckResult, ...]:
    """How many rows of ``frame`` break each of ``rules``."""
    counts = frame.agg(
        F.count(F.lit(1)).alias("all"),
        *(F.count_if(broken).alias(name) for name, broken in rules.items()),
    ).collect()[0]
    return tuple(
        CheckResult(
            name, counts[name] == 0, Severity.CRITICAL, f"{counts[name]} of {counts['all']} {of}"
        )
        for name in rules
    )
