"""What changed in a table between two of its snapshots, row by row, exact under merge-on-read.

Iceberg's own changelog scan refuses snapshots with delete files. Here the files of both snapshots
are compared by their metadata, and only those are read that one of them has alone, or with other
deletes. Rows that were merely rewritten come out of both and cancel each other.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from py4j.java_gateway import JavaObject, get_java_class
from pyiceberg.catalog import Catalog
from pyiceberg.table import FileScanTask, Table
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.conditions import all_of
from tidemark.fold.comparable import comparable
from tidemark.lake.catalog import TableId, catalog_errors
from tidemark.model.names import SYSTEM_PREFIX, quote

CHANGE_TYPE = "_change_type"
INSERT, DELETE = "INSERT", "DELETE"
UPDATE_BEFORE, UPDATE_AFTER = "UPDATE_BEFORE", "UPDATE_AFTER"
"""As Iceberg's ``create_changelog_view`` names column and values."""
FILE, PLACE = "_file", "_pos"
BEFORE, AFTER, HASH = (f"{SYSTEM_PREFIX}{name}" for name in ("before", "after", "key_hash"))


@dataclass(frozen=True, slots=True)
class _Touched:
    """Files that tell the changes.

    gone, new: those of one snapshot alone. worn: those that have more deletes. other: those of
    which deletes were rewritten, so that rows may have come back.
    """

    gone: frozenset[str]
    new: frozenset[str]
    worn: frozenset[str]
    other: frozenset[str]


@contextmanager
def changed_rows(  # noqa: PLR0913  two snapshots of a table, and what a row is
    session: SparkSession,
    catalog: Catalog,
    name: TableId,
    snapshots: tuple[int | None, int],
    *,
    identity: Sequence[str],
    compared: Collection[str],
) -> Iterator[DataFrame]:
    """Rows of the second snapshot that differ from those of the first; read while it is open.

    snapshots: None where the table was not there yet. identity: the columns that tell rows apart.
    compared: those of which another value is a change. Out: CHANGE_TYPE beside the columns of the
    table as they are now; an updated row stands there twice, as it was and as it is. Costs a scan
    of the files that were touched.
    """
    with catalog_errors(f"the reading of {name}"):
        table = catalog.load_table(name.parts)
        before, after = (_files(table, snapshot) for snapshot in snapshots)
    touched = _touched(before, after)
    with _Staged(session, catalog.name, name) as staged:
        old = staged.rows(snapshots[0], touched.gone)
        new = staged.rows(snapshots[1], touched.new)
        if touched.worn:
            worn, left = (staged.rows(snapshot, touched.worn) for snapshot in snapshots)
            old = old.unionByName(_lost(worn, left))
        if touched.other:
            worn, left = (staged.rows(snapshot, touched.other) for snapshot in snapshots)
            old, new = old.unionByName(_lost(worn, left)), new.unionByName(_lost(left, worn))
        yield _net(old.drop(FILE, PLACE), new.drop(FILE, PLACE), identity, compared)


def _files(table: Table, snapshot: int | None) -> dict[str, frozenset[str]]:
    """Data file -> the files of deletes that belong to it."""
    if snapshot is None:
        return {}
    tasks: Iterator[FileScanTask] = iter(table.scan(snapshot_id=snapshot).plan_files())
    return {
        task.file.file_path: frozenset(delete.file_path for delete in task.delete_files)
        for task in tasks
    }


def _touched(before: Mapping[str, frozenset[str]], after: Mapping[str, frozenset[str]]) -> _Touched:
    shared = before.keys() & after.keys()
    return _Touched(
        gone=frozenset(before.keys() - shared),
        new=frozenset(after.keys() - shared),
        worn=frozenset(path for path in shared if before[path] < after[path]),
        other=frozenset(path for path in shared if not before[path] <= after[path]),
    )


def _lost(worn: DataFrame, left: DataFrame) -> DataFrame:
    """The rows of ``worn`` that are not ``left``: rows of one file, by their places in it."""
    place = [F.xxhash64(FILE).alias(FILE), F.col(PLACE)]
    lost = worn.select(*place).join(left.select(*place), [FILE, PLACE], "left_anti")
    named = lost.withColumnsRenamed({FILE: HASH, PLACE: AFTER})
    same = [F.xxhash64(FILE) == F.col(HASH), F.col(PLACE) == F.col(AFTER)]
    return worn.join(F.broadcast(named), same, "left_semi")


