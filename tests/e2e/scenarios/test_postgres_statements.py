"""DDL of a real PostgreSQL, as its event triggers write it into the log."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import psycopg2
import pytest
from psycopg2.extensions import cursor as Cursor

from tests.support.postgres import USER, running_postgres
from tests.support.records import Record, boundary, postgres_row
from tests.support.stack import Stream
from tidemark.model.result import CutResult
from tidemark.runs.plan import plan_cut
from tidemark.runs.world import World
from tidemark.schema.ddl_operations import Unsupported
from tidemark.schema.postgres_statements import TRIGGERS, postgres_operations

WAIT_SECONDS = 30
ANOTHER_KEY = "DROP CONSTRAINT items_pkey, ADD PRIMARY KEY (n)"
TYPES = {"id": "int64", "n": "int32", "counted": "int64"}
_CHANGES = """
SELECT lsn - '0/0', data FROM pg_logical_slot_get_binary_changes(
    'slot', NULL, NULL, 'proto_version', '1', 'publication_names', 'sent', 'messages', 'true')
"""


@dataclass
class Database:
    """A server, and the records that Debezium's connector sends of its DDL and its rows."""

    session: Cursor

    @classmethod
    def make(cls, session: Cursor) -> Database:
        """With the triggers, as somebody who may do no more than make tables."""
        session.execute(TRIGGERS.read_text())
        session.execute("SELECT pg_create_logical_replication_slot('slot', 'pgoutput')")
        session.execute("CREATE PUBLICATION sent FOR ALL TABLES; CREATE ROLE clerk")
        session.execute("CREATE SCHEMA shop AUTHORIZATION clerk; SET ROLE clerk")
        return cls(session)

    def run(self, statement: str) -> list[Record]:
        """Its messages."""
        self.session.execute(statement)
        self.session.execute("RESET ROLE")
        self.session.execute(_CHANGES)
        told = [(int(lsn), bytes(data)) for lsn, data in self.session.fetchall()]
        self.session.execute("SET ROLE clerk")
        return [_message(lsn, data) for lsn, data in told if data.startswith(b"M")]

    def messages(self, *statements: str) -> list[dict[str, Any]]:
        """What their messages hold."""
        return [_content(record) for statement in statements for record in self.run(statement)]

    @contextmanager
    def other_session(self) -> Iterator[Cursor]:
        """Of a superuser, beside this one."""
        with closing(psycopg2.connect(self.session.connection.dsn)) as connection:
            connection.autocommit = True
            yield connection.cursor()

    @contextmanager
    def while_waiting(self, statement: str) -> Iterator[Future[list[dict[str, Any]]]]:
        """Another session goes on while ``statement`` waits for a lock; result: `messages`."""
        with ThreadPoolExecutor(1) as pool, self.other_session() as other:
            messages = pool.submit(self.messages, statement)
            until = time.monotonic() + WAIT_SECONDS
            waiting = False
            while not waiting:
                assert time.monotonic() < until, f"{statement} waits for nothing"
                assert not messages.done(), messages.result()
                other.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
                ((waiting,),) = other.fetchall()
            yield messages

    def row(self, op: str, number: int, **columns: Any) -> Record:
        """A change that stands behind everything that happened so far."""
        self.session.execute("SELECT pg_current_wal_insert_lsn() - '0/0'")
        lsn = int(self.session.fetchall()[0][0])
        record = postgres_row(op, number, (lsn, lsn))
        assert record.value is not None
        body = json.loads(record.value)
        image = {"id": number, **columns}
        body["before" if op == "d" else "after"] = image
        fields = [
            {"field": name, "type": TYPES.get(name, "string"), "optional": name != "id"}
            for name in image
        ]
        schema = {"type": "struct", "fields": [{"field": "after", "fields": fields}]}
        return Record(json.dumps({"schema": schema, "payload": body}).encode(), record.key)


