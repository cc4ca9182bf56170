"""Records that the changelog has no more, as a base of their table stands for them (KEEP-1).

What went is said first, in a property of the changelog, and then deleted: it may say more than is
gone, and never less.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.expressions import (
    AlwaysFalse,
    And,
    EqualTo,
    IsNull,
    LessThan,
    Or,
)
from pyspark.sql import SparkSession

from tidemark.lake import sql
from tidemark.lake.catalog import SystemTables, TableId, catalog_errors, commit_errors
from tidemark.lake.marks import RETENTION, mark_removal
from tidemark.lake.refs import ancestors, main_head, summary_value
from tidemark.lake.spark_errors import spark_errors
from tidemark.lake.staging import SNAPSHOT_PROPERTY, unmark_session
from tidemark.model.event import Kind
from tidemark.model.maintenance import DAY_MS
from tidemark.model.names import TableName
from tidemark.model.stored_state import Stored, from_stored, to_stored

REMOVED = "tidemark.removed"
MARGIN_MS = DAY_MS
"""Records of so long before the newest change stay: they tell a new log from a repeat (POS-17)."""

Landings = Mapping[TableName, int]
"""Per name of a table in records the landing below which its rows are gone, or go."""


@dataclass(frozen=True, slots=True)
class Unneeded:
    """Records that may go.

    below: their landings, rows by table. others: kinds of records beside rows that go with the
    newest of them. newest_ms: source time of the newest change that is published.
    """

    below: Landings
    others: tuple[Kind, ...]
    newest_ms: int

    @property
    def before_ms(self) -> int:
        """Nothing goes whose source time is later, in ms since 1970."""
        return self.newest_ms - MARGIN_MS


def read_removed(catalog: Catalog, tables: SystemTables) -> Landings:
    """What was removed; nothing where the changelog is whole, or is not there."""
    with catalog_errors("the reading of the changelog"):
        try:
            changelog = catalog.load_table(tables.changelog.parts)
        except NoSuchTableError:
            return {}
    text = changelog.properties.get(REMOVED)
    return {} if text is None else removed_from_json(text)


def removed_to_json(below: Landings) -> str:
    """As kept in the property."""
    landings = {str(table): landing for table, landing in sorted(below.items())}
    return json.dumps(to_stored({"below": landings}))


def removed_from_json(text: str) -> Landings:
    """The reverse of `removed_to_json`."""
    landings = from_stored(Stored.REMOVED, json.loads(text))["below"]
    return {TableName.parse(name): landing for name, landing in landings.items()}


def rows_there(
    catalog: Catalog, tables: SystemTables, unneeded: Unneeded, limit: int | None = None
) -> int:
    """How many rows `remove_records` would find, ``limit`` at most. No JVM."""
    of_tables = [
        And(
            LessThan(term="landing", value=landing),
            EqualTo(term="source_schema", value=table.schema),
            EqualTo(term="source_table", value=table.table),
        )
        for table, landing in unneeded.below.items()
    ]
    is_below = Or(AlwaysFalse(), AlwaysFalse(), *of_tables)  # A balanced tree, however many tables.
    before = datetime.fromtimestamp(unneeded.before_ms / 1000, UTC)
    is_old = Or(IsNull(term="commit_time"), LessThan(term="commit_time", value=before))
    condition = And(is_below, EqualTo(term="kind", value=Kind.ROW.value), is_old)
    with catalog_errors("the reading of the changelog"):
        changelog = catalog.load_table(tables.changelog.parts)
    scan = changelog.scan(row_filter=condition, selected_fields=("landing",), limit=limit)
    return sum(batch.num_rows for batch in scan.to_arrow_batch_reader())


def say_removed(catalog: Catalog, tables: SystemTables, unneeded: Unneeded) -> None:
    """Say what is about to go, so that nobody builds upon it any more."""
    known = read_removed(catalog, tables)
    below = {table: max(at, known.get(table, 0)) for table, at in unneeded.below.items()}
    with commit_errors("the removal of records"):
        changelog = catalog.load_table(tables.changelog.parts)
        with changelog.transaction() as change:
            change.set_properties({REMOVED: removed_to_json({**known, **below})})


def remove_records(
    session: SparkSession, catalog: Catalog, tables: SystemTables, unneeded: Unneeded
) -> int:
    """Delete what is ``unneeded``, once that is said; how many records went."""
    unmark_session(session)
    name = tables.changelog
    with catalog_errors("the reading of the changelog"):
        since = main_head(catalog.load_table(name.parts))
    grouped: dict[int, list[TableName]] = {}
    for table, landing in unneeded.below.items():
        grouped.setdefault(landing, []).append(table)
    statement = sql.delete_records(
        (catalog.name, *name.parts), grouped, unneeded.others, unneeded.before_ms
    )
    mark = f"{SNAPSHOT_PROPERTY}{RETENTION}"
    session.conf.set(mark, str(max(grouped)))
    try:
        with spark_errors("the removal of records"):
            session.sql(statement)
    finally:
        session.conf.unset(mark)
    mark_removal(catalog, name)
    return _removed_since(catalog, name, since)


def _removed_since(catalog: Catalog, name: TableId, since: int | None) -> int:
    """How many records went behind the snapshot ``since``, as summaries count them."""
    with catalog_errors("the reading of the changelog"):
        changelog = catalog.load_table(name.parts)
    newer = takewhile(
        lambda snapshot: snapshot.snapshot_id != since, ancestors(changelog, main_head(changelog))
    )
    ours = [snapshot for snapshot in newer if summary_value(snapshot, RETENTION) is not None]
    counts = [
        int(summary_value(snapshot, f"{did}-records") or 0) * sign
        for snapshot in ours
        for did, sign in (("deleted", 1), ("added", -1))
    ]
    return sum(counts)
