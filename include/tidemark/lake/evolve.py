"""Targets are made and changed here; what a target knows of its source stands in a property.

An Iceberg schema belongs to the table, not to a branch, so every change shows on main at once: what
is there already is changed on a fork of it (SCHEMA-10, `lake.forks`).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyspark.sql import SparkSession

from tidemark.errors import REFOLD, WAITING, TableStoppedError
from tidemark.lake import sql
from tidemark.lake.altered import alterations
from tidemark.lake.catalog import (
    TableId,
    catalog_errors,
    commit_errors,
    ensure_namespace,
    folder_of,
)
from tidemark.lake.history import TargetChange
from tidemark.lake.marks import (
    CUT,
    Published,
    descends,
    foreign_change,
    is_only_rewritten,
    most_rows,
    read_published,
    unmarked,
    way_back,
)
from tidemark.lake.refs import main_head
from tidemark.log import get_logger
from tidemark.model.columns import TableSchema, column_doc
from tidemark.model.names import SYSTEM_PREFIX, ColumnName
from tidemark.schema.changes import (
    AddColumn,
    ChangeKey,
    ChangeLayout,
    CreateTarget,
    DropColumn,
    RenameColumn,
    RewriteColumn,
    SchemaChange,
    WidenColumn,
    describe,
)

log = get_logger()

SOURCE_SCHEMA = "tidemark.source-schema"


@dataclass(frozen=True, slots=True)
class TargetHead:
    """A target as it was read: ``main``, the file of its metadata, and what it was made from.

    snapshot: None where nothing was ever published in it; published: what was; rows: how many its
    files hold. change: what somebody else did to its rows since, empty when nothing; altered: what
    to its columns and properties, so that nothing can be written in it. back: how to undo either,
    empty when nothing does.
    """

    snapshot: int | None
    metadata: str
    source_schema: TableSchema
    published: Published | None = None
    change: str = ""
    back: str = ""
    rows: int = 0
    altered: str = ""


def read_target(
    catalog: Catalog, target: TableId, newest: TargetChange | None = None
) -> TargetHead | None:
    """``target`` as it stands; None when there is no such table.

    newest: what the ledger remembers of it; None where no cut was published in it.
    """
    with catalog_errors(f"the reading of {target}"):
        try:
            table = catalog.load_table(target.parts)
        except NoSuchTableError:
            return None
    text = table.properties.get(SOURCE_SCHEMA)
    if text is None:
        raise TableStoppedError(
            f"table {target} exists but was not made by Tidemark",
            state="it is not touched; the records of the source table wait in the changelog",
            next_step="give the source table another target in the pipeline file, "
            "or move the table away",
        )
    schema = TableSchema.from_json(json.loads(text))
    published = read_published(table)
    change = unmarked(table, published) or foreign_change(table, published)
    back = way_back(table, target, published) if change else ""
    if not change and (change := _put_back(table, published, newest)):
        back = "put it back from its newest metadata file"
    altered = list(alterations(table, schema))
    if altered and not change and all(undo for _, undo in altered):
        back = f"undo it, in Spark: {'; '.join(undo for _, undo in altered)}"
    rows = most_rows(table.current_snapshot())
    return TargetHead(
        *(main_head(table), table.metadata_location, schema, published, change, back, rows),
        altered="; ".join(what for what, _ in altered),
    )


def _put_back(table: Table, published: Published | None, newest: TargetChange | None) -> str:
    """That ``table`` is as it was before its ``newest`` change, as a sentence; empty where not.

    What it says of itself is then sound, and rows are missing (PUB-11). A cut that changed no row
    published the snapshot of an earlier one, and what came behind it descends from that; or the
    one that maintenance had made of that, of which the first versions did not tell the table.
    """
    if published is None or newest is None or CUT not in published.marks:
        return ""
    cut = int(published.marks[CUT])
    if cut >= newest.cut or published.snapshot == newest.snapshot_id:
        return ""
    if descends(table, published.snapshot, newest.snapshot_id):
        return ""
    if is_only_rewritten(table, newest.snapshot_id):
        return ""
    return (
        f"cut {newest.cut} published snapshot {newest.snapshot_id} of it, and it stands at "
        f"snapshot {published.snapshot} of cut {cut}, as an older file of its metadata has it"
    )


def apply_changes(
    session: SparkSession,
    catalog: Catalog,
    target: TableId,
    changes: Sequence[SchemaChange],
    want: TableSchema,
) -> None:
    """Apply ``changes`` to ``target``, a new table or a fork, and keep ``want`` with it.

    Rows are filled on a branch (`lake.staging`), and rewritten on the fork (`lake.rewrite`).
    """
    name = (catalog.name, *target.parts)
    if any(isinstance(change, CreateTarget) for change in changes):
        ensure_namespace(catalog, target.namespace)
    _refuse_lost_layout(catalog, target, changes)
    location = _new_location(catalog, target)
    made = _made(name, changes, want, location)
    freed = _unidentified(catalog, target, name, changes)
    moved = map(sql.by_spark, _moved(name, changes))
    for statement in (*freed, *_let_go(name, changes), *moved, *made):
        session.sql(statement)
    for change in changes:
        log.info("schema_changed", table=str(target), change=describe(change))


def comment_columns(catalog: Catalog, target: TableId, comments: Mapping[ColumnName, str]) -> None:
    """Have columns of ``target``, a new table or a fork, say what the source says of them.

    Where it says nothing, what is there stays: somebody else may have written it.
    """
    if not comments:
        return
    with commit_errors(f"the comments of {target}"):
        table = catalog.load_table(target.parts)
        shown = {field.name: field.doc or "" for field in table.schema().fields}
        docs = {name: column_doc(text) for name, text in comments.items() if name in shown}
        with table.update_schema() as columns:
            for name, doc in docs.items():
                if doc and shown[name] != doc:
                    columns.update_column((name,), doc=doc)


def _unidentified(
    catalog: Catalog, target: TableId, name: Sequence[str], changes: Sequence[SchemaChange]
) -> Iterator[str]:
    """The statement before a key changes or goes: Iceberg frees and drops no identifier field.

    One that is rewritten goes, and another one comes. What follows the old key may hold null in
    older rows, so nothing identifies them any more.
    """
    is_changed = any(isinstance(change, ChangeKey) for change in changes)
    gone = {change.name for change in changes if isinstance(change, DropColumn)}
    gone |= {change.called for change in changes if isinstance(change, RewriteColumn)}
    if not is_changed and not gone:
        return
    with catalog_errors(f"the reading of {target}"):
        identifier = catalog.load_table(target.parts).schema().identifier_field_names()
    if identifier and (is_changed or gone & identifier):
        yield sql.drop_identifier(name, sorted(identifier))


def _refuse_lost_layout(catalog: Catalog, target: TableId, changes: Sequence[SchemaChange]) -> None:
    """Raise where a column goes by which files were ever laid out: nobody could write any more.

    So does one that gets another type, and another field id with it.
    """
    gone = {change.name: "dropped" for change in changes if isinstance(change, DropColumn)}
    gone |= {change.called: "rewritten" for change in changes if isinstance(change, RewriteColumn)}
    if not gone:
        return
    with catalog_errors(f"the reading of {target}"):
        table = catalog.load_table(target.parts)
    ids = {field.source_id for spec in table.metadata.partition_specs for field in spec.fields}
    ids |= {field.source_id for order in table.metadata.sort_orders for field in order.fields}
    for name, what in gone.items():
        if table.schema().find_field(name).field_id in ids:
            raise TableStoppedError(
                f"column {name} cannot be {what}: files were laid out by it, and Iceberg keeps "
                "every partition spec and sort order of a table",
                state=WAITING,
                next_step=REFOLD,
            )


def _schema_json(schema: TableSchema) -> str:
    return json.dumps(schema.to_json())


def _new_location(catalog: Catalog, target: TableId) -> str:
    """A folder that no table has: a target may leave its name, and another one get it."""
    return f"{folder_of(catalog)}/{target.namespace}/{target.table}-{uuid.uuid4().hex}"


def _made(
    name: Sequence[str], changes: Sequence[SchemaChange], want: TableSchema, location: str
) -> Iterator[str]:
    """Statements that make what is declared or joined, and keep what the table is now.

    A table that is made and not sorted yet says so, should it come no further. Columns join in one
    commit, however many: each commit writes all metadata of the table anew.
    """
    is_stored = False
    yield from map(sql.by_spark, _joined(name, changes))
    for change in changes:
        match change:
            case CreateTarget(schema):
                unsorted = replace(want, layout=replace(want.layout, sort=()))
                properties = {**sql.TARGET_PROPERTIES, SOURCE_SCHEMA: _schema_json(unsorted)}
                yield sql.create_target(name, schema, properties)
                # Not in the statement above: Spark would want a Hadoop file system for it.
                yield sql.by_spark(sql.set_location(name, location))
                if schema.identifier:
                    yield sql.set_identifier(name, schema.identifier)
                is_stored = unsorted == want
                if schema.layout.sort:
                    yield sql.sort_files(name, schema.layout.sort)
            case ChangeKey(free=free):
                yield from (sql.by_spark(sql.free_column(name, column)) for column in free)
            case ChangeLayout(layout, joined=joined):
                yield from (sql.add_partition_field(name, field) for field in joined)
                if layout.sort:
                    yield sql.sort_files(name, layout.sort)
    if not is_stored:
        yield sql.by_spark(sql.set_property(name, SOURCE_SCHEMA, _schema_json(want)))


def _joined(name: Sequence[str], changes: Sequence[SchemaChange]) -> Iterator[str]:
    """Statements that add columns and give them other types; one kind of them in one commit."""
    added = [change.column for change in changes if isinstance(change, AddColumn)]
    widened = [change.column for change in changes if isinstance(change, WidenColumn)]
    rewritten = [change.column for change in changes if isinstance(change, RewriteColumn)]
    if rewritten:
        yield sql.drop_columns(name, [column.name for column in rewritten])
    if added or rewritten:
        yield sql.add_columns(name, [*rewritten, *added])
    if widened:
        yield sql.widen_columns(name, widened)


def _let_go(name: Sequence[str], changes: Sequence[SchemaChange]) -> Iterator[str]:
    """Statements that end a layout, before columns go by which files were laid out."""
    for change in changes:
        if isinstance(change, ChangeLayout):
            yield from (sql.drop_partition_field(name, field) for field in change.gone)
            if change.was_sorted:
                yield sql.sort_files(name, ())


def _moved(name: Sequence[str], changes: Sequence[SchemaChange]) -> Iterator[str]:
    """Statements that drop and rename all at once: nobody takes a name that is still taken."""
    gone = [change.name for change in changes if isinstance(change, DropColumn)]
    renamed = [change for change in changes if isinstance(change, RenameColumn)]
    old_names = {change.was.lower() for change in renamed}
    passing = {
        change.was: f"{SYSTEM_PREFIX}moved_{number}"
        for number, change in enumerate(renamed)
        if change.name.lower() in old_names
    }
    if gone:
        yield sql.drop_columns(name, gone)
    yield from (sql.rename_column(name, was, over) for was, over in passing.items())
    for change in sorted(renamed, key=lambda change: change.was in passing):
        yield sql.rename_column(name, passing.get(change.was, change.was), change.name)
