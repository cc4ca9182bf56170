"""Publication in a REST catalog: one request that moves ``main`` of several tables.

Whether such a request is carried out whole when the server dies in the midst of it is up to the
server, and names of tables change one by one in any case. So a publication does not make again what
it finds made, and one that was left half made can be finished (`lake.unfinished`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import Field
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import Endpoint, RestCatalog
from pyiceberg.catalog.rest.response import _handle_non_200_response
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NoSuchTableError,
)
from pyiceberg.table import CommitTableRequest, Table, TableIdentifier
from pyiceberg.table.update import (
    AddPartitionSpecUpdate,
    AddSchemaUpdate,
    AddSnapshotUpdate,
    AddSortOrderUpdate,
    AssertCurrentSchemaId,
    AssertLastAssignedFieldId,
    RemovePropertiesUpdate,
    RemoveSnapshotRefUpdate,
    SetCurrentSchemaUpdate,
    SetDefaultSortOrderUpdate,
    SetDefaultSpecUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)
from pyiceberg.typedef import IcebergBaseModel
from requests import HTTPError

from tidemark.errors import UNCHANGED, SupersededError, TidemarkError
from tidemark.lake.catalog import TableId, commit_errors
from tidemark.lake.due import Due
from tidemark.lake.fork_metadata import remove_metadata_files
from tidemark.lake.marks import PUBLISHED
from tidemark.lake.refs import RefUpdate, ancestors
from tidemark.lake.removal import find_table
from tidemark.log import get_logger
from tidemark.model.names import SYSTEM_PREFIX

log = get_logger()

TOGETHER = Endpoint.from_string("POST /v1/{prefix}/transactions/commit")
"""What a server can do that changes several tables in one request."""
ADDED_LAST = -1
"""In the place of an id: that of what the same request adds last."""


class _Transaction(IcebergBaseModel):
    table_changes: tuple[CommitTableRequest, ...] = Field(alias="table-changes")


def moves_together(catalog: Catalog) -> bool:
    """Whether the catalog moves several tables at once, or each by a request of its own."""
    return not isinstance(catalog, RestCatalog) or TOGETHER in catalog._supported_endpoints


class RestPublication:
    """Moves that a server makes, in their order."""

    def __init__(self, catalog: RestCatalog, due: Sequence[Due]) -> None:
        self._catalog, self._due = catalog, due

    def publish(self) -> None:
        """Move main of all tables, then give those their names that get other ones."""
        renames = [move for move in self._due if move.ref_update.rename is not None]
        displaced = self._displaced(renames)
        self._commit(self._due)
        if renames:
            self._rename(renames, displaced)

    def clean_up(self) -> None:
        """Remove the forks from the catalog; `drop_dead_forks` finds those that stay."""
        for move in self._due:
            if move.fork is None:
                continue
            place = move.ref_update.place
            try:
                with commit_errors(f"the removal of fork {place}"):
                    self._catalog.drop_table(place.parts)
                remove_metadata_files(move.fork)
            except TidemarkError as error:
                log.warning("fork_left", fork=str(place), error=str(error))

    def _commit(self, due: Sequence[Due]) -> None:
        """One request for all tables where the server takes it, else one for each."""
        changes = [(move.table, *_change(move)) for move in due if not move.is_made]
        doing = f"the publication of {len(changes)} tables"
        if len(changes) > 1 and moves_together(self._catalog):
            requests = tuple(
                CommitTableRequest(
                    identifier=TableIdentifier(namespace=table.name()[:-1], name=table.name()[-1]),
                    requirements=requirements,
                    updates=updates,
                )
                for table, requirements, updates in changes
            )
            with commit_errors(doing):
                _post(self._catalog, _Transaction(table_changes=requests).model_dump_json())
            return
        for table, requirements, updates in changes:
            with commit_errors(doing):
                self._catalog.commit_table(table, requirements, updates)

    def _displaced(self, renames: Sequence[Due]) -> list[tuple[Table, TableId]]:
        """Tables that are to give their names away, and what they are called then.

        `SupersededError` where another table has such a name than the one that was seen there.
        """
        moved = {move.table.metadata.table_uuid for move in renames}
        displaced = []
        for move in renames:
            rename = move.ref_update.rename
            if rename is None or rename.displaced is None:
                continue
            holder = find_table(self._catalog, rename.to)
            if holder is None or holder.metadata.table_uuid in moved:
                continue
            if holder.metadata_location != rename.displaced.location:
                raise SupersededError(
                    f"{rename.to} was changed after a cut was staged that gives its name away",
                    state=UNCHANGED,
                    next_step="nothing to do: the next run starts from main as it is now",
                )
            displaced.append((holder, rename.displaced.to))
        return displaced

    def _rename(self, renames: Sequence[Due], displaced: Sequence[tuple[Table, TableId]]) -> None:
        """Free the names that are wanted, then take them: tables may exchange theirs."""
        with commit_errors(f"the renaming of {len(renames)} tables"):
            for move in renames:
                way = passing(move.ref_update)
                if TableId(*move.table.name()) != way:
                    self._rename_as_read(move.table, way)
            for holder, to in displaced:
                self._rename_as_read(holder, to)
            for move in renames:
                way, to = passing(move.ref_update), move.ref_update.published_as
                self._catalog.rename_table(way.parts, to.parts)

    def _rename_as_read(self, table: Table, to: TableId) -> None:
        """Give ``table`` the name ``to``: another one that got its name meanwhile keeps that.

        No request says which table of a name is meant: it is looked at twice, as it may change
        hands in between.
        """
        name, uuid = table.name(), table.metadata.table_uuid
        is_there = self._catalog.load_table(name).metadata.table_uuid == uuid
        if is_there and self._catalog.rename_table(name, to.parts).metadata.table_uuid == uuid:
            return
        if is_there:
            self._catalog.rename_table(to.parts, name)
        raise SupersededError(
            f"{TableId(*name)} was to be called {to}, and another table has its name: somebody "
            "dropped it and made that one",
            state="the rows of the cut may be published; that other table is not touched",
            next_step="nothing to do: the next run looks what is missing",
        )


def passing(ref_update: RefUpdate) -> TableId:
    """The name of a table on its way from one name to another."""
    return TableId(ref_update.table.namespace, f"{SYSTEM_PREFIX}renamed_{ref_update.snapshot}")


def _post(catalog: RestCatalog, text: str) -> None:
    """Have the server change several tables; pyiceberg 0.12 changes one at a time."""
    response = catalog._session.post(catalog.url("transactions/commit"), data=text.encode())
    try:
        response.raise_for_status()
    except HTTPError as error:
        unknown = dict.fromkeys((500, 502, 504), CommitStateUnknownException)
        known = {404: NoSuchTableError, 409: CommitFailedException, **unknown}
        _handle_non_200_response(error, known)


def _change(due: Due) -> tuple[tuple[TableRequirement, ...], tuple[TableUpdate, ...]]:
    """What a server is asked for one move, and what it is to look at first."""
    required = list(due.requirements())
    if due.fork is None:
        return tuple(required), tuple(due.updates(due.table))
    metadata = due.table.metadata
    required.append(AssertCurrentSchemaId(current_schema_id=metadata.current_schema_id))
    required.append(AssertLastAssignedFieldId(last_assigned_field_id=metadata.last_column_id))
    before = due.before
    moved = [
        update
        for update in due.updates(before)
        if not isinstance(update, RemoveSnapshotRefUpdate) or update.ref_name in due.table.refs()
    ]
    return tuple(required), (*_as_forked(due.table, before, due.ref_update), *moved)


def _as_forked(table: Table, fork: Table, ref_update: RefUpdate) -> Iterator[TableUpdate]:
    """What makes of ``table`` what ``fork`` is, beside the move itself.

    The fork has the ids of schemas, columns and snapshots that its table would have got.
    """
    yield from _layout(table, fork)
    known = {snapshot.snapshot_id for snapshot in table.snapshots()}
    new = [
        snapshot
        for snapshot in ancestors(fork, ref_update.snapshot)
        if snapshot.snapshot_id not in known
    ]
    first = min((snapshot.sequence_number or 0 for snapshot in new), default=None)
    if first is not None and first <= table.last_sequence_number:
        raise SupersededError(
            f"somebody wrote to {ref_update.table} after its fork {ref_update.place} was made",
            state=UNCHANGED,
            next_step="nothing to do: the next run starts from main as it is now",
        )
    for snapshot in reversed(new):
        yield AddSnapshotUpdate(snapshot=snapshot)
    for name, ref in fork.refs().items():
        if name not in (*table.refs(), *ref_update.drops):
            yield SetSnapshotRefUpdate(
                ref_name=name,
                type=ref.snapshot_ref_type,
                snapshot_id=ref.snapshot_id,
                max_ref_age_ms=ref.max_ref_age_ms,
                max_snapshot_age_ms=ref.max_snapshot_age_ms,
                min_snapshots_to_keep=ref.min_snapshots_to_keep,
            )
    excluded = (PUBLISHED,)
    text = {name: value for name, value in fork.properties.items() if name not in excluded}
    if changed := {n: value for n, value in text.items() if table.properties.get(n) != value}:
        yield SetPropertiesUpdate(updates=changed)
    if gone := [name for name in table.properties if name not in (*text, *excluded)]:
        yield RemovePropertiesUpdate(removals=gone)


def _layout(table: Table, fork: Table) -> Iterator[TableUpdate]:
    """Schemas, partition specs and sort orders that ``table`` lacks, and which are its own now."""
    old, new = table.metadata, fork.metadata
    schemas = [schema for schema in new.schemas if schema.schema_id not in table.schemas()]
    for schema in schemas:
        yield AddSchemaUpdate(schema_=schema)
    if new.current_schema_id != old.current_schema_id:
        added = [schema.schema_id for schema in schemas]
        yield SetCurrentSchemaUpdate(schema_id=_asked_as(new.current_schema_id, added))
    specs = [spec for spec in new.partition_specs if spec.spec_id not in table.specs()]
    for spec in specs:
        yield AddPartitionSpecUpdate(spec=spec)
    if new.default_spec_id != old.default_spec_id:
        added = [spec.spec_id for spec in specs]
        yield SetDefaultSpecUpdate(spec_id=_asked_as(new.default_spec_id, added))
    orders = [order for order in new.sort_orders if order.order_id not in table.sort_orders()]
    for order in orders:
        yield AddSortOrderUpdate(sort_order=order)
    if new.default_sort_order_id != old.default_sort_order_id:
        added = [order.order_id for order in orders]
        sort_id = _asked_as(new.default_sort_order_id, added)
        yield SetDefaultSortOrderUpdate(sort_order_id=sort_id)


def _asked_as(wanted: int, added: Sequence[int]) -> int:
    """How a request names what is to be current, of which it adds ``added``."""
    return ADDED_LAST if added and added[-1] == wanted else wanted
