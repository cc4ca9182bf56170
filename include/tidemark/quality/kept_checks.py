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

_OWN = ("found", "following", "is_wanted", "what", "at", "rows", "point")
FOUND, FOLLOWING, IS_WANTED, WHAT, AT, ROWS, POINT = (f"{SYSTEM_PREFIX}{name}" for name in _OWN)
PLACES = (POSITION, END_POSITION)


def check_versions(
    staged: DataFrame, table: DataFrame, schema: TableSchema
) -> tuple[CheckResult, ...]:
    """Compare what was to begin and to end with all versions of the staged snapshot of its keys.

    staged: key columns, STAGED_OP, POSITION and END_POSITION; table: the key columns, POSITION and
    END_POSITION. Two actions; their cost follows the batch.
    """
    key = [F.col(quote(name)) for name in schema.key]
    there = table.select(*(k.alias(f"{FOUND}_{i}") for i, k in enumerate(key)), *PLACES)
    versions = _beside(there, staged.select(*key), schema)
    in_order = Window.partitionBy(*key).orderBy(POSITION)
    end, following = F.col(END_POSITION), F.col(FOLLOWING)
    placed = versions.withColumn(FOLLOWING, F.lead(POSITION).over(in_order))
    is_upsert = F.col(STAGED_OP) == Op.UPSERT.value
    wanted = _points(staged, key, is_upsert).withColumn(IS_WANTED, F.lit(1))
    found = _points(versions, key, F.lit(True)).withColumn(IS_WANTED, F.lit(0))
    points = wanted.unionByName(found).groupBy(*key, WHAT, AT)
    told = points.agg(
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
            told,
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
    found = table.select(F.col(ROW).alias(FOUND))
    matched = staged.join(found, F.col(ROW) == F.col(FOUND), "left").groupBy(ROW)
    return _counted(
        matched.agg(F.count(FOUND).alias(ROWS)),
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
    told = session.createDataFrame(pa.table({"position": positions}))
    event_ids = told.select(F.expr(EVENT_ID).alias("event_id")).distinct()
    rows = table.where(F.col(OPERATION) == Operation.TRUNCATE.value).select(
        F.col(POSITION).alias("position")
    )
    found = rows.select(F.expr(EVENT_ID).alias("found"))
    per_event_id = event_ids.join(found, F.col("event_id") == F.col("found"), "left").groupBy(
        "event_id"
    )
    wrong = per_event_id.agg(F.count("found").alias(ROWS)).where(F.col(ROWS) != 1).count()
    return CheckResult(
        "every truncate is there once", wrong == 0, Severity.CRITICAL, f"{wrong} truncates"
    )


def _beside(there: DataFrame, keys: DataFrame, schema: TableSchema) -> DataFrame:
    """The rows of ``there`` that have one of ``keys``, under the names of the key."""
    found = [F.col(f"{FOUND}_{i}") for i in range(len(schema.key))]
    own = [F.col(quote(name)) for name in schema.key]
    same = [one == other for one, other in zip(found, own, strict=True)]
    if len(own) > 1:  # as in the merge: one column alone filters nothing
        same.append(F.xxhash64(*found) == F.xxhash64(*own))
    near = there.join(keys, same, "left_semi")
    named = (one.alias(name) for one, name in zip(found, schema.key, strict=True))
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