def _net(
    old: DataFrame, new: DataFrame, identity: Sequence[str], compared: Collection[str]
) -> DataFrame:
    """Rows that went and came, without those that stayed what they were."""
    columns = new.columns
    key = [F.col(quote(name)) for name in identity]
    whole = F.struct(*(F.col(quote(name)) for name in columns))
    was = old.select(F.struct(*key).alias("key"), whole.alias(BEFORE))
    now = new.select(F.struct(*key).alias("key"), whole.alias(AFTER))
    both = was.join(now, "key", "full_outer").drop("key")
    stays = F.col(BEFORE).isNotNull() & F.col(AFTER).isNotNull()
    is_same = stays & all_of(
        _value(BEFORE, name, new).eqNullSafe(_value(AFTER, name, new)) for name in compared
    )
    is_update = F.col(BEFORE).isNotNull() & F.col(AFTER).isNotNull()
    images = F.array(
        _image(BEFORE, F.when(is_update, UPDATE_BEFORE).otherwise(DELETE)),
        _image(AFTER, F.when(is_update, UPDATE_AFTER).otherwise(INSERT)),
    )
    changed = both.where(~is_same).select(F.explode(images).alias("change"))
    return changed.where(F.col("change.row").isNotNull()).select(
        F.col("change.type").alias(CHANGE_TYPE), "change.row.*"
    )


def _image(side: str, change_type: Column) -> Column:
    return F.struct(change_type.alias("type"), F.col(side).alias("row"))


def _value(side: str, name: str, rows: DataFrame) -> Column:
    return comparable(F.col(side)[name], rows.schema[name].dataType)


def _table_cache(session: SparkSession) -> JavaObject:
    """Iceberg's `SparkTableCache`: its static ``get()``, beside which an instance has ``get(key)``.

    By attribute, py4j looks at the first method of a name alone, and the JVM lists them in another
    order from one process to the next.
    """
    gateway: Any = session.sparkContext._gateway  # noqa: SLF001  the way to Java's reflection
    java_class = get_java_class(gateway.jvm.org.apache.iceberg.spark.SparkTableCache)
    method = java_class.getMethod("get", gateway.new_array(gateway.jvm.java.lang.Class, 0))
    return method.invoke(None, gateway.new_array(gateway.jvm.java.lang.Object, 0))


class _Staged:
    """Scans of chosen files, as Iceberg's own rewrites read them; gone when the body ends.

    Its public classes `SparkTableCache` and `ScanTaskSetManager` take a table and a set of tasks
    under a name, and a frame loads them by it.
    """

    def __init__(self, session: SparkSession, catalog: str, name: TableId) -> None:
        self._session, self._quoted = session, quote(catalog, *name.parts)
        jvm: Any = session.sparkContext._jvm  # noqa: SLF001  the way to Iceberg's own classes
        self._jvm, spark = jvm, jvm.org.apache.iceberg.spark
        self._table = spark.Spark3Util.loadIcebergTable(
            session._jsparkSession,  # noqa: SLF001
            self._quoted,
        )
        self._tables = _table_cache(session)
        self._tasks = spark.ScanTaskSetManager.get()
        self._names: list[str] = []
        self._planned: dict[int, dict[str, Any]] = {}

    def __enter__(self) -> _Staged:
        return self

    def __exit__(self, *_: object) -> None:
        for name in self._names:
            self._tasks.removeTasks(self._table, name)
            self._tables.remove(name)

    def _tasks_of(self, snapshot: int) -> Mapping[str, Any]:
        """File -> how Iceberg scans it as of ``snapshot``; each snapshot is planned once."""
        if snapshot not in self._planned:
            planned = self._table.newScan().useSnapshot(snapshot).planFiles()
            try:
                tasks = self._planned[snapshot] = {}
                scan_tasks = planned.iterator()
                while scan_tasks.hasNext():
                    task = scan_tasks.next()
                    tasks[task.file().location()] = task
            finally:
                planned.close()
        return self._planned[snapshot]

    def rows(self, snapshot: int | None, paths: Collection[str]) -> DataFrame:
        """The rows of the files at ``paths`` as ``snapshot`` has them, with FILE and PLACE."""
        if snapshot is None or not paths:  # Iceberg takes no empty set of tasks.
            return self._session.table(self._quoted).select("*", FILE, PLACE).limit(0)
        chosen = self._jvm.java.util.ArrayList()
        for path, task in self._tasks_of(snapshot).items():
            if path in paths:
                chosen.add(task)
        name = uuid.uuid4().hex
        self._tables.add(name, self._table)
        self._tasks.stageTasks(self._table, name, chosen)
        self._names.append(name)
        frame = self._session.read.format("iceberg").load(name)
        return frame.select("*", FILE, PLACE)