def _message(lsn: int, data: bytes) -> Record:
    """In the binary form it stands behind the prefix and its own length."""
    content = data[data.index(b"tidemark\0") + len(b"tidemark\0") + 4 :]
    source = {
        "connector": "postgresql",
        "ts_ms": 1_700_000_000_000,
        "snapshot": "false",
        "db": "store",
        "sequence": json.dumps([str(lsn), str(lsn)]),
        "schema": "",
        "table": "",
        "lsn": lsn,
    }
    told = {"prefix": "tidemark", "content": base64.b64encode(content).decode()}
    value = {"op": "m", "ts_ms": 1, "source": source, "transaction": None, "message": told}
    return Record(json.dumps(value).encode(), b'{"prefix":"tidemark"}')


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    """An empty one."""
    with running_postgres({"wal_level": "logical"}) as server:
        connection = psycopg2.connect(
            host="127.0.0.1", port=server.port, user=USER, dbname="postgres"
        )
        connection.autocommit = True
        yield Database.make(connection.cursor())
        connection.close()


@pytest.mark.smoke
def test_tables_follow_what_triggers_tell(world: World, database: Database) -> None:
    """SCHEMA-36, SCHEMA-14, SCHEMA-18, SCHEMA-30, MSG-30: and a copy of it changes nothing."""
    database.run("DROP TABLE IF EXISTS shop.items")
    stream = Stream(world, 1, "debezium-postgres", "none", has_statements=True).create()
    foreign = _message(1, b"tidemark\0....{}")
    assert foreign.value is not None
    stream.send([Record(foreign.value.replace(b'"tidemark"', b'"outbox"'))], stream.statements)
    messages = database.run("CREATE TABLE shop.items (id bigint PRIMARY KEY, name text)")
    rows = [database.row("c", number, name=f"row {number}") for number in (1, 2)]
    stream.send(messages, stream.statements)
    stream.send(rows)
    stream.cut()
    assert stream.rows() == {1: "row 1", 2: "row 2"}

    messages += database.run("ALTER TABLE shop.items ADD COLUMN n integer DEFAULT 7")
    messages += database.run("ALTER TABLE shop.items RENAME COLUMN name TO label")
    rows += [database.row("c", 3, label="row 3", n=3)]
    stream.send(messages[-2:], stream.statements)
    stream.send(rows[-1:])
    stream.cut()
    wanted = {
        1: {"id": 1, "label": "row 1", "n": 7},
        2: {"id": 2, "label": "row 2", "n": 7},
        3: {"id": 3, "label": "row 3", "n": 3},
    }
    assert _published(stream) == wanted
    stream.send(messages, stream.statements)
    stream.send(rows)
    stream.cut()
    assert _published(stream) == wanted

    messages += database.run("DROP TABLE shop.items")
    messages += database.run("CREATE TABLE shop.items (id bigint PRIMARY KEY, label integer)")
    stream.send(messages[-2:], stream.statements)
    stream.cut()
    assert _published(stream) == {}, "it is there, and empty"
    stream.send([database.row("c", 4)])
    stream.cut()
    assert _published(stream) == {4: {"id": 4, "label": None}}


def test_columns_join_with_the_first_record_that_has_them(world: World, database: Database) -> None:
    """SCHEMA-14, SCHEMA-38: what older rows got by an earlier statement is not forgotten."""
    database.run("DROP TABLE IF EXISTS shop.items")
    stream = Stream(world, 1, "debezium-postgres", "none", has_statements=True).create()
    made = database.run("CREATE TABLE shop.items (id bigint PRIMARY KEY, name text)")
    database.run("RESET ROLE; CREATE EXTENSION citext SCHEMA shop")
    stream.send(made, stream.statements)
    stream.send([database.row("c", number, name=f"row {number}") for number in (1, 2)])
    stream.cut()
    for statement in (
        "ADD COLUMN m integer DEFAULT 7",
        "RENAME COLUMN m TO n",
        "ADD COLUMN counted bigserial",
        "ADD COLUMN place shop.citext DEFAULT 'here'",
    ):
        stream.send(database.run(f"ALTER TABLE shop.items {statement}"), stream.statements)
        stream.cut()
    rows = {number: {"id": number, "name": f"row {number}", "n": 7} for number in (1, 2, 3)}
    unsent = rows.pop(3)
    assert _published(stream) == rows
    stream.send([database.row("c", 3, name="row 3", n=3, counted=3, place="here")])
    stream.cut()
    rows[3] = {**unsent, "n": 3}
    assert _published(stream) == rows, "no default of an extension's type is read"
    told = {"place": "here"}
    again = [database.row("u", n, name=f"row {n}", n=7, counted=n, **told) for n in (1, 2)]
    stream.send(again)
    for _ in range(2):
        stream.cut()
    assert _published(stream) == {n: {**row, **told, "counted": n} for n, row in rows.items()}


