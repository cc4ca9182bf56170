"""What a platform team runs on Iceberg tables that are not its own, and what it may do to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from pyiceberg.table import Table

from tests.support.stack import Stream
from tidemark.lake.catalog import SystemTables, TableId
from tidemark.model.names import quote

NOW = "TIMESTAMP '2999-01-01 00:00:00'"
TARGET_OPTIONS = "'rewrite-all','true'"
CALLS: Mapping[str, str] = {
    "rewrite_data_files": f"options => map({TARGET_OPTIONS})",
    "rewrite_position_delete_files": f"options => map({TARGET_OPTIONS})",
    "rewrite_manifests": "use_caching => false",
    "expire_snapshots": "",
    "expire_snapshots to the last": f"older_than => {NOW}, retain_last => 1",
}
"""Procedures of Iceberg for Spark, with what they are given beside the table."""


def target(stream: Stream) -> TableId:
    return TableId(stream.name, "items")


def own_tables(stream: Stream) -> list[TableId]:
    """Ledger, changelog and target of a stream, and its quarantine where it has one."""
    system = SystemTables.of(stream.pipeline.name)
    there = stream.world.catalog.table_exists(system.quarantine.parts)
    return [
        system.ledger,
        system.changelog,
        target(stream),
        *([system.quarantine] if there else []),
    ]


def load(stream: Stream, table: TableId) -> Table:
    return stream.world.catalog.load_table(table.parts)


def sql(stream: Stream, statement: str) -> None:
    """Run a statement as another session would: ours says of each snapshot whose it is."""
    session, ours = stream.world.spark, "spark.sql.iceberg.snapshot-property.tidemark."
    for name, _ in session.conf.getAll.items():
        if name.startswith(ours):
            session.conf.unset(name)
    session.sql(statement).collect()


def call(stream: Stream, procedure: str, table: TableId, given: str = "") -> None:
    """Call a procedure of the catalog on ``table``."""
    rest = f", {given}" if given else ""
    sql(stream, f"CALL lake.system.{procedure}(table => '{table}'{rest})")


def spark_maintenance(*names: str) -> Callable[[Stream], None]:
    """Runs these CALLS on all tables of a stream, one after the other."""

    def run(stream: Stream) -> None:
        for name in names:
            for table in own_tables(stream):
                call(stream, name.split(" ")[0], table, CALLS[name])

    return run


def pyiceberg_expiry(stream: Stream) -> None:
    """Expire all that no branch or tag needs, without Spark."""
    for table in own_tables(stream):
        later = datetime.now(UTC) + timedelta(days=1)
        load(stream, table).maintenance.expire_snapshots().older_than(later).commit()


def insertion(stream: Stream, table: TableId) -> str:
    """Puts a row 9 into a target."""
    return f"INSERT INTO {_named(stream, table)} (id, name) VALUES (9, 'x')"  # noqa: S608  names of our own


def deletion(stream: Stream, table: TableId, condition: str) -> str:
    """Deletes the rows that ``condition`` holds for."""
    return f"DELETE FROM {_named(stream, table)} WHERE {condition}"  # noqa: S608  names of our own


def merge(stream: Stream, table: TableId) -> str:
    """Changes row 1 of a target."""
    return (
        f"MERGE INTO {_named(stream, table)} t USING (SELECT 1 AS id) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET name = 'x'"
    )


def _named(stream: Stream, table: TableId) -> str:
    return quote(stream.world.catalog.name, *table.parts)
