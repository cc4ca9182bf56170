"""The quarantine: where what was set aside stands, why, and what became of it (POISON-1).

Rows are only added: one when a change is set aside, one more when it comes to an end. They are
staged on a branch with their cut and published in the same step, so that what a dead or blocked
attempt set aside is in it no more than in a target.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.expressions import And, EqualTo

from tidemark.lake.catalog import SystemTables, catalog_errors
from tidemark.lake.ledger import PROPERTIES, ensure_table
from tidemark.lake.marks import append_marked, read_published, refuse_foreign
from tidemark.lake.refs import Move, attempt_ref, create_branch, drop_dead_refs, main_head
from tidemark.model.event import Reason
from tidemark.model.names import AttemptId
from tidemark.model.quarantine import Entry, State, newest_states
from tidemark.model.renames import Rename

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


def stage_entries(
    catalog: SqlCatalog,
    tables: SystemTables,
    attempt: AttemptId,
    cut: int,
    rows: pa.Table,
) -> Move:
    """Add ``rows``, of SCHEMA, on the attempt's own branch; the move that publishes them."""
    quarantine = ensure_table(catalog, tables.quarantine, SCHEMA, PROPERTIES)
    refuse_foreign(quarantine, tables.quarantine, read_published(quarantine))
    drop_dead_refs(quarantine, cut)
    base, branch = main_head(quarantine), attempt_ref(cut, attempt)
    create_branch(quarantine, branch)
    with catalog_errors("the staging of the quarantine"):
        quarantine.append(rows, branch=branch)
    return Move(tables.quarantine, base, quarantine.refs()[branch].snapshot_id, (branch,))


def add_entries(catalog: SqlCatalog, tables: SystemTables, entries: Sequence[Entry]) -> None:
    """Add ``entries`` at once; `SupersededError` when a cut that has some is published meanwhile.

    Attempts that are staged and have some are superseded.
    """
    with catalog_errors("the writing of the quarantine"):
        quarantine = catalog.load_table(tables.quarantine.parts)
        refuse_foreign(quarantine, tables.quarantine, read_published(quarantine))
        append_marked(quarantine, rows_of(entries), {})


def read_entries(
    catalog: SqlCatalog, tables: SystemTables, renames: Sequence[Rename] = ()
) -> tuple[Entry, ...]:
    """Everything that was ever set aside, each in its newest state; no JVM.

    renames: of tables, that were followed; entries have the names of now.
    """
    with catalog_errors("the reading of the quarantine"):
        try:
            rows = catalog.load_table(tables.quarantine.parts).scan().to_arrow()
        except NoSuchTableError:
            return ()
    return newest_states(entry.under(renames) for entry in entries_of(rows))


def read_waiting(
    catalog: SqlCatalog, tables: SystemTables, renames: Sequence[Rename] = (), table: str = ""
) -> tuple[Entry, ...]:
    """What waits, of one table or of all."""
    entries = read_entries(catalog, tables, renames)
    return tuple(e for e in entries if e.state is State.WAITING and table in ("", e.table))


def read_payload(
    catalog: SqlCatalog, tables: SystemTables, place: tuple[str, int, int]
) -> bytes | None:
    """The value of the record at ``place`` (topic, partition, offset) as it was landed."""
    topic, partition, offset = place
    own = And(
        EqualTo(term="topic", value=topic),
        EqualTo(term="partition", value=partition),
        EqualTo(term="offset", value=offset),
    )
    with catalog_errors("the reading of the changelog"):
        changelog = catalog.load_table(tables.changelog.parts)
    found = changelog.scan(row_filter=own, selected_fields=("value",)).to_arrow().to_pylist()
    return found[0]["value"] if found else None