def test_statements_that_commit_in_their_midst_tell_nothing(database: Database) -> None:
    """SCHEMA-36: what the tables were before is known behind the commit, too."""
    database.run("CREATE TABLE shop.indexed (id bigint PRIMARY KEY, n integer)")
    for statement in (
        "CREATE INDEX CONCURRENTLY by_n ON shop.indexed (n)",
        "REINDEX TABLE CONCURRENTLY shop.indexed",
        "DROP INDEX CONCURRENTLY shop.by_n",
    ):
        assert database.run(statement) == []
    (message,) = database.messages("ALTER TABLE shop.indexed DROP COLUMN n")
    (change,) = message["tables"]
    assert change["before"]["name"] == change["after"]["name"] == "indexed"


def test_a_message_shows_nothing_that_other_sessions_did(database: Database) -> None:
    """SCHEMA-36: it is in their messages, at its place among the rows."""
    database.messages(
        *("CREATE TABLE shop.stays (id bigint PRIMARY KEY, a integer, b integer)",),
        *("CREATE TABLE shop.gone (id bigint PRIMARY KEY)",),
        "CREATE MATERIALIZED VIEW shop.slow AS SELECT pg_advisory_xact_lock(7)::text WITH NO DATA",
    )
    with database.other_session() as other:
        other.execute("SELECT pg_advisory_lock(7)")
        with database.while_waiting("REFRESH MATERIALIZED VIEW shop.slow") as refreshed:
            other.execute("ALTER TABLE shop.stays ADD c integer DEFAULT 5, DROP b")
            other.execute("ALTER TABLE shop.stays RENAME a TO z")
            other.execute("ALTER TABLE shop.stays DROP CONSTRAINT stays_pkey")
            other.execute("DROP TABLE shop.gone; CREATE TABLE shop.gone (id integer)")
            other.execute("GRANT SELECT ON shop.stays TO clerk; TRUNCATE shop.stays")
            other.execute("ALTER TABLE shop.stays RENAME TO renamed; CREATE TABLE shop.new (n int)")
            other.execute("SELECT pg_advisory_unlock(7)")
    messages = refreshed.result()
    assert len(messages) >= 7
    assert [m["tag"] for m in messages if m["tag"].startswith("REFRESH")] == []
    database.run("RESET ROLE; DROP TABLE shop.renamed, shop.gone, shop.new; SET ROLE clerk")


def test_a_table_that_two_sessions_change_is_shown_as_the_first_one_left_it(
    database: Database,
) -> None:
    """SCHEMA-36."""
    database.messages(
        "CREATE TABLE shop.both (id bigint PRIMARY KEY, a integer, b integer, d integer)"
    )
    with database.other_session() as other:
        other.execute("BEGIN; ALTER TABLE shop.both ADD c integer DEFAULT 5, DROP b")
        other.execute("ALTER TABLE shop.both RENAME a TO z; SAVEPOINT s")
        other.execute("ALTER TABLE shop.both DROP CONSTRAINT both_pkey; RELEASE s")
        statement = "ALTER TABLE shop.both ADD e integer DEFAULT 6, ADD PRIMARY KEY (d), DROP id"
        with database.while_waiting(statement) as altered:
            other.execute("COMMIT")
    *_, message = altered.result()
    assert message["statement"] == statement
    (change,) = message["tables"]
    assert _names(change["before"]) == {1: "id", 2: "z", 4: "d", 5: "c"}
    assert _names(change["after"]) == {2: "z", 4: "d", 5: "c", 6: "e"}
    assert change["after"]["columns"][-1]["fill"] == "6"
    assert change["after"]["key"] == ["d"]
    database.run("DROP TABLE shop.both")


