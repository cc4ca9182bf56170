"""The files that tables name, and those that are there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from pyiceberg.table import Table


def path_of(location: str) -> Path:
    """A place in a warehouse on the local disk."""
    return Path(re.sub(r"^file:/*", "/", location))


class NamedFiles:
    """What snapshots of tables name; a manifest is read once, as it never changes."""

    def __init__(self) -> None:
        self._manifests: dict[str, frozenset[str]] = {}

    def of(self, table: Table) -> Iterator[str]:
        """Every file of each snapshot that ``table`` has, and its statistics."""
        for snapshot in table.snapshots():
            yield snapshot.manifest_list
            if not path_of(snapshot.manifest_list).exists():
                continue
            for manifest in snapshot.manifests(table.io):
                yield manifest.manifest_path
                if manifest.manifest_path not in self._manifests:
                    if not path_of(manifest.manifest_path).exists():
                        continue
                    entries = manifest.fetch_manifest_entry(table.io)
                    self._manifests[manifest.manifest_path] = frozenset(
                        entry.data_file.file_path for entry in entries
                    )
                yield from self._manifests[manifest.manifest_path]
        for statistics in (*table.metadata.statistics, *table.metadata.partition_statistics):
            yield statistics.statistics_path

    def missing(self, table: Table) -> list[str]:
        """Those that are not there."""
        return sorted({name for name in self.of(table) if not path_of(name).exists()})


def files_below(folders: Iterable[Path]) -> set[Path]:
    """Files of rows, deletes, manifests and statistics, but for checksums beside them."""
    return {
        path
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".") and path.suffix != ".json"
    }


def age(folders: Iterable[Path], seconds: float) -> None:
    """Make all files there that much older."""
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                at = path.stat().st_mtime - seconds
                os.utime(path, (at, at))
