"""What people run on tables of others: Iceberg's procedures with parameters in common use."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from pyiceberg.table import Table

from tests.support.maintenance import NOW, call, load, sql
from tests.support.stack import Stream
from tidemark.lake.catalog import TableId
from tidemark.lake.table_files import may_lose_files

ON_ANY: Mapping[str, Sequence[str]] = {
    "rewrite_data_files": (
        "",
        "options => map('rewrite-all','true')",
        "options => map('min-input-files','2')",
        "options => map('rewrite-all','true','partial-progress.enabled','true')",
        "options => map('delete-file-threshold','1','remove-dangling-deletes','true')",
        "options => map('rewrite-all','true','use-starting-sequence-number','false')",
    ),
    "rewrite_position_delete_files": ("", "options => map('rewrite-all','true')"),
    "rewrite_manifests": ("", "use_caching => false"),
    "expire_snapshots": (
        "",
        f"older_than => {NOW}",
        f"older_than => {NOW}, retain_last => 3",
        f"older_than => {NOW}, retain_last => 1, clean_expired_metadata => true",
        f"older_than => {NOW}, stream_results => true",
    ),
    "remove_orphan_files": ("", "dry_run => true", "prefix_listing => true"),
    "compute_table_stats": ("",),
    "compute_partition_stats": ("",),
}
ON_TARGETS: Mapping[str, Sequence[str]] = {
    "rewrite_data_files": (
        "strategy => 'sort', sort_order => 'id DESC NULLS LAST', "
        "options => map('rewrite-all','true')",
        "strategy => 'sort', sort_order => 'zorder(id, name)', "
        "options => map('rewrite-all','true')",
        "where => 'id > 2', options => map('rewrite-all','true')",
    ),
}


def maintain_as_stranger(
    stream: Stream, rng: random.Random, targets: Sequence[TableId], own: Sequence[TableId]
) -> str:
    """Call some procedure on some of the tables; returns what was called.

    No table is asked for what its `gc.enabled` forbids.
    """
    every = [*targets, *own]
    chosen = every if rng.random() < 0.3 else rng.sample(every, rng.randint(1, 2))
    procedure = rng.choice(list(ON_ANY))
    given = rng.choice(ON_ANY[procedure])
    if set(chosen) <= set(targets) and procedure in ON_TARGETS and rng.random() < 0.5:
        given = rng.choice(ON_TARGETS[procedure])
    for table in chosen:
        if _is_possible(load(stream, table), procedure):
            call(stream, procedure, table, given)
    return f"{procedure}({', '.join(map(str, chosen))}; {given})"


def _is_possible(table: Table, procedure: str) -> bool:
    if procedure in ("expire_snapshots", "remove_orphan_files") and not may_lose_files(table):
        return False
    if procedure == "compute_partition_stats" and not table.spec().fields:
        return False
    return table.current_snapshot() is not None


def _tag(stream: Stream, table: TableId, number: int) -> None:
    sql(stream, f"ALTER TABLE lake.{table} CREATE OR REPLACE TAG stranger_{number % 3}")


def _branch(stream: Stream, table: TableId, number: int) -> None:
    sql(stream, f"ALTER TABLE lake.{table} CREATE OR REPLACE BRANCH stranger_branch_{number % 2}")


def _property(stream: Stream, table: TableId, number: int) -> None:
    sql(stream, f"ALTER TABLE lake.{table} SET TBLPROPERTIES ('stranger'='{number}')")


def _untag(stream: Stream, table: TableId, number: int) -> None:
    sql(stream, f"ALTER TABLE lake.{table} DROP TAG IF EXISTS stranger_{number % 3}")


LABELS: Sequence[Callable[[Stream, TableId, int], None]] = (_tag, _branch, _property, _untag)
"""Tags, branches and properties of somebody's own, which change nothing."""
