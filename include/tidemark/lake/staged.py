"""Winners on their way to the merge: one Iceberg table for each target of an attempt.

Executors write and read them, so they stand in the warehouse, where the catalog's FileIO reaches
them from every machine. The merge must read a plain scan: a window or a cached frame as its source
costs the runtime Bloom filter (docs/adr/0002-one-guarded-merge.md).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import pyarrow as pa
from pyarrow.fs import FileSelector, FileSystem
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from tidemark.errors import StorageError, TidemarkError
from tidemark.lake.catalog import TableId, catalog_errors, commit_errors, folder_of
from tidemark.lake.commits import append_files_on
from tidemark.lake.refs import ATTEMPT_REF
from tidemark.log import get_logger
from tidemark.model.columns import (
    CONVERSION_ERROR,
    STAGED_CONVERSION_ERROR,
    STAGED_KEY_HASH,
    STAGED_OP,
    STAGED_UNAVAILABLE,
    STAGED_UNFILLED,
    UNAVAILABLE,
    UNRESOLVED,
    TableSchema,
)
from tidemark.model.event import Op
from tidemark.model.names import quote
from tidemark.model.target_mode import TargetMode

log = get_logger()

PROPERTIES: Mapping[str, str] = {
    "format-version": "2",
    "write.distribution-mode": "none",
    "write.metadata.metrics.default": "none",
    "write.parquet.compression-codec": "lz4_raw",
}
"""The files are read by the merge and the audit, then removed: what they cost is the writing."""

_STAGED = re.compile(r"staged_(?P<branch>tidemark_(?P<number>\d+)_.+)_[0-9a-f]{32}(_[a-z]+)?")


@dataclass(frozen=True, slots=True)
class StagedPlace:
    """The table that holds the staged rows of one target in one attempt.

    catalog: its name in Spark. namespace: of the pipeline's own tables. folder: of the warehouse,
    in which all attempts of the pipeline stage, each in a folder named like its ``branch``. name:
    of the table among those of the attempt.
    """

    catalog: str
    namespace: str
    folder: str
    branch: str
    name: str

    @classmethod
    def of(cls, catalog: Catalog, namespace: str, branch: str, target: TableId) -> StagedPlace:
        """Where the attempt with ``branch`` stages rows for ``target``."""
        digest = hashlib.sha256(str(target).encode()).hexdigest()[:32]
        return cls(catalog.name, namespace, staged_folder(catalog, namespace), branch, digest)

    def beside(self, step: str) -> StagedPlace:
        """The place of a later ``step``, made from what stands here."""
        return replace(self, name=f"{self.name}_{step}")

    @property
    def table(self) -> tuple[str, str, str]:
        """Parts of the table's name in Spark."""
        return self.catalog, self.namespace, f"staged_{self.branch}_{self.name}"

    @property
    def location(self) -> str:
        """Where its files are."""
        return f"{self.folder}/{self.branch}/{self.name}"


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Staged winners of one table: where they are, None when none are, and what is in it.

    conversion_error: a column whose value did not fit its type, None when all did;
    conversion_errors: in how many rows. unavailable: rows of which values are still to be found.
    Neither are upserts, nor deletes.
    """

    place: StagedPlace | None
    upserts: int
    deletes: int
    conversion_error: str | None
    conversion_errors: int
    unavailable: int

    @property
    def rows(self) -> int:
        """How many keys change."""
        return self.upserts + self.deletes

    @property
    def written(self) -> StagedPlace:
        """The place of rows that are there."""
        if self.place is None:
            raise RuntimeError("no rows are staged")
        return self.place


def staged_folder(catalog: Catalog, namespace: str) -> str:
    """Where attempts of the pipeline with ``namespace`` stage their rows."""
    return f"{folder_of(catalog)}/{namespace}/staged"


def stage_rows(place: StagedPlace, rows: DataFrame, schema: TableSchema) -> StagedRows:
    """Write typed winners (`formats.rows.typed_rows`) for the merge, and count them on the way."""
    counted = Observation()
    writer = _marked(rows, schema, counted).writeTo(quote(*place.table)).using("iceberg")
    for name, value in {**PROPERTIES, "location": place.location}.items():
        writer = writer.tableProperty(name, value)
    writer.create()
    return StagedRows(place, **counted.get)


def _marked(rows: DataFrame, schema: TableSchema, counted: Observation) -> DataFrame:
    """Typed winners as they are staged; ``counted`` gets the numbers of StagedRows."""
    op = F.col(STAGED_OP)
    has_unavailable = F.col(UNAVAILABLE).isNotNull()
    if schema.mode is TargetMode.APPEND and schema.key:
        has_unavailable = F.lit(False)  # A change says what it leaves out.
    has_conversion_error = F.col(CONVERSION_ERROR).isNotNull()
    if not schema.key:
        has_conversion_error = (
            has_conversion_error & ~has_unavailable
        )  # Where a row is not whole, its image may be missing.
    marked = (
        F.when(has_conversion_error, STAGED_CONVERSION_ERROR)
        .when(has_unavailable, STAGED_UNAVAILABLE)
        .otherwise(op)
    )
    # With `count_if` Spark would write each row once more, to drop the column of its condition.
    observed = rows.withColumn(STAGED_OP, marked).observe(
        counted,
        F.count(F.when(op == Op.UPSERT.value, 1)).alias("upserts"),
        F.count(F.when(op == Op.DELETE.value, 1)).alias("deletes"),
        F.max(CONVERSION_ERROR).alias("conversion_error"),
        F.count(CONVERSION_ERROR).alias("conversion_errors"),
        F.count(F.when(op == STAGED_UNAVAILABLE, 1)).alias("unavailable"),
    )
    return _hashed(observed.drop(CONVERSION_ERROR), schema)


def make_staged(catalog: Catalog, place: StagedPlace, columns: pa.Schema) -> Table:
    """The table at ``place`` without rows, for files that tasks write."""
    with commit_errors("the staging of rows"):
        return catalog.create_table(
            place.table[1:], columns, location=place.location, properties=dict(PROPERTIES)
        )


def drop_made(catalog: Catalog, place: StagedPlace) -> None:
    """Undo `make_staged`."""
    with catalog_errors("the removal of staged rows"):
        catalog.drop_table(place.table[1:])


def add_files(
    table: Table, place: StagedPlace, files: Iterable[DataFile], *, upserts: int, deletes: int
) -> StagedRows:
    """The rows of ``files``, which are typed and whole, in the table that was made for them."""
    with commit_errors("the staging of rows"):
        append_files_on(table, MAIN_BRANCH, files, {})
    return StagedRows(place, upserts, deletes, None, 0, 0)


def add_rows(rows: StagedRows, more: DataFrame, schema: TableSchema) -> StagedRows:
    """Write typed winners (`formats.rows.typed_rows`) beside those that are staged."""
    counted = Observation()
    _append(rows, _marked(more, schema, counted))
    metrics = counted.get
    return replace(
        rows,
        conversion_error=metrics.pop("conversion_error"),
        **{name: getattr(rows, name) + number for name, number in metrics.items()},
    )


def _hashed(rows: DataFrame, schema: TableSchema) -> DataFrame:
    if len(schema.key) <= 1:
        return rows
    hashed = F.xxhash64(*(F.col(quote(name)) for name in schema.key))
    return rows.withColumn(STAGED_KEY_HASH, hashed)


def read_staged(session: SparkSession, rows: StagedRows) -> DataFrame:
    """What `stage_rows` wrote."""
    return session.table(quote(*rows.written.table))


def read_unavailable(session: SparkSession, rows: StagedRows) -> DataFrame:
    """The rows of which values are still to be found; UNAVAILABLE names their columns."""
    return read_staged(session, rows).where(F.col(STAGED_OP) == STAGED_UNAVAILABLE)


def read_marked(session: SparkSession, rows: StagedRows, mark: str) -> DataFrame:
    """Changes that cannot be applied; mark: STAGED_CONVERSION_ERROR, or STAGED_UNFILLED."""
    return read_staged(session, rows).where(F.col(STAGED_OP) == mark)


def add_filled(rows: StagedRows, filled: DataFrame) -> tuple[StagedRows, str | None]:
    """Write what became of rows with unavailable values (`fold.unchanged.filled`).

    Returns what is staged now, where conversion errors and unavailable values are those that could
    not be filled, and of one that still has such the greatest text that `filled` says.
    """
    counted = Observation()
    is_filled = F.col(UNAVAILABLE).isNull() & F.col(CONVERSION_ERROR).isNull()
    marked = F.when(is_filled, Op.UPSERT.value).otherwise(STAGED_UNFILLED)
    observed = filled.withColumn(STAGED_OP, marked).observe(
        counted,
        F.count(F.when(is_filled, 1)).alias("upserts"),
        F.count(UNAVAILABLE).alias("unavailable"),
        F.max(UNRESOLVED).alias("unresolved"),
        F.max(CONVERSION_ERROR).alias("conversion_error"),
        F.count(CONVERSION_ERROR).alias("conversion_errors"),
    )
    _append(rows, observed)
    metrics = counted.get
    unresolved, upserts = metrics.pop("unresolved"), rows.upserts + metrics.pop("upserts")
    return replace(rows, upserts=upserts, **metrics), unresolved


def add_applicable(rows: StagedRows, changes: DataFrame, schema: TableSchema) -> StagedRows:
    """Write changes that replace quarantined ones (`fold.quarantined`) beside the others."""
    counted = Observation()
    counts = (F.count(F.when(F.col(STAGED_OP) == op.value, 1)).alias(op.value) for op in Op)
    _append(rows, _hashed(changes, schema).observe(counted, *counts))
    upserts = rows.upserts + counted.get[Op.UPSERT.value]
    return replace(rows, upserts=upserts, deletes=rows.deletes + counted.get[Op.DELETE.value])


def _append(rows: StagedRows, more: DataFrame) -> None:
    name = quote(*rows.written.table)
    more.select(*map(quote, more.sparkSession.table(name).columns)).writeTo(name).append()


def drop_staged(catalog: Catalog, namespace: str, next_number: int) -> None:
    """Remove what attempts at cuts below ``next_number`` staged; they are over."""
    _drop(catalog, namespace, lambda number, _: number < next_number)


def drop_staged_of(catalog: Catalog, namespace: str, branches: Collection[str]) -> None:
    """Remove what the attempts of ``branches`` staged."""
    _drop(catalog, namespace, lambda _, name: name in branches)


@contextmanager
def dropping_staged(catalog: Catalog, namespace: str, branch: str) -> Iterator[None]:
    """Remove what the attempt with ``branch`` staged at the end of the block, however it ends.

    What cannot be removed now is left to `drop_staged` of a later cut.
    """
    try:
        yield
    finally:
        try:
            _drop(catalog, namespace, lambda _, name: name == branch)
        except TidemarkError as error:
            log.warning("staged_rows_left", branch=branch, error=str(error))


def _drop(catalog: Catalog, namespace: str, is_over: Callable[[int, str], bool]) -> None:
    """Remove tables, then folders: a killed attempt leaves files that no table names."""
    with catalog_errors(f"the removal of staged rows in {namespace}"):
        for parts in _tables(catalog, namespace):
            match = _STAGED.fullmatch(parts[-1])
            if match and is_over(int(match["number"]), match["branch"]):
                with suppress(NoSuchTableError):  # Another run removed it.
                    catalog.drop_table(parts)
    folder = staged_folder(catalog, namespace)
    try:
        files, path = _files(catalog, folder)
        for directory in files.get_file_info(FileSelector(path, allow_not_found=True)):
            match = ATTEMPT_REF.fullmatch(directory.base_name)
            if match and is_over(int(match["number"]), directory.base_name):
                with suppress(FileNotFoundError):
                    files.delete_dir(directory.path)
    except OSError as error:
        raise StorageError(
            f"staged files could not be removed: {error}",
            state="the tables are not concerned",
            next_step=f"let this user list and delete below {folder}, then run again",
        ) from error


def _tables(catalog: Catalog, namespace: str) -> Sequence[tuple[str, ...]]:
    try:
        return catalog.list_tables(namespace)
    except NoSuchNamespaceError:
        return ()


def _files(catalog: Catalog, folder: str) -> tuple[FileSystem, str]:
    """The file system of ``folder``, and its path there; pyiceberg's own lists nothing."""
    scheme, host, path = PyArrowFileIO.parse_location(folder)
    return PyArrowFileIO(catalog.properties).fs_by_scheme(scheme, host), path
