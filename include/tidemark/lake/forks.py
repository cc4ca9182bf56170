"""Forks: a table's metadata under a name of its own, where a changed schema is staged.

An Iceberg schema belongs to the table and not to a branch, so a change of it would show on main at
once. A fork has the snapshots of its table and goes on from them, and owns no file of it
(`lake.fork_metadata`); publishing puts its metadata in the table's place, together with main
(SCHEMA-10, docs/adr/0009).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError

from tidemark.errors import CatalogUnreachableError
from tidemark.lake.catalog import TableId, catalog_errors, commit_errors
from tidemark.lake.fork_metadata import remove_metadata_files, write_fork_metadata
from tidemark.lake.refs import REF_PREFIX, Fork
from tidemark.log import get_logger

log = get_logger()

_DIGITS = 16
_FORK = re.compile(rf"{REF_PREFIX}(?P<number>\d+)_.+_[0-9a-f]{{{_DIGITS}}}")


def make_fork(catalog: Catalog, target: TableId, origin: str, namespace: str, branch: str) -> Fork:
    """A fork of ``target`` in ``namespace``; ``branch``: of the attempt.

    origin: the file of metadata with which the target was read; where it has another one by now,
    the fork can never be published.
    """
    fork = TableId(namespace, _name(target, branch))
    with commit_errors(f"the forking of {target}"):
        table = catalog.load_table(target.parts)
        catalog.register_table(fork.parts, write_fork_metadata(table))
    log.info("table_forked", table=str(target), fork=str(fork))
    return Fork(fork, origin)


def _name(target: TableId, branch: str) -> str:
    return f"{branch}_{_digest(target)}"


def _digest(target: TableId) -> str:
    return hashlib.sha256(str(target).encode()).hexdigest()[:_DIGITS]


def has_fork(catalog: Catalog, namespace: str, target: TableId) -> bool:
    """Whether an attempt, alive or dead, has forked ``target``."""
    return any(name.endswith(_digest(target)) for name in _forks(catalog, namespace))


def drop_dead_forks(catalog: Catalog, namespace: str, next_number: int) -> None:
    """Remove what attempts below ``next_number`` left: they can never be published any more."""
    for name in _forks(catalog, namespace):
        match = _FORK.fullmatch(name)
        if match and int(match["number"]) < next_number:
            _drop(catalog, TableId(namespace, name))


def drop_forks(
    catalog: Catalog, namespace: str, branch: str, target: TableId | None = None
) -> None:
    """Remove what the attempt of ``branch`` forked, or its fork of ``target`` alone."""
    wanted = re.compile(rf"{branch}_[0-9a-f]{{{_DIGITS}}}")
    for name in _forks(catalog, namespace):
        if wanted.fullmatch(name) and (target is None or name == _name(target, branch)):
            _drop(catalog, TableId(namespace, name))


def drop_forks_of(catalog: Catalog, namespace: str, branches: Collection[str]) -> None:
    """Remove what the attempts of ``branches`` forked."""
    for name in _forks(catalog, namespace):
        if name.rpartition("_")[0] in branches:
            _drop(catalog, TableId(namespace, name))


@contextmanager
def forks_dropped_on_error(catalog: Catalog, namespace: str, branch: str) -> Iterator[None]:
    """Where the body fails, the attempt of ``branch`` is never published: its forks go."""
    try:
        yield
    except BaseException:
        try:
            drop_forks(catalog, namespace, branch)
        except CatalogUnreachableError as error:
            log.warning("forks_left", branch=branch, error=str(error))
        raise


def _forks(catalog: Catalog, namespace: str) -> list[str]:
    with catalog_errors(f"the list of forks in {namespace}"):
        return [parts[-1] for parts in catalog.list_tables(namespace) if _FORK.fullmatch(parts[-1])]


def _drop(catalog: Catalog, fork: TableId) -> None:
    """Remove the entry first: what stays behind of the files is an orphan and no table."""
    table = None
    with commit_errors(f"the removal of fork {fork}"):
        try:
            table = catalog.load_table(fork.parts)
        except OSError as error:
            log.warning("fork_unreadable", fork=str(fork), error=str(error))
        except NoSuchTableError:
            return  # Another attempt removed it, or it was published.
        with suppress(NoSuchTableError):
            catalog.drop_table(fork.parts)
    if table is not None:
        remove_metadata_files(table)
