"""Connectors with the rights that docs/sources.md grants, and no others."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from embedded.home import JARS
from embedded.ports import HOST
from tests.live import mariadb, mysql, postgres
from tests.live.recorder import Recorder
from tests.live.source import Source
from tests.live.worker import Worker
from tests.support.binlog_server import DATABASE
from tests.support.postgres import USER

PAGE = (Path(__file__).parents[2] / "docs" / "sources.md").read_text("utf-8")
LOGIN = {"database.user": "connector", "database.password": "secret"}


@dataclass(frozen=True)
class Granted:
    """A source whose connector has a user of its own; signals: the table, as it is told there."""

    source: Source
    signals: str
    settings: Mapping[str, str]


def granted(language: str, **names: str) -> list[str]:
    """The statements of the page, with the names of a test."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)
    for name, own in names.items():
        text = re.sub(rf"\b{name}\b", own, text)
    return [statement.strip() for statement in text.split(";") if statement.strip()]


def tables(signals: str) -> Sequence[str]:
    return [
        "CREATE TABLE items (id int PRIMARY KEY, name varchar(20))",
        "CREATE TABLE marker (id int PRIMARY KEY)",
        f"CREATE TABLE {signals} (id varchar(42) PRIMARY KEY, type varchar(32), data text)",
        *(f"INSERT INTO items VALUES ({number}, 'before')" for number in range(20)),
    ]


@contextmanager
def of_binlog(kind: str, worker: Worker) -> Iterator[Granted]:
    rng = random.Random(0)  # noqa: S311  nothing is drawn
    running = (
        mariadb.running_source(f"least_{kind}", rng, worker.servers)
        if kind == "mariadb"
        else mysql.running_source(
            f"least_{kind}", rng, worker.servers, JARS.parent / "mysql" / "root"
        )
    )
    with running as source:
        source.run(["CREATE DATABASE debezium", *tables("debezium.signal")])
        source.run(granted("mysql", shop=DATABASE))
        included = {
            "database.include.list": f"{DATABASE},debezium",
            "signal.data.collection": "debezium.signal",
        }
        yield Granted(source, "debezium.signal", LOGIN | included)


@contextmanager
def of_postgres(kind: str) -> Iterator[Granted]:
    rng = random.Random(0)  # noqa: S311  nothing is drawn
    with postgres.running_source(f"least_{kind}", rng, tells_ddl=False) as source:
        source.run([f"CREATE SCHEMA {postgres.SCHEMA}", *tables("debezium_signal")])
        source.run(granted("postgresql", public=postgres.SCHEMA, owner=USER))
        signals = f"{postgres.SCHEMA}.debezium_signal"
        yield Granted(source, signals, LOGIN | {"signal.data.collection": signals})


@pytest.mark.parametrize("kind", ["postgres", "mariadb", "mysql"])
def test_a_connector_needs_no_more_than_the_page_grants(worker: Worker, kind: str) -> None:
    """A snapshot, changes, a table that comes later, and an incremental snapshot."""
    with of_postgres(kind) if kind == "postgres" else of_binlog(kind, worker) as with_rights:
        source = with_rights.source
        recorder = Recorder(source, worker, has_schemas=False)
        worker.create(source.name, {**recorder.config, **with_rights.settings})
        recorder.end_stage("snapshot")
        assert ops(recorder, "items") == {"r": 20}
        data = json.dumps({"data-collections": [f"{source.namespace}.items"]})
        source.run(
            [
                "CREATE TABLE later (id int PRIMARY KEY)",
                "INSERT INTO later VALUES (1)",
                "UPDATE items SET name = 'behind' WHERE id = 3",
                "DELETE FROM items WHERE id = 4",
                f"INSERT INTO {with_rights.signals} VALUES ('s1', 'execute-snapshot', '{data}')",
            ]
        )
        recorder.end_stage("changes")
        assert ops(recorder, "items") == {"r": 20 + 19, "u": 1, "d": 1}
        assert ops(recorder, "later") == {"c": 1}
        worker.delete(source.name)
        if kind == "postgres":
            refuses_more(source)


def ops(recorder: Recorder, table: str) -> dict[str, int]:
    """How many changes of each kind came of a table."""
    counts: dict[str, int] = {}
    for line in recorder.lines:
        if line["topic"].endswith(f".{table}") and line["value"] is not None:
            op: Any = json.loads(line["value"])["op"]
            counts[op] = counts.get(op, 0) + 1
    return counts


def refuses_more(source: Any) -> None:
    """The same login may not change a row."""
    connection = psycopg2.connect(
        host=HOST, port=source.server.port, user="connector", dbname=source.name
    )
    with connection, connection.cursor() as session, pytest.raises(psycopg2.Error, match="denied"):
        session.execute(f"DELETE FROM {postgres.SCHEMA}.items")
    connection.close()
