"""What a fork has of its own, and what it gives to its table when it is published.

Both files of metadata name the same snapshots and data. So a fork has files of metadata of its own
and its own log of them, which starts empty, and nothing may clean up after it: not a commit, which
removes what falls out of the log, nor a person, as `gc.enabled` is what Spark's procedures and
DROP TABLE ... PURGE ask first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyiceberg.catalog import delete_files
from pyiceberg.serializers import ToOutputFile
from pyiceberg.table import Table
from pyiceberg.table.locations import load_location_provider

FORK_OF = "tidemark.fork-of"
"""The table that this one is a fork of."""
KEEPING: Mapping[str, str] = {
    "gc.enabled": "false",
    "write.metadata.delete-after-commit.enabled": "false",
    # Its log names every file of its own, so that all of them can be removed.
    "write.metadata.previous-versions-max": "1000000",
}


def write_fork_metadata(table: Table) -> str:
    """Write what a fork of ``table`` begins with; returns where."""
    properties = {**table.properties, **KEEPING, FORK_OF: ".".join(table.name())}
    update = {"properties": properties, "metadata_log": []}
    metadata = table.metadata.model_copy(update=update)
    location = new_metadata_location(table)
    ToOutputFile.table_metadata(metadata, table.io.new_output(location))
    return location


def new_metadata_location(table: Table) -> str:
    """Where a next file of metadata of ``table`` may be written."""
    provider = load_location_provider(table.metadata.location, table.properties)
    return provider.new_table_metadata_file_location()


def next_of(table: Table, fork: Table, staged: Collection[int]) -> Table:
    """``fork`` as what comes after ``table``: with its log, and with its rules for cleaning up.

    staged: the snapshots that were made on the fork. Others that ``table`` has no more are expired,
    with files of theirs, and stay so.
    """
    fork_properties = (*KEEPING, FORK_OF)
    properties = _without_fork_properties(fork)
    properties |= {
        name: table.properties[name] for name in fork_properties if name in table.properties
    }
    old = fork.metadata
    there = {snapshot.snapshot_id for snapshot in table.metadata.snapshots} | set(staged)
    update = {
        "properties": properties,
        "metadata_log": table.metadata.metadata_log,
        "last_updated_ms": table.metadata.last_updated_ms,
        "refs": {name: ref for name, ref in old.refs.items() if ref.snapshot_id in there},
        "snapshots": [one for one in old.snapshots if one.snapshot_id in there],
        "snapshot_log": [one for one in old.snapshot_log if one.snapshot_id in there],
        "statistics": [one for one in old.statistics if one.snapshot_id in there],
        "partition_statistics": [
            one for one in old.partition_statistics if one.snapshot_id in there
        ],
    }
    metadata = fork.metadata.model_copy(update=update)
    return Table(table.name(), metadata, table.metadata_location, table.io, table.catalog)


def freed(fork: Table) -> Table:
    """``fork`` as a table of its own, whose log begins here."""
    update = {"properties": _without_fork_properties(fork), "metadata_log": []}
    metadata = fork.metadata.model_copy(update=update)
    return Table(fork.name(), metadata, fork.metadata_location, fork.io, fork.catalog)


def _without_fork_properties(fork: Table) -> dict[str, str]:
    fork_properties = (*KEEPING, FORK_OF)
    return {name: text for name, text in fork.properties.items() if name not in fork_properties}


def remove_metadata_files(fork: Table) -> None:
    """Remove the files of metadata of a fork that is no more; its data may be its table's."""
    if FORK_OF not in fork.properties:
        return  # Its log is not its own.
    files = {fork.metadata_location, *(log.metadata_file for log in fork.metadata.metadata_log)}
    delete_files(fork.io, files, "metadata of a fork")
