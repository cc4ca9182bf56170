"""The embedded Airflow's own database, SQLite, on which its programs have to take turns.

Airflow reads before it writes inside a savepoint, as in ``backfill create``. SQLite then lets both
read, and fails the one that writes second at once, whatever its patience: "database is locked".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event

__all__ = ["create_metadata_engine"]

PATIENCE = 60
"""Seconds to wait for another writer; Python's own five are short on a busy machine."""


def create_metadata_engine(
    sql_alchemy_conn: str, *, connect_args: Mapping[str, Any], engine_args: Mapping[str, Any]
) -> Engine:
    """Airflow's hook for its engine: a transaction that begins with a savepoint begins to write."""
    patient = {**connect_args, "timeout": PATIENCE}
    engine = create_engine(sql_alchemy_conn, connect_args=patient, **engine_args)

    @event.listens_for(engine, "savepoint")
    def begin(connection: Connection, _: str) -> None:
        driver: Any = connection.connection.dbapi_connection
        if not driver.in_transaction:
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine
