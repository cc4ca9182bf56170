"""Winners on their way to the merge: Parquet files of one attempt, written once, scanned plainly.

The merge must read a plain scan, be it under a name of its own: a window or a cached frame as its
source costs the runtime Bloom filter (docs/adr/0002-one-guarded-merge.md).
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidemark.errors import StorageError
from tidemark.lake.catalog import TableId
from tidemark.lake.refs import ATTEMPT_REF
from tidemark.model.columns import (
    LEFT_OUT,
    MISREAD,
    STAGED_KEY_HASH,
    STAGED_MISREAD,
    STAGED_OP,
    STAGED_PARTIAL,
    STAGED_UNFILLED,
    UNRESOLVED,
    TableSchema,
)
from tidemark.model.event import Op
from tidemark.model.names import SYSTEM_PREFIX, PipelineName, quote
from tidemark.model.target_mode import TargetMode

WRITTEN: Mapping[str, Any] = {"compression": "lz4_raw", "parquet.enable.dictionary": False}
"""The files are read by the merge and the audit, then removed: what they cost is the writing."""


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Staged winners of one table: the folder, and what is in it.

    misread: a column whose value did not fit its type, None when all did; misread_rows: in how
    many rows. partial: rows of which values are still to be found. Neither are upserts, nor
    deletes. columns: of the files, so that nobody has to ask them.
    """

    folder: str
    columns: StructType
    upserts: int
    deletes: int
    misread: str | None
    misread_rows: int
    partial: int

    @property
    def rows(self) -> int:
        """How many keys change."""
        return self.upserts + self.deletes


def staged_folder(state: Path, pipeline: PipelineName) -> Path:
    """Where attempts of a pipeline stage their rows, each in a folder named like its branch."""
    return state / "staged" / pipeline


def stage_rows(folder: Path, target: TableId, rows: DataFrame, schema: TableSchema) -> StagedRows:
    """Write typed winners (`formats.rows.typed_rows`) for the merge, and count them on the way."""
    path = folder / _digest(str(target))
    counted = Observation()
    op = F.col(STAGED_OP)
    is_partial = F.col(LEFT_OUT).isNotNull()
    if schema.mode is TargetMode.APPEND and schema.key:
        is_partial = F.lit(False)  # A change says what it leaves out.
    is_misread = F.col(MISREAD).isNotNull()
    if not schema.key:
        is_misread = is_misread & ~is_partial  # Where a row is not whole, its image may be missing.
    marked = F.when(is_misread, STAGED_MISREAD).when(is_partial, STAGED_PARTIAL).otherwise(op)
    # With `count_if` Spark would write each row once more, to drop the column of its condition.
    observed = rows.withColumn(STAGED_OP, marked).observe(
        counted,
        F.count(F.when(op == Op.UPSERT.value, 1)).alias("upserts"),
        F.count(F.when(op == Op.DELETE.value, 1)).alias("deletes"),
        F.max(MISREAD).alias("misread"),
        F.count(MISREAD).alias("misread_rows"),
        F.count(F.when(op == STAGED_PARTIAL, 1)).alias("partial"),
    )
    staged = _hashed(observed.drop(MISREAD), schema)
    staged.write.options(**WRITTEN).parquet(str(path))
    return StagedRows(str(path), staged.schema, **counted.get)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _hashed(rows: DataFrame, schema: TableSchema) -> DataFrame:
    if len(schema.key) <= 1:
        return rows
    hashed = F.xxhash64(*(F.col(quote(name)) for name in schema.key))
    return rows.withColumn(STAGED_KEY_HASH, hashed)


def read_staged(session: SparkSession, rows: StagedRows) -> DataFrame:
    """What `stage_rows` wrote."""
    return session.read.schema(rows.columns).parquet(rows.folder)


@contextmanager
def named_staged(session: SparkSession, rows: StagedRows) -> Iterator[str]:
    """A name of the session, for a statement, for what `stage_rows` wrote; for the length of it.

    Where a statement names a folder, Spark reads the columns from its files, by a job of its own.
    """
    name = f"{SYSTEM_PREFIX}staged_{_digest(rows.folder)}"  # no other attempt's, nor target's
    read_staged(session, rows).createOrReplaceTempView(name)
    try:
        yield name
    finally:
        session.catalog.dropTempView(name)


def read_partial(session: SparkSession, rows: StagedRows) -> DataFrame:
    """The rows of which values are still to be found; LEFT_OUT names their columns."""
    return read_staged(session, rows).where(F.col(STAGED_OP) == STAGED_PARTIAL)


def read_marked(session: SparkSession, rows: StagedRows, mark: str) -> DataFrame:
    """Rows whose changes cannot be applied; mark: STAGED_MISREAD, STAGED_UNFILLED once filled."""
    return read_staged(session, rows).where(F.col(STAGED_OP) == mark)


def add_filled(rows: StagedRows, filled: DataFrame) -> tuple[StagedRows, str | None]:
    """Write what became of the partial rows (`fold.unchanged.filled`) beside the others.

    Returns what is staged now, where misread and partial are those that could not be filled, and
    of one that is partial still the greatest text that `filled` says.
    """
    counted = Observation()
    is_filled = F.col(LEFT_OUT).isNull() & F.col(MISREAD).isNull()
    marked = F.when(is_filled, Op.UPSERT.value).otherwise(STAGED_UNFILLED)
    observed = filled.withColumn(STAGED_OP, marked).observe(
        counted,
        F.count(F.when(is_filled, 1)).alias("upserts"),
        F.count(LEFT_OUT).alias("partial"),
        F.max(UNRESOLVED).alias("unresolved"),
        F.max(MISREAD).alias("misread"),
        F.count(MISREAD).alias("misread_rows"),
    )
    _append(rows, observed)
    found = counted.get
    unresolved, upserts = found.pop("unresolved"), rows.upserts + found.pop("upserts")
    return replace(rows, upserts=upserts, **found), unresolved


def add_kept(rows: StagedRows, kept: DataFrame, schema: TableSchema) -> StagedRows:
    """Write changes that stand in for what was set aside (`fold.set_aside`) beside the others."""
    counted = Observation()
    counts = (F.count(F.when(F.col(STAGED_OP) == op.value, 1)).alias(op.value) for op in Op)
    _append(rows, _hashed(kept, schema).observe(counted, *counts))
    upserts = rows.upserts + counted.get[Op.UPSERT.value]
    return replace(rows, upserts=upserts, deletes=rows.deletes + counted.get[Op.DELETE.value])


def _append(rows: StagedRows, more: DataFrame) -> None:
    written = more.select(*map(quote, rows.columns.names))
    written.write.mode("append").options(**WRITTEN).parquet(rows.folder)


def drop_staged(folder: Path, next_number: int) -> None:
    """Remove what attempts at cuts below ``next_number`` staged; they are over."""
    for path in folder.glob("*"):
        match = ATTEMPT_REF.fullmatch(path.name)
        if match and int(match["number"]) < next_number:
            _remove(path)


def _remove(path: Path) -> None:
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(
            f"staged files could not be removed: {error}",
            state="the tables are not concerned",
            next_step=f"look after the disk, then remove {path}",
        ) from error