def test_a_transaction_shows_what_each_of_its_statements_did(database: Database) -> None:
    """SCHEMA-36: also behind savepoints, and under locks that its own session holds."""
    first, *others, last = database.messages(
        "BEGIN; CREATE TABLE shop.steps (id bigint PRIMARY KEY, a integer); SAVEPOINT s;"
        "ALTER TABLE shop.steps RENAME a TO z; RELEASE s; SAVEPOINT t; DROP TABLE shop.steps;"
        "ROLLBACK TO t; ALTER TABLE shop.steps DROP CONSTRAINT steps_pkey;"
        "ALTER TABLE shop.steps ADD n integer DEFAULT 3; DROP TABLE shop.steps; COMMIT"
    )
    assert first["tables"][0]["before"] is None
    seen = [(_names(m["tables"][0]["after"]), m["tables"][0]["after"]["key"]) for m in others]
    assert seen == [
        ({1: "id", 2: "z"}, ["id"]),
        ({1: "id", 2: "z"}, []),
        ({1: "id", 2: "z", 3: "n"}, []),
    ]
    pairs = zip([first, *others], [*others, last], strict=True)
    assert all(m["tables"][0]["after"] == n["tables"][0]["before"] for m, n in pairs)
    assert last["tables"][0]["after"] is None


def test_a_default_of_a_domain_is_one(database: Database) -> None:
    """SCHEMA-38: its check has PostgreSQL rewrite the table, so that no value shows."""
    database.run("CREATE DOMAIN shop.size AS integer DEFAULT 5 CHECK (VALUE > 0)")
    database.run("CREATE TABLE shop.sizes (id bigint PRIMARY KEY)")
    (message,) = database.messages("ALTER TABLE shop.sizes ADD n shop.size")
    (change,) = message["tables"]
    assert change["before"]["file"] != change["after"]["file"]
    (added,) = [c for c in change["after"]["columns"] if c["name"] == "n"]
    assert (added["fill"], added["is_computed"]) == (None, True)


def test_generated_columns_show_by_their_numbers(database: Database) -> None:
    """SCHEMA-36, SCHEMA-38: the log has their values only from DROP EXPRESSION on."""
    column = "integer GENERATED ALWAYS AS (a * 2) STORED"
    (made, message) = database.messages(
        f"CREATE TABLE shop.twice (id bigint PRIMARY KEY, a integer, b {column})",
        "ALTER TABLE shop.twice ALTER b DROP EXPRESSION",
    )
    (change,) = message["tables"]
    assert made["tables"][0]["after"] == change["before"]
    assert (change["before"]["generated"], change["after"]["generated"]) == ([3], [])
    assert _names(change["before"]) == {1: "id", 2: "a"}
    assert _names(change["after"]) == {1: "id", 2: "a", 3: "b"}


def test_a_label_that_is_renamed_shows_the_columns_of_its_type(database: Database) -> None:
    """SCHEMA-26, SCHEMA-36: one that joins tells nothing, nor a type's new name."""
    database.run("CREATE TYPE shop.mood AS ENUM ('a', 'b'); CREATE TYPE shop.other AS ENUM ('a')")
    database.run("CREATE DOMAIN shop.feeling AS shop.mood")
    columns = "m shop.mood, n shop.other, o shop.feeling[]"
    database.run(f"CREATE TABLE shop.felt (id bigint PRIMARY KEY, {columns})")
    database.run("CREATE TABLE shop.plain (id bigint PRIMARY KEY, n shop.other)")
    assert database.run("ALTER TYPE shop.mood ADD VALUE 'c'") == []
    (message,) = database.messages("ALTER TYPE shop.mood RENAME VALUE 'a' TO 'z'")
    felt = {"schema": "shop", "name": "felt", "columns": ["m", "o"]}
    assert (message["tables"], message["relabeled"]) == ([], [felt])
    assert database.run("ALTER TYPE shop.mood RENAME TO feelings") == []


