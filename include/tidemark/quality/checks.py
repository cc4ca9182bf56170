"""The engine's own checks: what a cut changed must stand in the staged snapshot as it should.

They run on every table of every cut, whatever suites say, and each is critical.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType

from tidemark.model.column_rules import Mask
from tidemark.model.columns import POSITION, STAGED_OP, SourceColumn, TableSchema
from tidemark.model.event import Op
from tidemark.model.names import SYSTEM_PREFIX, ColumnName, quote
from tidemark.model.position import Position
from tidemark.model.verdict import CheckResult, Severity

OP, WANTED, ACTUAL, STANDING, ROWS, NEWEST, IS_NULL = (
    f"{SYSTEM_PREFIX}{name}"
    for name in ("op", "wanted", "actual", "standing", "rows", "newest", "is_null")
)


def check_winners(
    staged: DataFrame,
    table: DataFrame,
    schema: TableSchema,
    written: int,
    removed: Position | None = None,
) -> tuple[CheckResult, ...]:
    """Compare staged winners with the rows of the staged snapshot that have their keys.

    staged: key columns, STAGED_OP and POSITION, one row per key; written: how many of them were
    counted when they were staged. table: the key columns, POSITION and the others of Tidemark's
    own. A delete is gone where no row of its key stands any more. removed: a snapshot in the same
    cut has taken away what is below it and in it no more, as `check_ended` sees. One action; its
    cost follows the batch.
    """
    key = schema.row_key
    wanted = staged.select(
        *(F.col(quote(name)) for name in key),
        F.col(STAGED_OP).alias(OP),
        F.col(POSITION).alias(WANTED),
    )
    there = table.select(
        *(F.col(quote(name)).alias(f"{ACTUAL}_{i}") for i, name in enumerate(key)),
        F.col(POSITION).alias(ACTUAL),
        F.when(F.expr(schema.stands), F.col(POSITION)).alias(STANDING),
    )
    same_key = [F.col(quote(name)) == F.col(f"{ACTUAL}_{i}") for i, name in enumerate(key)]
    if len(key) > 1:  # as in the merge: one column alone filters nothing
        both = ([quote(name) for name in key], [f"{ACTUAL}_{i}" for i in range(len(key))])
        wanted_hash, actual_hash = (F.xxhash64(*map(F.col, names)) for names in both)
        same_key.append(wanted_hash == actual_hash)
    matched = (
        wanted.join(there, on=same_key, how="left")
        .groupBy(*(F.col(quote(name)) for name in key), OP, WANTED)
        .agg(
            F.count(ACTUAL).alias(ROWS),
            F.max(ACTUAL).alias(NEWEST),
            F.max(STANDING).alias(STANDING),
        )
    )
    is_delete = F.col(OP) == Op.DELETE.value
    is_removed = F.lit(False) if removed is None else F.col(WANTED) < removed
    null_key = reduce(or_, (F.col(quote(name)).isNull() for name in key))
    rules = {
        "no key is null": null_key,
        "no key stands twice": F.col(ROWS) > 1,
        "every upsert is there": ~is_delete & ~is_removed & (F.col(ROWS) == 0),
        "no upsert is older than its change": ~is_delete & (F.col(NEWEST) < F.col(WANTED)),
        "every delete is gone": is_delete & (F.col(STANDING) <= F.col(WANTED)),
    }
    counts = matched.agg(
        F.count(F.lit(1)).alias("keys"),
        *(F.count_if(violated).alias(name) for name, violated in rules.items()),
    ).collect()[0]
    checks = (
        CheckResult(
            name, counts[name] == 0, Severity.CRITICAL, f"{counts[name]} of {counts['keys']} keys"
        )
        for name in rules
    )
    return (check_read(counts["keys"], written), *checks)


def check_read(read: int, written: int) -> CheckResult:
    """The checks saw every staged row; of rows that are not read, none breaks a rule."""
    return CheckResult(
        "every staged row is checked",
        read == written,
        Severity.CRITICAL,
        f"{read} of {written} staged rows",
    )


def check_retained(now: int, before: int) -> CheckResult:
    """A table that gets another name, or another type, has as many rows as before (SCHEMA-31)."""
    return CheckResult(
        "every row of before is there",
        now == before,
        Severity.CRITICAL,
        f"{now} rows, {before} before",
    )


def check_rewritten(before: DataFrame, after: DataFrame, old: str, new: str) -> CheckResult:
    """Every value that was rewritten is, in the type of before, what it was there (SCHEMA-13).

    Bytes are those of a BIT, which has more of them now, and zeros in front. before, after: the
    rows of two snapshots, with POSITION; old, new: names of the column.
    """
    kind = before.schema[old].dataType

    def fingerprint(rows: DataFrame, name: str) -> tuple[int, int]:
        stored = F.col(quote(name))
        is_bits = isinstance(kind, BinaryType)
        shown = F.ltrim(F.hex(stored), F.lit("0")) if is_bits else stored.try_cast(kind)
        value = F.xxhash64(POSITION, shown).cast("decimal(38,0)")
        count, hashes = rows.agg(F.count(F.lit(1)), F.sum(value)).collect()[0]
        return count, int(hashes or 0)

    was, now = fingerprint(before, old), fingerprint(after, new)
    return CheckResult(
        f"every value of column {new} that was rewritten is what it was",
        was == now,
        Severity.CRITICAL,
        f"{now[0]} rows, {was[0]} before" + ("" if was[1] == now[1] else ", of other values"),
    )


def check_key(table: DataFrame, key: Sequence[ColumnName]) -> tuple[CheckResult, ...]:
    """The columns that become the key tell the rows of ``table`` apart, all of them (KEY-16)."""
    columns = [F.col(quote(name)) for name in key]
    is_null = reduce(or_, (column.isNull() for column in columns))
    by_key = table.select(*columns, is_null.alias(IS_NULL)).groupBy(*columns, IS_NULL)
    counts = (
        by_key.agg(F.count(F.lit(1)).alias(ROWS))
        .agg(
            F.count_if(IS_NULL).alias("nulls"),
            F.count_if(~F.col(IS_NULL) & (F.col(ROWS) > 1)).alias("twice"),
        )
        .collect()[0]
    )
    violations = {"no new key is null": counts["nulls"], "no new key stands twice": counts["twice"]}
    return tuple(
        CheckResult(name, keys == 0, Severity.CRITICAL, f"{keys} keys")
        for name, keys in violations.items()
    )


def check_ended(table: DataFrame, ended_at: Position) -> CheckResult:
    """Nothing that the table's newest truncate or snapshot ended is left (TRUNC-2, SNAP-6).

    table: the staged snapshot. Files whose positions lie above are not read.
    """
    position = F.col(POSITION)
    left = table.where(position.isNull() | (position < ended_at)).count()
    return CheckResult(
        "no row is older than the truncate or snapshot",
        left == 0,
        Severity.CRITICAL,
        f"{left} rows",
    )


def changed_rows(
    table: DataFrame, written: DataFrame | None, schema: TableSchema, filled_below: Position | None
) -> DataFrame:
    """Rows of ``table``, of a staged snapshot, to which the cut gave values.

    written: row key and POSITION of the rows that it inserted or updated; None where there are
    none. filled_below: at and below it rows got a value in a column that joined (SCHEMA-14).
    """
    keys = [*schema.row_key, POSITION]
    inserted = table.limit(0) if written is None else table.join(written, on=keys, how="left_semi")
    if filled_below is None:
        return inserted
    is_filled = _is_older(filled_below) & F.expr(schema.holds_values)
    return table.where(is_filled).unionByName(inserted.where(~is_filled))


def _is_older(below: Position) -> Column:
    position = F.col(POSITION)
    return position.isNull() | (position <= below)


def check_filled(
    table: DataFrame, column: SourceColumn, value: str, below: Position
) -> CheckResult:
    """Rows that are older than ``column`` hold ``value``, and no other one (SCHEMA-14).

    Where the target masks the column, they hold what it has in place of that.
    """
    expected = F.lit(value).cast(column.iceberg)
    match column.mask:
        case Mask.HASH:
            expected = F.sha2(expected.cast("string"), 256)
        case Mask.REDACT:
            expected = F.lit(None)
    filled = F.col(quote(column.name)).eqNullSafe(expected)
    left = table.where(_is_older(below) & ~filled).count()
    return CheckResult(
        f"every row from before column {column.name} has its default",
        left == 0,
        Severity.CRITICAL,
        f"{left} rows",
    )
