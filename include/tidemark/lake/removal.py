"""Removal of a table as it was read: of nothing that has its name by now (PUB-8).

A catalog drops by name, and whoever was stopped for a while does not know who has it. So a table
leaves its name first, which is undone where it turns out to be another one; then it goes.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from sqlalchemy.orm import Session

from tidemark.lake.catalog import TableId, catalog_errors
from tidemark.lake.swap import Entry, rename_entry
from tidemark.model.names import SYSTEM_PREFIX


def find_table(catalog: Catalog, name: TableId) -> Table | None:
    """The table that has ``name``; None where there is none."""
    table: Table | None = None
    with catalog_errors(f"the loading of {name}"), suppress(NoSuchTableError):
        table = catalog.load_table(name.parts)
    return table


def purge_as_read(catalog: Catalog, name: TableId, location: str) -> bool:
    """Remove the table ``name`` and its files; False where its metadata are not at ``location``.

    Then it was changed or replaced since it was read there. Whoever dies on the way leaves it under
    a name of ours, which nobody reads.
    """
    digest = hashlib.sha256(location.encode()).hexdigest()
    away = TableId(name.namespace, f"{SYSTEM_PREFIX}removed_{digest}")
    if not move_as_read(catalog, name, location, away):
        return False
    with catalog_errors(f"the removal of {name}"):
        catalog.purge_table(away.parts)
    return True


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
