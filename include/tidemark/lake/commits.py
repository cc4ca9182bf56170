"""What is written to a pipeline's own tables builds on what was read of them, or does not count."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table, Transaction

from tidemark.errors import UNCHANGED, BranchLostError, OutcomeUnknownError, SupersededError
from tidemark.lake.catalog import TableId, commit_errors
from tidemark.lake.publication import update_mains
from tidemark.lake.refs import (
    TRIES,
    RefUpdate,
    ancestors,
    attempt_ref,
    create_branch,
    drop_dead_refs,
    main_head,
    number_of,
)
from tidemark.model.names import AttemptId

NOTHING: Mapping[str, str] = MappingProxyType({})
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch of an attempt: it begins at ``base``, where ``main`` stood as its run read it."""

    table: TableId
    base: int
    name: str

    def ref_update(self, table: Table, marks: Mapping[str, str] = NOTHING) -> RefUpdate:
        """What makes the branch count as it stands in ``table``, just loaded or written to.

        marks: what the table is to say of it.
        """
        snapshot = table.refs()[self.name].snapshot_id
        return RefUpdate(self.table, self.base, snapshot, (self.name,), marks=tuple(marks.items()))


def begin_branch(table: Table, head: int | None, name: str) -> Branch:
    """Make the branch ``name`` (`attempt_ref`) at ``head``; branches of dead attempts go.

    head: where ``main`` was read; None: the table was not there. Then it begins at the empty
    snapshot that the table was made with, whoever made it. `SupersededError` when that is gone,
    `BranchLostError` where the catalog keeps no branches: nothing is staged then.
    """
    base = _first(table) if head is None else head
    if base is None or table.snapshot_by_id(base) is None:
        raise SupersededError(
            f"table {'.'.join(table.name())} no longer holds the snapshot that was read of it "
            f"({head or 'its first one'})",
            state=UNCHANGED,
            next_step="nothing to do: the next run starts from main as it is now",
        )
    drop_dead_refs(table, number_of(name))
    create_branch(table, name, base)
    if name not in table.refs():
        raise BranchLostError(
            f"the catalog accepted branch {name} of table {'.'.join(table.name())}, and the table "
            "does not have it",
            state=UNCHANGED,
            next_step="keep the tables in a catalog that has branches of Iceberg tables",
        )
    return Branch(TableId(*table.name()), base, name)


def _first(table: Table) -> int | None:
    *_, first = ancestors(table, main_head(table))
    return first.snapshot_id if first.parent_snapshot_id is None else None


def append_on(
    table: Table,
    branch: str,
    rows: pa.Table,
    summary: Mapping[str, str] = NOTHING,
    properties: Mapping[str, str] = NOTHING,
) -> None:
    """Append ``rows`` to the attempt's own ``branch``, whatever others do to the table meanwhile.

    The table's ``properties`` are set in the same commit.
    """

    def append(change: Transaction) -> None:
        change.append(rows, snapshot_properties=dict(summary), branch=branch)
        if properties:
            change.set_properties(dict(properties))

    _commit_on(table, append)


def append_files_on(
    table: Table, branch: str, files: Iterable[DataFile], summary: Mapping[str, str]
) -> None:
    """As `append_on`, of rows that are written; manifests are merged as the table says."""

    def append(change: Transaction) -> None:
        update = change.update_snapshot(snapshot_properties=dict(summary), branch=branch)
        with update.merge_append() as added:
            for file in files:
                added.append_data_file(file)

    _commit_on(table, append)


def _commit_on(table: Table, append: Callable[[Transaction], None]) -> None:
    """Have ``append`` change a branch of this attempt's own.

    A snapshot of another branch takes the sequence number that this one was to have. pyiceberg then
    raises a ValueError, and appends again by itself only where it is the branch that has moved.
    """
    while True:
        known = table.metadata_location
        try:
            with table.transaction() as change:
                append(change)
        except ValueError:
            if table.refresh().metadata_location == known:
                raise
        else:
            return


def action_branch(table: Table, head: int | None, cut: int) -> Branch:
    """A branch for an order that was decided by ``head``; cut: the newest that is published."""
    return begin_branch(table, head, attempt_ref(cut + 1, AttemptId(f"order_{uuid.uuid4().hex}")))


def stage_behind(
    catalog: Catalog,
    branch: Branch,
    rows: pa.Table,
    summary: Mapping[str, str] = NOTHING,
    marks: Mapping[str, str] = NOTHING,
) -> RefUpdate:
    """Append ``rows`` on ``branch``; the move that makes them count.

    marks: what the table is to say from then on.
    """
    with commit_errors("the writing of an order"):
        table = catalog.load_table(branch.table.parts)
        append_on(table, branch.name, rows, summary)
    return branch.ref_update(table, marks)


def append_behind(
    catalog: Catalog,
    branch: Branch,
    rows: pa.Table,
    summary: Mapping[str, str] = NOTHING,
    marks: Mapping[str, str] = NOTHING,
) -> None:
    """Append ``rows`` to ``main`` by way of ``branch``, whose base is what they were decided by.

    marks: what the table is to say from then on.
    `OutcomeUnknownError` when the catalog may record them yet (PUB-5), `SupersededError` when
    another commit came first. pyiceberg's append to ``main`` itself would be
    made again on top of that, and a cut's progress be lost.
    """
    staged = stage_behind(catalog, branch, rows, summary, marks)
    try:
        update_mains(catalog, [staged])
    except OutcomeUnknownError as error:
        raise OutcomeUnknownError(
            f"the catalog did not say whether the order was recorded: {error.what}",
            state="the order is recorded or not, now or within a minute; nothing was deleted",
            next_step="look whether it is, tidemark status, before you order it again",
        ) from error


def commit_order(order: Callable[[], T]) -> T:
    """Have ``order`` read, decide and write; all of it anew where another commit came between."""
    for _ in range(TRIES):
        try:
            return order()
        except SupersededError as error:
            last = error
    raise SupersededError(
        f"{TRIES} times another commit came between what was read and what was to be written: "
        f"{last.what}",
        state="the order is not recorded",
        next_step="give it again",
    ) from last
