"""What a cut asks of catalog and warehouse, tried on a table that goes again. No JVM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import time_ns
from uuid import uuid4

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from sqlalchemy import func, select

from tidemark.errors import UNCHANGED, StorageError
from tidemark.lake.catalog import TableId, catalog_errors
from tidemark.lake.commits import begin_branch
from tidemark.lake.ledger import ensure_table
from tidemark.lake.marks import most_rows
from tidemark.lake.refs import DAY_MS, attempt_ref
from tidemark.lake.removal import find_table, purge_as_read
from tidemark.model.names import SYSTEM_PREFIX, AttemptId

_SCHEMA = pa.schema([pa.field("id", pa.int64())])
_CONTENT = b"written to be read back, and removed"
_ATTEMPT = AttemptId("probe")
_PREFIX = f"{SYSTEM_PREFIX}probe_"
PROBE = "tidemark.probe"
"""The property of such a table, by which it is known when somebody died before it went again."""


@contextmanager
def probe_table(catalog: Catalog, namespace: str) -> Iterator[Table]:
    """An empty table of a name of its own, which is removed with its files.

    ``namespace`` is made where it is not there, and stays: a run may have begun to fill it.
    """
    name = TableId(namespace, f"{_PREFIX}{uuid4().hex}")
    with catalog_errors(f"the look for namespace {namespace}"):
        is_there = catalog.namespace_exists(namespace)
    if is_there:
        _remove_left(catalog, namespace)
    try:
        yield ensure_table(catalog, name, _SCHEMA, {"format-version": "2", PROBE: "true"})
    finally:
        table = find_table(catalog, name)
        if table is not None:
            purge_as_read(catalog, name, table.metadata_location)


def _remove_left(catalog: Catalog, namespace: str) -> None:
    """Remove the empty probes that are older than a day: whoever made them is dead."""
    with catalog_errors(f"the list of tables in {namespace}"):
        names = [parts[-1] for parts in catalog.list_tables(namespace)]
    before_ms = time_ns() // 1_000_000 - DAY_MS
    for name in names:
        probe = TableId(namespace, name)
        table = find_table(catalog, probe) if name.startswith(_PREFIX) else None
        if table is None or PROBE not in table.properties:
            continue
        is_empty = all(not most_rows(snapshot) for snapshot in table.snapshots())
        if is_empty and table.metadata.last_updated_ms < before_ms:
            purge_as_read(catalog, probe, table.metadata_location)


def probe_files(table: Table) -> None:
    """Write a small file beside those of ``table``, read it back and remove it. `StorageError`."""
    place = f"{table.location()}/data/probe"
    with catalog_errors(f"the trial of {place}"):
        with table.io.new_output(place).create() as file:
            file.write(_CONTENT)
        with table.io.new_input(place).open() as file:
            content = file.read()
        table.io.delete(place)
    if content != _CONTENT:
        raise StorageError(
            f"{place} was read back as something else than was written",
            state=UNCHANGED,
            next_step="look what stands between this machine and the warehouse",
        )


def probe_branch(table: Table) -> None:
    """Make a branch of ``table``; `BranchLostError` where the catalog keeps none."""
    begin_branch(table, None, attempt_ref(1, _ATTEMPT))


def clock_of(catalog: Catalog) -> datetime | None:
    """What the catalog's server has for the time, to a second; None where it has no clock."""
    with catalog_errors("the question for the time"):
        if isinstance(catalog, RestCatalog):
            answer = catalog._session.get(catalog.url("config", prefixed=False))
            stamp = answer.headers.get("Date")
            return parsedate_to_datetime(stamp) if stamp else None
        if isinstance(catalog, SqlCatalog) and catalog.engine.dialect.name == "postgresql":
            with catalog.engine.connect() as connection:
                moment: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
            return moment.astimezone(UTC)
    return None
