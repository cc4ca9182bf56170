"""Airflow's programs take turns on SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine

from deploy.airflow.airflow_local_settings import create_metadata_engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with closing(sqlite3.connect(tmp_path / "airflow.db")) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE runs (id INTEGER)")
    made = create_metadata_engine(
        f"sqlite:///{tmp_path / 'airflow.db'}",
        connect_args={"check_same_thread": False},
        engine_args={},
    )
    yield made
    made.dispose()


def test_what_reads_and_then_writes_in_a_savepoint_has_its_turn(
    engine: Engine, tmp_path: Path
) -> None:
    with engine.connect() as first, closing(_impatient(tmp_path)) as second:
        with first.begin_nested():
            assert first.exec_driver_sql("SELECT count(*) FROM runs").scalar() == 0
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                second.execute("INSERT INTO runs VALUES (2)")
            first.exec_driver_sql("INSERT INTO runs VALUES (1)")
        first.commit()
        second.execute("INSERT INTO runs VALUES (2)")
        assert second.execute("SELECT id FROM runs ORDER BY id").fetchall() == [(1,), (2,)]


def test_a_savepoint_inside_a_transaction_begins_no_other(engine: Engine) -> None:
    with engine.connect() as connection:
        connection.exec_driver_sql("INSERT INTO runs VALUES (1)")
        with connection.begin_nested() as inner:
            connection.exec_driver_sql("INSERT INTO runs VALUES (2)")
            inner.rollback()
        connection.commit()
        assert connection.exec_driver_sql("SELECT id FROM runs").fetchall() == [(1,)]


def _impatient(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(folder / "airflow.db", timeout=0, isolation_level=None)
