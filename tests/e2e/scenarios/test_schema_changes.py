"""Columns that join, go and take other names, in random histories and by every kind of source.

The published rows are compared with a table in plain Python after each cut.
"""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.altered import AlteredTable, Sent
from tests.support.altered_at_random import change_at_random
from tests.support.altered_stream import begin, field_ids, opened, rows_of, send
from tests.support.records import Record, canal_rows, canal_statement
from tests.support.smoke import first_in_smoke
from tests.support.stack import Stream
from tidemark.errors import (
    ActionRefusedError,
    AuditBlockedError,
    SupersededError,
    TableStoppedError,
)
from tidemark.lake.catalog import SystemTables
from tidemark.lake.history import read_history
from tidemark.lake.refs import REF_PREFIX
from tidemark.model.names import TableName
from tidemark.model.position import Position
from tidemark.model.result import CutStatus
from tidemark.runs.cut import stage_cut
from tidemark.runs.orders import skip_statement
from tidemark.runs.plan import plan_cut
from tidemark.runs.publish import publish_cut
from tidemark.runs.refold import begin_refold
from tidemark.runs.run import CutRequest
from tidemark.runs.status import pipeline_status
from tidemark.runs.world import World

STATEMENTS = 30


def tags_of(stream: Stream) -> list[int]:
    """The snapshots that are kept of what cuts took away."""
    refs = stream.world.catalog.load_table((stream.name, "items")).refs()
    return [ref.snapshot_id for name, ref in refs.items() if "before_cut" in name]


def forks_of(stream: Stream) -> list[str]:
    """Names of the forks that are in the pipeline's own namespace."""
    own = SystemTables.of(stream.pipeline.name).ledger.namespace
    names = (parts[-1] for parts in stream.world.catalog.list_tables(own))
    return [name for name in names if name.startswith(REF_PREFIX)]


def sent_again(stream: Stream, table: AlteredTable, rng: random.Random) -> list[Sent]:
    """A stretch up to the newest record; without positions one that holds no statement."""
    first = 0
    if stream.format == "canal-json":
        first = max((n for n, sent in enumerate(table.sent) if sent.is_ddl), default=-1) + 1
    return table.sent[rng.randrange(first, len(table.sent) + 1) :]


FAMILIES = ("debezium", "ticdc", "canal", "debezium with schemas")


@pytest.mark.smoke
def test_random_histories(world: World, seed: int) -> None:
    """SCHEMA-4, SCHEMA-10, SCHEMA-14, SCHEMA-30, with cuts anywhere and records sent again."""
    rng = random.Random(f"schema changes {seed}")  # noqa: S311  repeatable, not secret
    stream, table = opened(world, FAMILIES[seed % len(FAMILIES)])
    begin(table)
    start = 0
    for number in range(STATEMENTS):
        change_at_random(table, rng)
        if rng.random() > 0.15 and number < STATEMENTS - 1:
            continue
        again = sent_again(stream, table, rng) if rng.random() < 0.4 else []
        send(stream, [*table.sent[start:], *again], table)
        start = len(table.sent)
        stream.cut()
        assert rows_of(stream) == table.expected, f"statement {number}"


SUITE = """\
suite: columns
expectations:
  - {expect: expect_column_to_exist, arguments: {column: name}, severity: critical, scope: table}
"""


