"""Forks: a table's metadata under a name of its own, where a changed schema is staged.

An Iceberg schema belongs to the table and not to a branch, so a change of it would show on main at
once. A fork has the files and snapshots of its table and goes on from them; publishing puts its
metadata in the table's place, together with main (SCHEMA-10, docs/adr/0009).
"""

from __future__ import annotations

import hashlib
import re

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError

from tidemark.lake.catalog import TableId, commit_errors
from tidemark.lake.refs import REF_PREFIX, Fork
from tidemark.log import get_logger

log = get_logger()

_FORK = re.compile(rf"{REF_PREFIX}(?P<number>\d+)_.+")


def make_fork(catalog: SqlCatalog, target: TableId, namespace: str, branch: str) -> Fork:
    """A fork of ``target`` as it is now, in ``namespace``; ``branch``: of the attempt."""
    name = f"{branch}_{hashlib.sha256(str(target).encode()).hexdigest()[:16]}"
    fork = TableId(namespace, name)
    with commit_errors(f"the forking of {target}"):
        origin = catalog.load_table(target.parts).metadata_location
        catalog.register_table(fork.parts, origin)
    log.info("table_forked", table=str(target), fork=str(fork))
    return Fork(fork, origin)


def drop_dead_forks(catalog: SqlCatalog, namespace: str, next_number: int) -> None:
    """Remove what attempts below ``next_number`` left; their files are those of the tables."""
    with commit_errors(f"the removal of old forks in {namespace}"):
        for parts in catalog.list_tables(namespace):
            match = _FORK.fullmatch(parts[-1])
            if match and int(match["number"]) < next_number:
                _drop(catalog, parts)


def _drop(catalog: SqlCatalog, parts: tuple[str, ...]) -> None:
    try:
        catalog.drop_table(parts)
    except NoSuchTableError:
        return  # Another attempt removed it.
