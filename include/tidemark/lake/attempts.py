"""Attempts that are over and whose cut is still the next one: what they left goes.

What attempts at earlier cuts left goes with the next write to each table (`lake.refs`). A cut that
no run publishes is tried at every run, and each try has a branch on every table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError

from tidemark.lake.catalog import SystemTables, TableId, catalog_errors
from tidemark.lake.forks import drop_forks_of, has_fork
from tidemark.lake.refs import attempt_ref, drop_refs, is_ref_of
from tidemark.lake.staged import drop_staged_of
from tidemark.model.names import AttemptId


def drop_attempts(
    catalog: Catalog,
    system: SystemTables,
    targets: Iterable[TableId],
    cut: int,
    attempts: Collection[AttemptId],
) -> None:
    """Remove what ``attempts`` at ``cut``, which nobody will publish, left of any table.

    The ledger comes last, by which they are known. Verdicts stay, and data files go with their
    snapshots. A table that another attempt has forked stays as it is, else that could not be
    published any more. `SupersededError` where somebody else commits time and again.
    """
    branches = {attempt_ref(cut, attempt) for attempt in attempts}
    drop_forks_of(catalog, system.ledger.namespace, branches)
    drop_staged_of(catalog, system.ledger.namespace, branches)
    for name in (*targets, system.changelog, system.quarantine, system.ledger):
        with catalog_errors(f"the reading of {name}"):
            try:
                table = catalog.load_table(name.parts)
            except NoSuchTableError:
                continue
        over = [ref for ref in table.refs() if any(is_ref_of(ref, of) for of in attempts)]
        if over and not has_fork(catalog, system.ledger.namespace, name):
            drop_refs(table, over)