def test_label_of_an_enum_is_sought_in_composite_types_and_ranges(database: Database) -> None:
    """SCHEMA-26: a connector may send them as they are shown."""
    database.run("CREATE TYPE shop.level AS ENUM ('a', 'b')")
    database.run("CREATE TYPE shop.grade AS (n integer, s shop.level)")
    database.run("CREATE TYPE shop.levels AS RANGE (subtype = shop.level)")
    columns = "p shop.grade, ps shop.grade[], r shop.levels, n integer"
    database.run(f"CREATE TABLE shop.graded (id bigint PRIMARY KEY, {columns})")
    (message,) = database.messages("ALTER TYPE shop.level RENAME VALUE 'a' TO 'z'")
    graded = {"schema": "shop", "name": "graded", "columns": ["p", "ps", "r"]}
    assert message["relabeled"] == [graded]


def test_partitions_show_the_table_through_which_they_are_published(database: Database) -> None:
    """SCHEMA-26, SCHEMA-36, SCHEMA-38: also where one has partitions of its own."""
    parted = "PARTITION BY RANGE (id)"
    database.run(f"CREATE TABLE shop.p (id bigint PRIMARY KEY, a integer) {parted}")
    database.run(f"CREATE TABLE shop.q PARTITION OF shop.p FOR VALUES FROM (0) TO (9) {parted}")
    database.run("CREATE TABLE shop.q1 PARTITION OF shop.q FOR VALUES FROM (0) TO (5)")
    database.run("CREATE TABLE shop.q2 PARTITION OF shop.q FOR VALUES FROM (5) TO (9)")
    through_root = "RESET ROLE; ALTER PUBLICATION sent SET (publish_via_partition_root = {})"
    detach = "ALTER TABLE shop.q DETACH PARTITION shop.q2"
    attach = "ALTER TABLE shop.q ATTACH PARTITION shop.q2 FOR VALUES FROM (5) TO (9)"
    assert _stopped(database, detach) == _stopped(database, attach) == set()
    database.run(through_root.format("true"))
    assert _stopped(database, detach) == _stopped(database, attach) == {"shop.p"}
    assert _stopped(database, f"{detach} CONCURRENTLY") == {"shop.p"}
    database.run(attach)
    assert _stopped(database, "ALTER TABLE shop.p DETACH PARTITION shop.q") == {"shop.p", "shop.q"}
    attach = "ALTER TABLE shop.p ATTACH PARTITION shop.q FOR VALUES FROM (0) TO (9)"
    assert _stopped(database, attach) == {"shop.p", "shop.q"}
    for statement, roots in (
        ("ALTER TABLE shop.p ADD n integer DEFAULT 5", set()),
        ("ALTER TABLE shop.p ALTER a TYPE integer USING a * 2", {"shop.p", "shop.q1", "shop.q2"}),
        ("CREATE TABLE shop.r PARTITION OF shop.p FOR VALUES FROM (9) TO (20)", set()),
        ("DROP TABLE shop.q2", {"shop.p"}),
    ):
        assert _stopped(database, statement) == roots, statement
    (message,) = database.messages("ALTER TABLE shop.p RENAME TO root")
    assert len(message["tables"]) == 1, "partitions know their root by its number"
    with database.other_session() as other:
        detach = "BEGIN; ALTER TABLE shop.root DETACH PARTITION shop.q; LOCK shop.q1"
        other.execute(detach)
        with database.while_waiting("ALTER TABLE shop.q1 ADD CHECK (id > -1)") as checked:
            other.execute("COMMIT")
    assert [message["statement"] for message in checked.result()] == [detach]
    assert _stopped(database, "DROP TABLE shop.root, shop.q") == set()
    database.run(through_root.format("false"))


def test_the_triggers_can_be_installed_again(database: Database) -> None:
    """SCHEMA-36: that concerns no table."""
    database.run("CREATE TABLE shop.old (id bigint PRIMARY KEY)")
    assert database.run(f"RESET ROLE; {TRIGGERS.read_text()}; SET ROLE clerk") == []
    (message,) = database.messages("DROP TABLE shop.old")
    assert [change["after"] for change in message["tables"]] == [None]


def _stopped(database: Database, statement: str) -> set[str]:
    """Tables of which the messages of ``statement`` tell what cannot be followed."""
    operations = [
        operation
        for message in database.messages(statement)
        for operation in postgres_operations(json.dumps(message))
    ]
    return {str(one.table) for one in operations if isinstance(one, Unsupported)}


