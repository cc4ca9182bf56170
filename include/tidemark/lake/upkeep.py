"""What keeps a pipeline's own tables small, however many cuts there were.

Each cut adds a snapshot and a small file to most of them. So that the next cut reads no more than
the last one, snapshots that nobody needs are expired, and small files are written together. Both is
done by a cut before it begins, every few dozen cuts; targets are kept by `runs.maintain`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from pyiceberg.catalog import Catalog, delete_files
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot
from pyspark.sql import SparkSession

from tidemark.lake import sql
from tidemark.lake.catalog import SystemTables, TableId, catalog_errors
from tidemark.lake.refs import ancestors, main_head, summary_value
from tidemark.lake.table_files import may_lose_files, read_files
from tidemark.log import get_logger
from tidemark.model.maintenance import SMALL_SHARE
from tidemark.model.names import quote

log = get_logger()

MAX_SNAPSHOTS = 100
"""Of each table at most; once there are more, a quarter goes, so that few cuts expire any."""
MAX_SNAPSHOT_AGE_MS = 6 * 3_600_000
"""How long snapshots are kept that a run may have begun with."""
SMALL_FILES = 100
"""Small files of one table that are left as they are."""
FILE_BYTES = 128 * 1024
"""Of files that are written together. Each holds cuts that follow each other: who reads some cuts
opens the files of these alone."""

_NUMBERED = re.compile(r"(?P<commit>.+-m)(?P<number>\d+)\.avro")
"""The path of a manifest: that of its commit, and how many this had written before."""


def keep_small(session: SparkSession, catalog: Catalog, tables: SystemTables) -> None:
    """Expire snapshots of the pipeline's own tables, and write their small files together.

    The changelog's files are left to its maintenance: they are as large as what was landed.
    """
    for name in tables.all:
        with catalog_errors(f"the reading of {name}"):
            try:
                table = catalog.load_table(name.parts)
            except NoSuchTableError:
                continue
        if name != tables.changelog and small_files(table) > SMALL_FILES:
            options = {"target-file-size-bytes": FILE_BYTES, "min-input-files": 2}
            arguments = {"options": sql.options(options)}
            session.sql(
                sql.call(catalog.name, "rewrite_data_files", name.parts, arguments)
            ).collect()
            log.info("own_files_compacted", table=str(name))
        if _expirable(table) > MAX_SNAPSHOTS and may_lose_files(table):
            with catalog_errors(f"the reading of {name}"):
                delete_files(table.io, merged_manifests(table), "merged manifest")
            _expire(session, catalog.name, name)
            log.info("own_snapshots_expired", table=str(name))


def small_files(table: Table) -> int:
    """How many files of ``table`` are small; looked at only where that may be many.

    However many cuts there were, those that came since small ones were written together are few.
    """
    head = table.current_snapshot()
    files = _count(head, "total-data-files") if head else 0
    if files <= SMALL_FILES:
        return files
    added = 0
    for snapshot in ancestors(table, main_head(table)):
        if _is_compacted(snapshot):
            if added <= SMALL_FILES:
                return added
            break
        added += _count(snapshot, "added-data-files")
    data_files = (file for part in read_files(table).files.values() for file in part)
    return sum(file.size < SMALL_SHARE * FILE_BYTES for file in data_files)


def merged_manifests(table: Table) -> set[str]:
    """Manifests that pyiceberg wrote and merged into others in one commit: no snapshot names them.

    It leaves them where they are. They have lower numbers than the one that was made of them.
    """
    named = {
        manifest.manifest_path
        for snapshot in table.snapshots()
        for manifest in snapshot.manifests(table.io)
    }
    numbered = filter(None, map(_NUMBERED.fullmatch, named))
    written = {
        f"{match['commit']}{number}.avro"
        for match in numbered
        for number in range(int(match["number"]))
    }
    return {path for path in written - named if table.io.new_input(path).exists()}


def _is_compacted(snapshot: Snapshot) -> bool:
    """Whether files were written together: a rewrite of manifests replaces none."""
    is_rewrite = snapshot.summary is not None and snapshot.summary.operation is Operation.REPLACE
    return is_rewrite and _count(snapshot, "deleted-data-files") > 0


def _count(snapshot: Snapshot, key: str) -> int:
    return int(summary_value(snapshot, key) or 0)


def _expirable(table: Table) -> int:
    """Snapshots but for those that a run may have begun with."""
    limit = _now_ms() - MAX_SNAPSHOT_AGE_MS
    return sum(snapshot.timestamp_ms < limit for snapshot in table.snapshots())


def _expire(session: SparkSession, catalog: str, name: TableId) -> None:
    """By Iceberg itself, on the driver: the procedure for it would start jobs of Spark."""
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001  the only way to Iceberg's own classes
    java = session._jsparkSession  # noqa: SLF001
    spark = jvm.org.apache.iceberg.spark.Spark3Util
    table = spark.loadIcebergTable(java, quote(catalog, *name.parts))
    expire = table.expireSnapshots().expireOlderThan(_now_ms() - MAX_SNAPSHOT_AGE_MS)
    expire.retainLast(MAX_SNAPSHOTS - MAX_SNAPSHOTS // 4).commit()


def _now_ms() -> int:
    return int(datetime.now(UTC).timestamp() * 1000)
