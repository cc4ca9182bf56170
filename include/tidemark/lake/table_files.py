"""What the metadata of an Iceberg table tell of its files; no JVM, and no file of rows is read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from time import time_ns

from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile as Entry
from pyiceberg.manifest import DataFileContent
from pyiceberg.table import Table
from pyiceberg.types import StringType
from pyiceberg.utils.properties import property_as_bool

from tidemark.model.maintenance import DataFile, TableFiles

GC_ENABLED = "gc.enabled"
TARGET_BYTES = "write.target-file-size-bytes"
ICEBERG_TARGET_BYTES = 512 * 1024 * 1024
FILE_PATH = 2147483546
"""Field id of ``file_path`` in a file of position deletes, as Iceberg's specification has it."""


def may_lose_files(table: Table) -> bool:
    """Whether files of ``table`` may be removed; else Iceberg neither expires nor sweeps."""
    return property_as_bool(table.properties, GC_ENABLED, True)


def loose_snapshots(table: Table, now_ms: int) -> list[int]:
    """When each snapshot of ``table`` was made that no branch or tag names, in ms since 1970.

    A tag that is older than it is to get keeps no snapshot: Iceberg's expiry removes it.
    """
    made = {snapshot.snapshot_id: snapshot.timestamp_ms for snapshot in table.snapshots()}
    named = {
        ref.snapshot_id
        for ref in table.refs().values()
        if ref.max_ref_age_ms is None or now_ms - made[ref.snapshot_id] <= ref.max_ref_age_ms
    }
    return [at_ms for snapshot_id, at_ms in made.items() if snapshot_id not in named]


def read_files(table: Table) -> TableFiles:
    """The files of ``table`` as ``main`` has them, and its snapshots."""
    head, loose = table.current_snapshot(), loose_snapshots(table, time_ns() // 1_000_000)
    target = int(table.properties.get(TARGET_BYTES, ICEBERG_TARGET_BYTES))
    if head is None:
        return TableFiles(target, {}, snapshots=loose)
    manifests = head.manifests(table.io)
    entries = [
        entry.data_file
        for manifest in manifests
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)
    ]
    deleted: dict[str, list[int]] = defaultdict(list)
    shared = 0
    for entry in _with_content(entries, DataFileContent.POSITION_DELETES):
        path = _only_path(entry)
        if path is None:
            shared += 1
        else:
            deleted[path].append(entry.record_count)
    files: dict[str, list[DataFile]] = defaultdict(list)
    for entry in _with_content(entries, DataFileContent.DATA):
        deletes = deleted.get(entry.file_path, [])
        file = DataFile(entry.file_size_in_bytes, entry.record_count, sum(deletes), len(deletes))
        files[str(entry.partition)].append(file)
    return TableFiles(target, files, shared, len(manifests), loose)


def _with_content(entries: list[Entry], content: DataFileContent) -> Iterator[Entry]:
    return (entry for entry in entries if entry.content is content)


def _only_path(entry: Entry) -> str | None:
    """The file whose rows a file of position deletes takes away; None where it is of several."""
    lowest = (entry.lower_bounds or {}).get(FILE_PATH)
    highest = (entry.upper_bounds or {}).get(FILE_PATH)
    if lowest is None or lowest != highest:
        return None
    return str(from_bytes(StringType(), lowest))