def test_columns_that_change_alone_are_audited(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PUB-7: a cut without rows that drops a column is published only if the suite agrees."""
    (tmp_path / "columns.yaml").write_text(SUITE)
    monkeypatch.setenv("TIDEMARK_EXPECTATIONS", str(tmp_path))
    stream, table = opened(world, "ticdc")
    stream.table = {"expectations": "columns"}
    begin(table)
    table.alter("ADD COLUMN more int", added={"more": ("int", None)})
    table.put(1, more=1)
    send(stream, table.sent, table)
    stream.cut()
    changes = {"DROP COLUMN more": "more", "DROP COLUMN name": "name"}
    results = []
    for change, column in changes.items():
        start = len(table.sent)
        table.alter(change, dropped=[column])
        send(stream, table.sent[start:], table)
        request = CutRequest(stream.attempt())
        results.append(stage_cut(stream.pipeline, world, request))
        if results[-1].status is CutStatus.STAGED:
            publish_cut(stream.pipeline, world, request.attempt)
    assert [result.status for result in results] == [CutStatus.STAGED, CutStatus.BLOCKED]
    counts = [
        (change.outcome, change.inserted, change.updated, change.deleted)
        for result in results
        for change in result.tables
    ]
    assert counts == [("pass", 0, 0, 0), ("block", 0, 0, 0)]
    assert {"name", "more"} & field_ids(stream).keys() == {"name"}
    with pytest.raises(AuditBlockedError, match="items"):
        publish_cut(stream.pipeline, world, request.attempt)


FILLED = """\
suite: filled
expectations:
  - expect: expect_column_values_to_be_between
    arguments: {column: more, max_value: 5}
    severity: critical
    scope: changed
"""


def test_suites_read_rows_that_a_default_changed(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SCHEMA-14: rows that a statement gave a value are changed as those that a record did."""
    (tmp_path / "filled.yaml").write_text(FILLED)
    monkeypatch.setenv("TIDEMARK_EXPECTATIONS", str(tmp_path))
    stream, table = opened(world, "debezium")
    begin(table)
    table.put(1)
    send(stream, table.sent, table)
    stream.cut()
    start = len(table.sent)
    stream.table = {"expectations": "filled"}
    table.alter("ADD COLUMN more int NOT NULL DEFAULT 7", added={"more": ("int", 7)})
    table.put(2, more=1)
    send(stream, table.sent[start:], table)
    result = stage_cut(stream.pipeline, world, CutRequest(stream.attempt()))
    assert (result.status, result.tables[0].updated) == (CutStatus.BLOCKED, 1)


@pytest.mark.parametrize("mask", ["hash", "redact"])
def test_default_of_a_masked_column_is_masked(world: World, mask: str) -> None:
    """SCHEMA-14: the audit looks for what the target has in place of it."""
    stream, table = opened(world, "debezium")
    begin(table)
    table.put(1)
    send(stream, table.sent, table)
    stream.cut()
    start = len(table.sent)
    stream.table = {"target-columns": {mask: ["more"]}}
    table.alter("ADD COLUMN more varchar(9) DEFAULT 'x'", added={"more": ("varchar(9)", "x")})
    send(stream, table.sent[start:], table)
    assert stage_cut(stream.pipeline, world, CutRequest(stream.attempt())).status == "staged"


@pytest.mark.parametrize("family", ["ticdc", "debezium"])
def test_an_online_schema_change_is_an_alter_of_its_table(world: World, family: str) -> None:
    """SCHEMA-32, SCHEMA-33: begun in one cut, ended amid the rows of the next, and sent again."""
    stream, table = opened(world, family)
    stream.options = {"other-tables": "follow"}
    begin(table)
    table.alter("ADD a int", added={"a": ("int", None)})
    table.begin_migration(
        "gho",
        "DROP a, ADD b int NOT NULL DEFAULT 7",
        dropped=["a"],
        added={"b": ("int", 7)},
    )
    table.put(1, a=3)
    send(stream, table.sent, table)
    assert stream.cut().buckets["filtered"] == 5
    assert rows_of(stream) == table.expected
    before, ids = rows_of(stream), field_ids(stream)
    snapshot = world.catalog.load_table((stream.name, "items")).metadata.current_snapshot_id
    start = len(table.sent)
    table.put(2, a=4)
    table.put(6, name="last before", a=5)
    table.end_migration(as_parts=True)
    table.put(1, b=8)
    table.put(7, name="first behind", b=9)
    table.delete(3)
    send(stream, table.sent[start:], table)
    stream.cut()
    assert rows_of(stream) == table.expected
    assert {name: ids[name] for name in ("id", "name")}.items() <= field_ids(stream).items()
    assert rows_of(stream, snapshot) == before
    send(stream, table.sent, table)
    stream.cut()
    table.put(1, b=10)
    send(stream, table.sent[-1:], table)
    stream.cut()
    assert rows_of(stream) == table.expected
    assert world.catalog.list_tables(stream.name) == [(stream.name, "items")]


@pytest.mark.parametrize("family", ["canal", "ticdc", "debezium"])
def test_a_renamed_table_goes_on_in_its_target(world: World, family: str) -> None:
    """SCHEMA-4, SCHEMA-31: once the file says so; with rows on both sides in one cut.

    Where positions tell what comes again, the target is left with what came before the statement.
    """
    stream, table = opened(world, family)
    begin(table)
    send(stream, table.sent, table)
    stream.cut()
    before, ids = rows_of(stream), field_ids(stream)
    snapshot = world.catalog.load_table((stream.name, "items")).metadata.current_snapshot_id
    start = len(table.sent)
    table.put(1, name="last before")
    table.alter("RENAME COLUMN name TO title", renamed={"name": "title"})
    table.rename("articles")
    left = {number: dict(row) for number, row in table.rows.items()}
    table.put(2, title="first behind")
    table.delete(3)
    send(stream, table.sent[start:], table)
    if family == "canal":
        with pytest.raises(
            TableStoppedError, match="called shop.articles now .CONTENT_DDL."
        ) as why:
            stream.cut()
        assert "source: shop.articles, was: shop.items and target: items" in str(why.value)
        assert rows_of(stream) == before
    else:
        while stream.cut().hold:
            assert rows_of(stream) in (before, left)
        assert rows_of(stream) == left
    stream.table = {"source": "shop.articles", "was": "shop.items", "target": "items"}
    stream.cut()
    assert rows_of(stream) == table.expected
    assert field_ids(stream)["title"] == ids["name"]
    assert rows_of(stream, snapshot) == before
    start = len(table.sent)
    other = replace(table, name="items", columns={"id": "bigint", "z": "int"}, rows={})
    other.say("CREATE TABLE items (id bigint PRIMARY KEY, z int)")
    other.put(1, z=5)
    table.place = other.place
    table.put(4, title="later")
    again = table.sent[: start - 1] if family != "canal" else []
    send(stream, [*table.sent[start:], *again], table)
    assert stream.cut().buckets["filtered"] == 1
    assert rows_of(stream) == table.expected


@pytest.mark.parametrize("family", ["canal", "ticdc", "debezium with schemas"])
def test_a_file_may_have_a_new_name_early(world: World, family: str) -> None:
    """SCHEMA-31: until the statement comes the table goes on under its old name."""
    stream, table = opened(world, family)
    stream.table = {"source": "shop.articles", "was": "shop.items", "target": "items"}
    begin(table)
    send(stream, table.sent, table)
    stream.cut()
    assert rows_of(stream) == table.expected
    start = len(table.sent)
    table.put(1, name="last before")
    table.rename("articles")
    table.put(2, name="first behind")
    send(stream, table.sent[start:], table)
    stream.cut()
    assert rows_of(stream) == table.expected
    table.put(3, name="later")
    send(stream, table.sent[-1:], table)
    stream.cut()
    assert rows_of(stream) == table.expected


def test_rows_under_a_new_name_wait_for_the_statement(world: World) -> None:
    """GATE-N2, SCHEMA-31: topics are read side by side."""
    stream, table = opened(world, "debezium")
    stream.table = {"source": "shop.articles", "was": "shop.items", "target": "items"}
    begin(table)
    send(stream, table.sent, table)
    stream.cut()
    before = rows_of(stream)
    table.rename("articles")
    table.put(2, name="first behind")
    send(stream, table.sent[-1:], table)
    with pytest.raises(TableStoppedError, match="RENAME TABLE of shop.items was not read"):
        stream.cut()
    assert rows_of(stream) == before
    send(stream, table.sent[-2:-1], table)
    stream.cut()
    assert rows_of(stream) == table.expected


@pytest.mark.parametrize("family", ["canal", "debezium with schemas"])
def test_a_key_of_the_file_stays_when_that_of_the_source_changes(world: World, family: str) -> None:
    """KEY-1: without one in the file the table stops."""
    stream, table = opened(world, family)
    begin(table)
    send(stream, table.sent, table)
    stream.cut()
    start = len(table.sent)
    table.put(1, name="last before")
    table.say("ALTER TABLE items DROP PRIMARY KEY, ADD UNIQUE KEY (id)")
    table.put(2, name="first behind")
    table.delete(3)
    send(stream, table.sent[start:], table)
    with pytest.raises(TableStoppedError, match="it changes the key"):
        stream.cut()
    stream.table = {"key": ["id"]}
    stream.cut()
    assert rows_of(stream) == table.expected


def test_a_person_lets_a_table_go_on_behind_a_statement(world: World) -> None:
    """SCHEMA-26: by its place and with a reason; what stands around it is followed."""
    stream, table = opened(world, "ticdc")
    begin(table)
    send(stream, table.sent, table)
    stream.cut()
    start = len(table.sent)
    table.say("ALTER TABLE items FROBNICATE")
    table.alter("ADD a int", added={"a": ("int", None)})
    table.put(6, name="last", a=1)
    send(stream, table.sent[start:], table)
    with pytest.raises(TableStoppedError, match="FROBNICATE") as stopped:
        stream.cut()
    told = re.search(r"tidemark skip (\S+) --statement ([0-9A-F]+) --reason", str(stopped.value))
    assert told is not None
    assert told[1] == stream.name
    with pytest.raises(ActionRefusedError, match="no statement that was landed"):
        skip_statement(stream.pipeline, world, Position(told[2][::-1]), "it changed nothing")
    skip_statement(stream.pipeline, world, Position(told[2]), "it changed nothing")
    system = SystemTables.of(stream.pipeline.name)
    assert "it changed nothing" in read_history(world.catalog, system).orders[0].command
    stream.cut()
    assert rows_of(stream) == table.expected


def test_a_statement_counts_for_each_of_its_tables_from_where_that_stands(world: World) -> None:
    """MSG-46, SCHEMA-18: it is filed under the name of one, and another has it still before it."""
    tables = [
        {"source": "shop.items", "expectations": "none", "column-changes": "freeze"},
        {"source": "shop.others", "expectations": "none"},
    ]
    options = {"tables": tables, "publish": {"consistency": "table"}}
    stream = Stream(world, format="canal-json", gate="none", options=options).create()
    first = canal_rows("INSERT", {"id": "1", "name": "x"})
    other = Record((first.value or b"").replace(b'"items"', b'"others"'))
    stream.send([first, other])
    stream.cut()
    stream.send([canal_statement("ALTER", "ALTER TABLE items ADD COLUMN c int")])
    stream.send([canal_statement("ERASE", "DROP TABLE others, items", table="others")])
    assert list(stream.cut().stopped) == ["shop.items"]
    made = "CREATE TABLE items (id bigint PRIMARY KEY, name varchar(20))"
    stream.send([canal_statement("CREATE", made)])
    tables[0]["column-changes"] = "evolve"
    for number in (2, 3):
        stream.send([canal_rows("INSERT", {"id": str(number), "name": "of another one"})])
        why = stream.cut().stopped["shop.items"]
        assert "there is another one of that name" in why
        assert stream.rows() == {1: "x"}
    stream.cut()
    cut = read_history(world.catalog, SystemTables.of(stream.pipeline.name)).cut
    assert stream.cut().status is CutStatus.IDLE, "a stopped table makes no cuts of nothing"
    assert read_history(world.catalog, SystemTables.of(stream.pipeline.name)).cut == cut


@pytest.mark.smoke
def test_an_attempt_that_dies_shows_nothing_and_is_repeated(world: World) -> None:
    """SCHEMA-10, PUB-8: a schema is as little there as its rows are, until both are published."""
    stream, table = opened(world, "canal")
    begin(table)
    table.alter("ADD COLUMN a int", added={"a": ("int", None)})
    send(stream, table.sent, table)
    stream.cut()
    before, ids = rows_of(stream), field_ids(stream)
    loaded = world.catalog.load_table((stream.name, "items"))
    snapshot = loaded.metadata.current_snapshot_id
    start = len(table.sent)
    table.alter("CHANGE name title varchar(20), DROP a", renamed={"name": "title"}, dropped=["a"])
    table.put(1, title="new")
    send(stream, table.sent[start:], table)
    dead = CutRequest(stream.attempt())
    assert stage_cut(stream.pipeline, world, dead).status is CutStatus.STAGED
    assert (rows_of(stream), field_ids(stream)) == (before, ids)
    start = len(table.sent)
    table.alter("RENAME COLUMN title TO caption", renamed={"title": "caption"})
    send(stream, table.sent[start:], table)
    stream.cut()
    assert rows_of(stream) == table.expected
    assert field_ids(stream)["caption"] == ids["name"]
    with pytest.raises(SupersededError):
        publish_cut(stream.pipeline, world, dead.attempt)
    assert rows_of(stream) == table.expected
    assert rows_of(stream, snapshot) == before
    assert len(forks_of(stream)) == 1
    assert stream.cut().status is CutStatus.IDLE
    assert forks_of(stream) == []


def test_an_attempt_that_fails_takes_its_fork_along(world: World) -> None:
    """SCHEMA-10: where the whole cut fails, and where the table alone is left out of it."""
    stream, table = opened(world, "canal")
    stream.table = {"sort-by": ["a"]}
    table.alter("ADD COLUMN a int", added={"a": ("int", None)})
    table.put(1, name="x", a=1)
    send(stream, table.sent, table)
    stream.cut()
    before = rows_of(stream)
    stream.table = {}
    start = len(table.sent)
    table.alter("DROP a", dropped=["a"])
    table.put(1, name="y")
    send(stream, table.sent[start:], table)
    with pytest.raises(TableStoppedError, match="files were laid out by it"):
        stream.cut()
    assert forks_of(stream) == []
    stream.options = {"publish": {"consistency": "table"}}
    assert list(stream.cut().stopped) == ["shop.items"]
    assert (forks_of(stream), rows_of(stream)) == ([], before)


def test_a_schema_that_changes_alone_is_published(world: World) -> None:
    """SCHEMA-10, SCHEMA-14: without any row in the cut, and with rows to fill."""
    stream, table = opened(world, "ticdc")
    begin(table)
    send(stream, table.sent, table)
    stream.cut()
    for items, change in (
        ("RENAME COLUMN name TO title", {"renamed": {"name": "title"}}),
        ("ADD COLUMN a int NOT NULL DEFAULT 7", {"added": {"a": ("int", 7)}}),
        ("DROP COLUMN title", {"dropped": ["title"]}),
    ):
        start = len(table.sent)
        table.alter(items, **change)
        send(stream, table.sent[start:], table)
        stream.cut()
        assert rows_of(stream) == table.expected


@pytest.mark.parametrize("family", first_in_smoke("debezium", "ticdc"))
def test_a_recreated_table_begins_empty(world: World, family: str) -> None:
    """SCHEMA-18: rows end at the DROP; a column of the same name and type stays what it is."""
    stream, table = opened(world, family)
    begin(table)
    send(stream, table.sent, table)
    stream.cut()
    before, ids, start = rows_of(stream), field_ids(stream), len(table.sent)
    table.put(2, name="of the one before")
    table.drop()
    table.make_anew({"id": "bigint", "name": "varchar(20)", "note": "int"})
    table.put(1, name="new", note=5)
    send(stream, table.sent[start:], table)
    stream.cut()
    assert rows_of(stream) == table.expected == {1: {"id": 1, "name": "new", "note": 5}}
    (kept,) = tags_of(stream)
    assert rows_of(stream, kept) == before, "what the DROP took away"
    now = field_ids(stream)
    assert (now["id"], now["name"]) == (ids["id"], ids["name"])

    table.drop()
    send(stream, table.sent[-1:], table)
    stream.cut()
    assert rows_of(stream) == table.expected, "nothing takes its place yet"
    made_at = len(table.sent)
    table.make_anew({"id": "bigint", "note": "varchar(20)"})
    table.put(3, note="a text")
    send(stream, table.sent[made_at:], table)
    stream.cut()
    assert rows_of(stream) == table.expected == {3: {"id": 3, "note": "a text"}}
    assert field_ids(stream)["note"] != now["note"], "values of the other one are not its own"
    send(stream, table.sent[start:], table)
    stream.cut()
    assert rows_of(stream) == table.expected

    start, table.key = len(table.sent), ("id", "code")
    table.drop()
    table.make_anew({"id": "bigint", "code": "int", "name": "varchar(20)"})
    table.put(4, code=7, name="of another key")
    for again in (start, 0):
        send(stream, table.sent[again:], table)
        stream.cut()
        assert rows_of(stream) == table.expected == {4: table.rows[4]}
    table.put(4, name="changed")
    send(stream, table.sent[-1:], table)
    stream.cut()
    assert rows_of(stream) == table.expected

    start = len(table.sent)
    table.drop()
    table.make_anew({"id": "bigint", "code": "bigint", "name": "varchar(20)"})
    table.put(5, code=2**40, name="of a key of another type")
    for again in (start, 0):
        send(stream, table.sent[again:], table)
        stream.cut()
        assert rows_of(stream) == table.expected == {5: table.rows[5]}

    begin_refold(stream.pipeline, world, TableName("shop", "items"))
    while plan_cut(stream.pipeline, world).has_work:
        assert stream.cut().stopped == {}
        assert rows_of(stream) == table.expected, "one table of that name after the other"
    assert rows_of(stream) == table.expected


@pytest.mark.parametrize("family", ["debezium", "ticdc"])
def test_a_recreated_table_does_not_stop_by_what_became_of_the_one_before(
    world: World, family: str
) -> None:
    """SCHEMA-18, SCHEMA-37: a stop behind its statement is its own, whatever rows come again."""
    stream, table = opened(world, family)
    begin(table)
    send(stream, table.sent, table)
    stream.cut()
    before, start = rows_of(stream), len(table.sent)
    table.put(2, name="of the one before")
    table.alter("TRUNCATE PARTITION p")
    send(stream, table.sent[start:], table)
    with pytest.raises(TableStoppedError, match="rows go without events"):
        stream.cut()
    table.drop()
    send(stream, table.sent[-1:], table)
    with pytest.raises(TableStoppedError, match="rows go without events"):
        stream.cut()
    assert rows_of(stream) == before
    made = len(table.sent)
    table.make_anew({"id": "bigint", "name": "varchar(20)", "note": "int"})
    table.put(1, name="new", note=5)
    send(stream, table.sent[made:], table)
    stream.cut()
    assert rows_of(stream) == table.expected == {1: {"id": 1, "name": "new", "note": 5}}
    send(stream, table.sent[start:], table)
    stream.cut()
    assert rows_of(stream) == table.expected

    before, start = rows_of(stream), len(table.sent)
    table.drop()
    table.make_anew({"id": "bigint", "name": "varchar(20)"})
    table.alter("TRUNCATE PARTITION p")
    table.put(1, name="behind it")
    send(stream, table.sent[start:], table)
    with pytest.raises(TableStoppedError) as stopped:
        stream.cut()
    assert "incremental snapshot" not in str(stopped.value)
    assert rows_of(stream) == before


@pytest.mark.parametrize("family", ["debezium", "ticdc", "canal"])
def test_a_dropped_table_may_leave_nothing(world: World, family: str) -> None:
    """SCHEMA-18: its rows end as by a truncate, also those that come again."""
    stream, table = opened(world, family)
    stream.options = {"on-drop": "empty"}
    begin(table)
    send(stream, table.sent, table)
    stream.cut()
    assert rows_of(stream) == table.expected
    start = len(table.sent)
    table.put(1, name="last")
    table.drop()
    for again in (start, 0) if family != "canal" else (start,):
        send(stream, table.sent[again:], table)
        stream.cut()
        assert rows_of(stream) == {}
        (row,) = pipeline_status(stream.pipeline, world).tables
        assert row.dropped == "is dropped at the source; its target stays"
    stream.options = {}
    table.make_anew({"id": "bigint", "name": "varchar(20)"})
    table.put(1, name="of another one")
    if family == "debezium":
        send(stream, table.sent[start:], table)
        stream.cut()
        assert rows_of(stream) == table.expected
        (row,) = pipeline_status(stream.pipeline, world).tables
        assert row.dropped == ""


def test_a_table_that_is_dropped_before_its_first_row_leaves_nothing(world: World) -> None:
    """SCHEMA-7, SCHEMA-18: of a table that is followed without being declared."""
    stream, table = opened(world, "debezium")
    stream.options = {"other-tables": "follow"}
    table.name = "others"
    table.make_anew({"id": "bigint", "note": "int"})
    table.drop()
    send(stream, table.sent, table)
    stream.cut()
    assert not world.catalog.table_exists((stream.name, "others"))
    start = len(table.sent)
    table.make_anew({"id": "bigint", "name": "varchar(20)"})
    table.put(1, name="of the next one")
    send(stream, table.sent[start:], table)
    stream.cut()
    rows = world.catalog.load_table((stream.name, "others")).scan().to_arrow()
    assert rows.column("name").to_pylist() == ["of the next one"]


@pytest.mark.parametrize("statement", ["DROP TABLE IF EXISTS items", "DROP DATABASE shop"])
def test_a_dropped_table_is_kept_and_no_other_is_taken_for_it(world: World, statement: str) -> None:
    """SCHEMA-18, SCHEMA-21: what stood there before another one was made is not of that."""
    stream, table = opened(world, "canal")
    begin(table)
    made = canal_statement("CREATE", "CREATE TABLE items (id bigint PRIMARY KEY, name varchar(20))")
    dropped = canal_statement("ERASE", statement)
    stream.send([canal_rows("INSERT", {"id": "99", "name": "of another one"}), dropped, made])
    send(stream, table.sent, table)
    stream.cut()
    assert rows_of(stream) == table.expected
    table.put(1, name="last")
    send(stream, [*table.sent[-1:], Sent(dropped)], table)
    stream.cut()
    assert rows_of(stream) == table.expected
    stream.send([made, canal_rows("INSERT", {"id": "1", "name": "of another one"})])
    with pytest.raises(TableStoppedError, match="there is another one of that name"):
        stream.cut()
    assert rows_of(stream) == table.expected


@pytest.mark.smoke
def test_a_table_goes_on_once_all_its_rows_came_again(world: World) -> None:
    """SCHEMA-37: no event tells what the statement gave the rows; only what came behind it does."""
    stream, table = opened(world, "debezium")
    begin(table)
    send(stream, table.sent, table)
    stream.cut()
    for _ in range(3):
        table.put(5, name="files hold more rows than the table has")
        send(stream, table.sent[-1:], table)
        stream.cut()
    before, start = rows_of(stream), len(table.sent)
    table.put(6, name="below the statement")
    table.alter("EXCHANGE PARTITION p WITH TABLE others")
    for number in (1, 2, 6):
        table.put(number, name="behind it")
    table.delete(3)
    send(stream, table.sent[start:], table)
    with pytest.raises(TableStoppedError, match="rows change without events"):
        stream.cut()
    table.put(1, name="once more")
    send(stream, table.sent[-1:], table)
    with pytest.raises(TableStoppedError, match="2 rows were neither changed nor read again since"):
        stream.cut()
    assert rows_of(stream) == before
    for number in (4, 5):
        table.put(number, name="behind it")
    send(stream, table.sent[-2:], table)
    stream.cut()
    assert rows_of(stream) == table.expected
    send(stream, table.sent, table)
    stream.cut()
    assert rows_of(stream) == table.expected, "what was sent again is older than the statement"