def _content(record: Record) -> dict[str, Any]:
    message = json.loads(record.value or b"")["message"]
    content: dict[str, Any] = json.loads(base64.b64decode(message["content"]))
    return content


def _names(state: dict[str, Any]) -> dict[int, str]:
    columns: Sequence[dict[str, Any]] = state["columns"]
    return {column["number"]: column["name"] for column in columns}


def _published(stream: Stream) -> dict[int, dict[str, Any]]:
    own = "_tidemark_"
    return {
        row["id"]: {name: value for name, value in row.items() if not name.startswith(own)}
        for row in stream.published()
    }


def test_a_transaction_goes_on_behind_its_statements(world: World, database: Database) -> None:
    """SCHEMA-11, SCHEMA-31, GATE-T2, GATE-T9: and so it does when all of it is sent again."""
    database.run("DROP TABLE IF EXISTS shop.items; DROP TABLE IF EXISTS shop.goods")
    options = {"other-tables": "follow"}
    stream = Stream(
        world, 1, "debezium-postgres", "transaction", options=options, has_statements=True
    ).create()
    messages = database.run("CREATE TABLE shop.items (id bigint PRIMARY KEY, n integer NOT NULL)")
    rows = [database.row("c", number, n=number) for number in (1, 2)]
    changes = [_in_transaction(row, "7:1", n) for n, row in enumerate(rows, 1)]
    ends = [boundary("BEGIN", "7:1"), boundary("END", "7:9", 2)]
    _send(stream, messages, changes, ends)
    stream.cut()
    changes = [database.row("u", 1, n=10)]
    messages = database.run(f"ALTER TABLE shop.items {ANOTHER_KEY}")
    changes += [_keyed(database.row("c", 3, n=30), n=30)]
    messages += database.run("ALTER TABLE shop.items RENAME TO goods")
    named = _keyed(database.row("c", 4, n=40), n=40)
    assert named.value is not None
    changes += [replace(named, value=named.value.replace(b'"items"', b'"goods"'))]
    changes = [_in_transaction(change, "8:1", n) for n, change in enumerate(changes, 1)]
    end = boundary("END", "8:99", 2)
    assert end.value is not None
    counts = json.loads(end.value)
    counts["data_collections"].append({"data_collection": "shop.goods", "event_count": 1})
    ends = [boundary("BEGIN", "8:1"), replace(end, value=json.dumps(counts).encode())]
    _send(stream, messages, changes, ends)
    results = _cuts(stream)
    assert [result.hold_code for result in results[:2]] == ["UNTIL", "UNTIL"]
    table = world.catalog.load_table((stream.name, "goods")).scan().to_arrow().to_pylist()
    wanted = {1: 10, 2: 2, 3: 30, 4: 40}
    assert {row["id"]: row["n"] for row in table} == wanted
    _send(stream, messages, changes, ends)
    _cuts(stream)
    table = world.catalog.load_table((stream.name, "goods")).scan().to_arrow().to_pylist()
    assert {row["id"]: row["n"] for row in table} == wanted
    assert not plan_cut(stream.pipeline, world).waiting


def _cuts(stream: Stream) -> list[CutResult]:
    """Those of what is new, until nothing waits."""
    results = [stream.cut()]
    while plan_cut(stream.pipeline, stream.world).has_work:
        assert len(results) < 9, results
        results.append(stream.cut())
    return results


def _send(
    stream: Stream, messages: Sequence[Record], changes: Sequence[Record], ends: Sequence[Record]
) -> None:
    stream.send(messages, stream.statements)
    stream.send(changes)
    stream.send(ends, stream.transactions)


def _in_transaction(change: Record, transaction: str, number: int = 1) -> Record:
    """``change`` as the event of that number in ``transaction``."""
    assert change.value is not None
    value = json.loads(change.value)
    value["payload"]["transaction"] = {"id": transaction, "total_order": number}
    return replace(change, value=json.dumps(value).encode())


def _keyed(change: Record, **key: Any) -> Record:
    """``change`` under another key."""
    return replace(change, key=json.dumps(key).encode())
