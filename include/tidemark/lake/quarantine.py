"""The quarantine: where what was quarantined stands, why, and what became of it (POISON-1).

Rows are only added: one when a change is quarantined, one more when it comes to an end. They are
staged on a branch with their cut and published in the same step, so that what a dead or blocked
attempt quarantined is in it no more than in a target.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.expressions import (
    AlwaysTrue,
    And,
    BooleanExpression,
    EqualTo,
    In,
    IsNull,
)
from pyiceberg.table.refs import MAIN_BRANCH

from tidemark.errors import UNCHANGED, ForeignChangeError
from tidemark.lake.catalog import SystemTables, catalog_errors, commit_errors
from tidemark.lake.commits import action_branch, append_behind, append_on, begin_branch
from tidemark.lake.ledger import PROPERTIES, ensure_table
from tidemark.lake.marks import ANEW, read_checked
from tidemark.lake.refs import RefUpdate, main_head
from tidemark.model.event import Reason
from tidemark.model.names import TableName, few
from tidemark.model.quarantine import Entry, State, name_in_record, newest_states
from tidemark.model.renames import Rename, steps

EVERYTHING = AlwaysTrue()

SCHEMA = pa.schema(
    [
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("row", pa.int32()),
        pa.field("code", pa.string()),
        pa.field("table", pa.string()),
        pa.field("column", pa.string()),
        pa.field("position", pa.string()),
        pa.field("kafka_time", pa.timestamp("us", tz="UTC")),
        pa.field("bytes", pa.int64()),
        pa.field("sha256", pa.string()),
        pa.field("cut", pa.int64()),
        pa.field("state", pa.string()),
        pa.field("reason", pa.string()),
    ]
)


def rows_of(entries: Sequence[Entry]) -> pa.Table:
    """``entries`` as rows of the table."""
    fields = SCHEMA.names
    rows = [{name: getattr(entry, name) for name in fields} for entry in entries]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def entries_of(rows: pa.Table) -> list[Entry]:
    """The reverse of `rows_of`."""
    return [
        Entry(**row | {"code": Reason(row["code"]), "state": State(row["state"])})
        for row in rows.to_pylist()
    ]


def as_stored(rows: pa.Table, renames: Sequence[Rename]) -> pa.Table:
    """``rows``, which have the names of now, with those that their records have.

    `read_entries` follows ``renames`` from there; names that tables exchanged would be followed
    twice (SCHEMA-34).
    """
    if not renames:
        return rows
    changes = rows.select(["table", "position"]).to_pylist()
    names = [name_in_record(change["table"], change["position"], renames) for change in changes]
    at = rows.schema.get_field_index("table")
    return rows.set_column(at, rows.schema.field(at), pa.array(names, pa.string()))


def read_quarantine(
    catalog: Catalog, tables: SystemTables, quarantined: Collection[TableName]
) -> int | None:
    """Where ``main`` stands; None when nothing was ever quarantined.

    quarantined: the tables of which changes were, by the ledger. `ForeignChangeError`: it is gone
    or recreated though there are some, somebody else changed or moved its rows (PUB-11), or nothing
    tells what they are (PUB-10).
    """
    with catalog_errors("the reading of the quarantine"):
        try:
            quarantine = catalog.load_table(tables.quarantine.parts)
        except NoSuchTableError:
            _refuse_lost(tables, quarantined)
            return None
        # A REST server that stopped on the way has its rows on a branch yet (PUB-13).
        is_moved = set(quarantine.refs()) <= {MAIN_BRANCH}
        if read_checked(quarantine, tables.quarantine) is None and is_moved:
            _refuse_lost(tables, quarantined)
        return main_head(quarantine)


def _refuse_lost(tables: SystemTables, quarantined: Collection[TableName]) -> None:
    if quarantined:
        names = few([str(table) for table in sorted(quarantined)])
        raise ForeignChangeError(
            f"changes of {names} were quarantined, and "
            f"{tables.quarantine} has none of them: somebody dropped or recreated it",
            state=UNCHANGED,
            next_step=f"put it back from its newest metadata file; else {ANEW}",
        )


def stage_entries(
    catalog: Catalog, tables: SystemTables, head: int | None, branch: str, rows: pa.Table
) -> RefUpdate:
    """Add ``rows``, of SCHEMA, on the attempt's ``branch``; the move that publishes them.

    head: of the quarantine, as the run read it.
    """
    quarantine = ensure_table(catalog, tables.quarantine, SCHEMA, PROPERTIES)
    begun = begin_branch(quarantine, head, branch)
    with commit_errors("the staging of the quarantine"):
        append_on(quarantine, branch, rows)
    return begun.ref_update(quarantine)


def add_entries(
    catalog: Catalog, tables: SystemTables, head: int | None, cut: int, entries: Sequence[Entry]
) -> None:
    """Add ``entries`` at once; attempts that are staged and have some are superseded.

    head: where the quarantine was read before ``entries`` were decided upon. cut: the newest that
    is published. `SupersededError` when a cut that has some is published meanwhile.
    """
    quarantine = ensure_table(catalog, tables.quarantine, SCHEMA, PROPERTIES)
    append_behind(catalog, action_branch(quarantine, head, cut), rows_of(entries))


def read_entries(
    catalog: Catalog,
    tables: SystemTables,
    renames: Sequence[Rename] = (),
    wanted: BooleanExpression = EVERYTHING,
) -> tuple[Entry, ...]:
    """What was ever quarantined, of the rows that are ``wanted``, each in its newest state; no JVM.

    renames: of tables, that were followed; entries have the names of now.
    """
    rows = _read(catalog, tables, wanted)
    return newest_states(entry.under(renames) for entry in entries_of(rows))


def read_waiting(
    catalog: Catalog, tables: SystemTables, renames: Sequence[Rename] = (), table: str = ""
) -> tuple[Entry, ...]:
    """What waits, of one table or of all; costs little for what has come to an end."""
    rows = waiting_rows(_read(catalog, tables, EVERYTHING))
    entries = newest_states(entry.under(renames) for entry in entries_of(rows))
    return tuple(entry for entry in entries if table in ("", entry.table))


def read_records_waiting(
    catalog: Catalog, tables: SystemTables, fresh: pa.Table | None
) -> tuple[Entry, ...]:
    """What waits of whole records, by the names in them, once ``fresh`` rows are there as well."""
    rows = _read(catalog, tables, IsNull(term="row"))
    if fresh is not None:
        rows = pa.concat_tables([rows, fresh.filter(pc.field("row").is_null())])
    return newest_states(entries_of(waiting_rows(rows)))


def waiting_rows(rows: pa.Table) -> pa.Table:
    """Those of ``rows``, of SCHEMA, whose change came to no end since; it may have several.

    By columns: there may be a hundred times more that is over.
    """
    waits = pc.equal(rows["state"], State.WAITING.value)
    waiting, ended = rows.filter(waits), rows.filter(pc.invert(waits))
    ends = pa.table({"change": _changes(ended), "cut": ended["cut"]})
    newest = ends.group_by("change").aggregate([("cut", "max")]).combine_chunks()
    at = pc.index_in(_changes(waiting), newest["change"].combine_chunks())
    came_later = pc.greater(waiting["cut"], pc.take(newest["cut_max"], at))
    return waiting.filter(pc.fill_null(came_later, fill_value=True))


def _changes(rows: pa.Table) -> pa.ChunkedArray:
    """One text for the change of each row; no name of a topic has a colon."""
    parts = (pc.cast(rows[name], pa.string()) for name in ("topic", "partition", "offset", "row"))
    return pc.binary_join_element_wise(*(pc.fill_null(part, "") for part in parts), ":")


def of_table(table: str, renames: Sequence[Rename]) -> BooleanExpression:
    """Rows that may be of ``table``, by all names that records may have for it."""
    former = {str(old) for _, names in steps(renames) for old in names}
    return In(term="table", literals={table, *former})


def of_record(place: tuple[str, int, int]) -> BooleanExpression:
    """Rows of the record at ``place`` (topic, partition, offset), in the changelog as well."""
    topic, partition, offset = place
    return And(
        EqualTo(term="topic", value=topic),
        EqualTo(term="partition", value=partition),
        EqualTo(term="offset", value=offset),
    )


def _read(catalog: Catalog, tables: SystemTables, wanted: BooleanExpression) -> pa.Table:
    """Rows of SCHEMA; none where nothing was ever quarantined."""
    with catalog_errors("the reading of the quarantine"):
        try:
            quarantine = catalog.load_table(tables.quarantine.parts)
        except NoSuchTableError:
            return SCHEMA.empty_table()
        return quarantine.scan(row_filter=wanted).to_arrow().select(SCHEMA.names).cast(SCHEMA)


def read_payload(
    catalog: Catalog, tables: SystemTables, place: tuple[str, int, int]
) -> bytes | None:
    """The value of the record at ``place`` (topic, partition, offset) as it was landed."""
    with catalog_errors("the reading of the changelog"):
        changelog = catalog.load_table(tables.changelog.parts)
    scan = changelog.scan(row_filter=of_record(place), selected_fields=("value",))
    rows = scan.to_arrow().to_pylist()
    return rows[0]["value"] if rows else None
