"""Removal of a table as it was read: of nothing that has its name by now (PUB-8).

A catalog drops by name, and whoever was stopped for a while does not know who has it. So a table
leaves its name first, which is undone where it turns out to be another one; then it goes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress

from pyiceberg.catalog import Catalog, delete_data_files, delete_files
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table
from sqlalchemy.orm import Session

from tidemark.lake.catalog import TableId, catalog_errors
from tidemark.lake.swap import Entry, rename_entry
from tidemark.model.names import SYSTEM_PREFIX

_PREFIX = f"{SYSTEM_PREFIX}removed_"


def find_table(catalog: Catalog, name: TableId) -> Table | None:
    """The table that has ``name``; None where there is none."""
    table: Table | None = None
    with catalog_errors(f"the loading of {name}"), suppress(NoSuchTableError):
        table = catalog.load_table(name.parts)
    return table


def purge_as_read(catalog: Catalog, name: TableId, location: str) -> bool:
    """Remove the table ``name`` and its files; False where its metadata are not at ``location``.

    Then it was changed or replaced since it was read there. Whoever dies on the way leaves it under
    a name of ours, which nobody reads and `finish_removals` looks for.
    """
    away = TableId(name.namespace, _name_of(location))
    if not move_as_read(catalog, name, location, away):
        return False
    _finish(catalog, away)
    return True


def finish_removals(catalog: Catalog, namespace: str, existing: Iterable[str]) -> None:
    """Remove those of the tables ``existing`` in ``namespace`` whose removal somebody died in.

    Where one of them is alive yet, both remove the same table.
    """
    for name in existing:
        if name.startswith(_PREFIX):
            _finish(catalog, TableId(namespace, name))


def _name_of(location: str) -> str:
    """The name of a table that goes, and was read with its metadata at ``location``."""
    return _PREFIX + hashlib.sha256(location.encode()).hexdigest()


def _finish(catalog: Catalog, away: TableId) -> None:
    """Remove the table ``away``: files before what names them, and the entry last of all.

    Its name says where its metadata are. One that has others is passing: a REST catalog gives it
    back to who it belongs to.
    """
    with catalog_errors(f"the removal of {away}"), suppress(NoSuchTableError):
        if not isinstance(catalog, SqlCatalog):
            if away.table == _name_of(catalog.load_table(away.parts).metadata_location):
                catalog.purge_table(away.parts)
            return
        with suppress(FileNotFoundError):  # Its metadata went before the entry.
            table = catalog.load_table(away.parts)
            if away.table != _name_of(table.metadata_location):
                return
            _delete_files(table)
        catalog.drop_table(away.parts)


def _delete_files(table: Table) -> None:
    """Delete all files of ``table`` that are there and that files which are there name."""
    metadata, io = table.metadata, table.io
    manifests: dict[str, ManifestFile] = {}
    for snapshot in metadata.snapshots:
        with suppress(FileNotFoundError):
            manifests |= {manifest.manifest_path: manifest for manifest in snapshot.manifests(io)}
    for manifest in manifests.values():
        with suppress(FileNotFoundError):
            delete_data_files(io, [manifest])
    delete_files(io, set(manifests), "manifest")
    delete_files(io, {snapshot.manifest_list for snapshot in metadata.snapshots}, "manifest list")
    delete_files(io, {file.statistics_path for file in metadata.statistics}, "statistics")
    delete_files(io, {entry.metadata_file for entry in metadata.metadata_log}, "metadata")
    delete_files(io, {table.metadata_location}, "metadata")


def move_as_read(catalog: Catalog, name: TableId, location: str, to: TableId) -> bool:
    """Give the table ``name`` the name ``to``; False where its metadata are not at ``location``."""
    with catalog_errors(f"the removal of {name}"):
        if isinstance(catalog, SqlCatalog):
            with Session(catalog.engine) as session, session.begin():
                return rename_entry(session, catalog, Entry(name, location), to)
        return _move_on_server(catalog, name, location, to)


def _move_on_server(catalog: Catalog, name: TableId, location: str, to: TableId) -> bool:
    """No request of a REST catalog says which table of a name is meant: it is looked at twice."""
    try:
        if catalog.load_table(name.parts).metadata_location != location:
            return False
        if catalog.rename_table(name.parts, to.parts).metadata_location == location:
            return True
    except NoSuchTableError:
        return False
    catalog.rename_table(to.parts, name.parts)
    return False
