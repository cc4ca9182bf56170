"""Messages of event triggers: what a statement did, by its tables before and after it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from tidemark.model.columns import SourceColumn, ValueEncoding
from tidemark.model.names import ColumnName, TableName
from tidemark.schema.backfills import UnknownBackfillError, backfill_text
from tidemark.schema.ddl_columns import ColumnText, DefaultBackfill
from tidemark.schema.ddl_operations import (
    AlterColumns,
    CreateTable,
    DropTable,
    RenameTable,
    Unsupported,
)
from tidemark.schema.postgres_statements import message_operations, postgres_operations

ITEMS = TableName("app", "items")


def column(number: int, name: str, kind: str = "integer", **more: Any) -> dict[str, Any]:
    return {
        "number": number,
        "name": name,
        "type": kind,
        "fill": None,
        "is_computed": False,
        **more,
    }


def table(*columns: dict[str, Any], **more: Any) -> dict[str, Any]:
    state = {"schema": "app", "name": "items", "file": "1", "key": ["id"], "columns": columns}
    return {**state, **more}


def message(*changes: tuple[Any, Any], statement: str = "ALTER TABLE items ...") -> str:
    tables = [{"before": before, "after": after} for before, after in changes]
    return json.dumps(
        {"version": 1, "tag": "ALTER TABLE", "statement": statement, "tables": tables}
    )


ID, NAME = column(1, "id"), column(2, "name", "text")


def test_tables_come_and_go() -> None:
    """SCHEMA-36: one statement may be about several."""
    other = table(ID, name="other")
    made, gone = postgres_operations(message((None, table(ID, NAME)), (other, None)))
    names = ColumnName("id"), ColumnName("name")
    columns = (ColumnText(names[0], "integer"), ColumnText(names[1], "text"))
    assert made == CreateTable(ITEMS, columns, names[:1])
    assert gone == DropTable(TableName("app", "other"))


def test_a_table_takes_another_name_or_schema() -> None:
    """SCHEMA-31, SCHEMA-36."""
    told = message((table(ID, name="old", schema="raw"), table(ID)), statement="ALTER TABLE a")
    renamed = RenameTable(TableName("raw", "old"), ITEMS, "ALTER TABLE a")
    assert postgres_operations(told) == (renamed,)


def test_columns_are_known_by_their_numbers() -> None:
    """SCHEMA-36: a name that is used again is another column, and one with a new name is not."""
    after = table(
        *(ID, column(3, "name", "integer"), column(4, "b", "text", fill="new", is_computed=True)),
        column(5, "label", "text"),
    )
    before = table(ID, NAME, column(5, "tag", "text"))
    (altered,) = postgres_operations(message((before, after)))
    assert isinstance(altered, AlterColumns)
    assert altered.table == ITEMS
    items = altered.items
    assert items.dropped == ["name"]
    assert items.renamed == [("tag", "label")]
    assert [(c.name, c.type_text, c.backfill) for c in items.added] == [
        ("name", "integer", None),
        ("b", "text", DefaultBackfill("new", is_output=True)),
    ]
    assert items.key is None


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        pytest.param({}, {"key": ["id", "name"]}, ("id", "name"), id="another key"),
        pytest.param({}, {"key": []}, (), id="no key any more"),
        pytest.param({"columns": [column(1, "no"), NAME], "key": ["no"]}, {}, None, id="renamed"),
    ],
)
def test_keys(before: dict[str, Any], after: dict[str, Any], key: tuple[str, ...] | None) -> None:
    """KEY-16: a column of the key that takes another name changes no key."""
    told = message((table(ID, NAME, **before), table(ID, NAME, **after)))
    (altered,) = postgres_operations(told)
    assert isinstance(altered, AlterColumns)
    assert altered.items.key == key


@pytest.mark.parametrize(
    ("kind", "named"), [("bigint", "id"), ("integer", "some column")], ids=["type", "same type"]
)
@pytest.mark.parametrize("using", ["USING id * 2", "using(id*2)"])
def test_an_expression_gives_rows_values_that_nothing_shows(
    kind: str, named: str, using: str
) -> None:
    """SCHEMA-36: the column has had others."""
    after = table(column(1, "id", kind), file="2")
    statement = f"ALTER TABLE items ALTER id TYPE {kind} {using}"
    stops = [
        one
        for one in postgres_operations(message((table(ID), after), statement=statement))
        if isinstance(one, Unsupported)
    ]
    assert [one.table for one in stops] == [ITEMS]
    assert f"values of {named} may be others" in stops[0].why


@pytest.mark.parametrize(
    ("was", "now", "stops"),
    [
        ("numeric(10,2)", "numeric(8,1)", True),
        ("timestamp without time zone", "timestamp(0) without time zone", True),
        ("double precision", "real", True),
        ("character(3)", "text", True),
        ("numeric(10,2)", "numeric(8,2)", False),
        ("real", "double precision", False),
    ],
)
def test_a_type_that_rounds_or_cuts_values_stops_its_table(was: str, now: str, stops: bool) -> None:
    """SCHEMA-16, SCHEMA-36: wherever PostgreSQL rewrote the rows."""
    before, after = table(ID, column(2, "a", was)), table(ID, column(2, "a", now))
    statement = f"ALTER TABLE items ALTER a TYPE {now}"

    def told(**more: Any) -> list[str]:
        content = message((before | more, after | more | {"file": "2"}), statement=statement)
        return [one.why for one in postgres_operations(content) if isinstance(one, Unsupported)]

    why = f"values of a may be others now, as {was} became {now}"
    assert told() == ([why] if stops else [])
    unwritten = postgres_operations(message((before, after), statement=statement))
    assert unwritten == ()
    of_partitions = table(ID, column(2, "a", now), is_partitioned=True)
    told_of = message((before | {"is_partitioned": True}, of_partitions), statement=statement)
    assert len(postgres_operations(told_of)) == stops


@pytest.mark.parametrize(
    ("sent", "is_followed"),
    [
        ("ALTER TABLE items ALTER id TYPE bigint", True),
        ("-- wider\nBEGIN; /* id */ ALTER TABLE items ALTER id TYPE bigint; COMMIT;", True),
        ("SELECT app.widen()", False),
        ("call app.widen('ALTER TABLE')", False),
        ("DO $$ BEGIN PERFORM app.widen(); END $$", False),
        ("BEGIN; SELECT app.widen(); ALTER TABLE items ALTER id TYPE bigint", False),
        (f"ALTER TABLE items ALTER id TYPE bigint {' ' * 9_961}", False),
    ],
)
def test_a_statement_that_a_function_hides_may_have_an_expression(
    sent: str, is_followed: bool
) -> None:
    """SCHEMA-26: of a text, at most 10000 characters are in the message."""
    change = table(ID, NAME), table(column(1, "id", "bigint"), NAME, file="2")
    operations = postgres_operations(message(change, statement=sent))
    stops = [operation for operation in operations if isinstance(operation, Unsupported)]
    assert (stops == []) is is_followed


@pytest.mark.parametrize("file", ["1", "2"])
def test_a_value_that_is_computed_for_each_row_is_unknown(file: str) -> None:
    """SCHEMA-38: PostgreSQL rewrites the table for it; else the column is null in those rows."""
    after = table(ID, column(3, "at", is_computed=True), file=file)
    (altered,) = postgres_operations(message((table(ID), after)))
    assert isinstance(altered, AlterColumns)
    assert altered.items.has_unknown == (file == "2")


@pytest.mark.parametrize(
    ("sent", "is_unknown"),
    [
        ("ALTER TABLE items ADD n int DEFAULT 5, ALTER n DROP DEFAULT, ALTER id TYPE bigint", True),
        ("SELECT migrate()", True),
        ("ALTER TABLE items ADD n int, ALTER id TYPE bigint", False),
    ],
)
def test_a_default_that_does_not_stay_may_have_filled_rows(sent: str, is_unknown: bool) -> None:
    """SCHEMA-14, SCHEMA-38: a table that is rewritten has no value to show for it."""
    after = table(column(1, "id", "bigint"), column(3, "n"), file="2")
    (altered,) = postgres_operations(message((table(ID), after), statement=sent))
    assert isinstance(altered, AlterColumns)
    assert altered.items.has_unknown == is_unknown


@pytest.mark.parametrize("generated", [[], [3]])
def test_a_generated_column_that_becomes_another_one_keeps_its_values(generated: list[int]) -> None:
    """SCHEMA-38: the log never had them."""
    before, after = table(ID, generated=generated), table(ID, column(3, "n"), generated=[])
    statement = "ALTER TABLE items ALTER n DROP EXPRESSION"
    (altered,) = postgres_operations(message((before, after), statement=statement))
    assert isinstance(altered, AlterColumns)
    assert altered.items.has_unknown == bool(generated)


def test_a_label_that_is_renamed_stops_the_tables_whose_values_it_is() -> None:
    """SCHEMA-26: all rows have another value, and none has an event."""
    tables = [
        {"schema": "app", "name": "items", "columns": ["mood", "moods"]},
        {"schema": "app", "name": "a\nb", "columns": ["mood"]},
    ]
    statement = "ALTER TYPE mood RENAME VALUE 'a' TO 'z'"
    content = {"version": 1, "tag": "ALTER TYPE", "statement": statement, "tables": []}
    (stop,) = postgres_operations(json.dumps({**content, "relabeled": tables}))
    why = "values of mood, moods have another label now"
    assert stop == Unsupported(ITEMS, statement, why)


def of_partition(before: Any, after: Any, statement: str, roots: Any = None) -> list[Unsupported]:
    """The stops of one whose root is app.items, by the number 7."""
    content = json.loads(message((before, after), statement=statement))
    content["roots"] = {"7": {"schema": "app", "name": "items"}} if roots is None else roots
    operations = postgres_operations(json.dumps(content))
    return [one for one in operations if isinstance(one, Unsupported) and one.table == ITEMS]


@pytest.mark.parametrize(
    ("before", "after", "stops"),
    [
        pytest.param({"root": "7"}, {"root": None}, True, id="detached"),
        pytest.param({"root": None}, {"root": "7"}, True, id="attached"),
        pytest.param({"root": "7"}, None, True, id="dropped"),
        pytest.param(None, {"root": "7"}, False, id="made"),
        pytest.param({"root": "7"}, {"root": "7", "key": []}, False, id="changed"),
        pytest.param({}, {"key": []}, False, id="of older triggers"),
    ],
)
def test_rows_of_a_partition_come_and_go_without_events(
    before: dict[str, Any] | None, after: dict[str, Any] | None, stops: bool
) -> None:
    """SCHEMA-26: where they are published as those of its root."""
    was, now = (
        None if more is None else table(ID, **{"name": "part", **more}) for more in (before, after)
    )
    assert bool(of_partition(was, now, "ALTER TABLE items ...")) == stops
    assert of_partition(was, now, "ALTER TABLE items ...", roots={}) == []


@pytest.mark.parametrize("file", ["1", "2"])
def test_an_expression_gives_values_to_rows_of_partitions(file: str) -> None:
    """SCHEMA-36: the file of the partitioned table itself has none."""
    before, after = table(ID, root="7", name="part"), table(ID, root="7", name="part", file=file)
    stops = of_partition(before, after, "ALTER TABLE items ALTER id TYPE integer USING id * 2")
    assert bool(stops) == (file == "2")
    assert not of_partition(before, after, "ALTER TABLE items ALTER id TYPE bigint")


@pytest.mark.parametrize("is_computed", [True, False])
def test_a_default_of_a_partitioned_table_is_in_its_partitions(is_computed: bool) -> None:
    """SCHEMA-38."""
    more: dict[str, Any] = {"file": "0", "is_partitioned": True}
    after = table(ID, column(3, "n", is_computed=is_computed), **more)
    statement = f"ALTER TABLE items ADD n int{' DEFAULT 5' if is_computed else ''}"
    (altered,) = postgres_operations(message((table(ID, **more), after), statement=statement))
    assert isinstance(altered, AlterColumns)
    assert altered.items.has_unknown == is_computed


@pytest.mark.parametrize("tag", ["CREATE INDEX", "DROP INDEX", "REINDEX"])
def test_statements_about_indexes_make_no_tables(tag: str) -> None:
    """SCHEMA-36: older triggers knew no state of before where such a statement had committed."""
    told = json.loads(message((None, table(ID)))) | {"tag": tag}
    assert postgres_operations(json.dumps(told)) == ()


def test_what_a_client_sent_in_one_piece_is_not_repeated() -> None:
    """MSG-7: it may hold values of rows."""
    sent = "INSERT INTO items VALUES ('secret'); ALTER TABLE items RENAME TO things;"
    (renamed,) = postgres_operations(message((table(ID), table(ID, name="n")), statement=sent))
    assert isinstance(renamed, RenameTable)
    assert renamed.statement == "ALTER TABLE"


def test_a_name_that_is_unfit_concerns_its_table_alone() -> None:
    """POISON-6, SCHEMA-26: a table that has no target has none to stop."""
    unfit, bell = table(ID, name="a\nb"), table(ID, column(2, "a\nb"))
    other = TableName("app", "other")
    told = message((None, unfit), (table(ID), bell), (table(ID, name="other"), None))
    stop, gone = postgres_operations(told)
    assert isinstance(stop, Unsupported)
    assert (stop.table, gone) == (ITEMS, DropTable(other))


def test_a_default_that_is_set_beside_the_column_fills_nothing() -> None:
    """SCHEMA-14: rows are not rewritten, so they have null."""
    (altered,) = postgres_operations(
        message((table(ID), table(ID, column(3, "n", is_computed=True))))
    )
    assert isinstance(altered, AlterColumns)
    assert altered.items.added[0].backfill is None


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"version": 2, "statement": "S"}'])
def test_what_cannot_be_read_may_be_about_any_table(content: str) -> None:
    """SCHEMA-26."""
    (stop,) = postgres_operations(content)
    assert isinstance(stop, Unsupported)
    assert stop.table is None


@pytest.mark.parametrize(
    "write",
    [
        lambda content: base64.b64encode(content).decode(),
        lambda content: base64.urlsafe_b64encode(content).decode(),
        bytes.hex,
        lambda content: content.hex().upper(),
    ],
    ids=["bytes", "base64-url-safe", "hex", "HEX"],
)
def test_a_message_in_each_mode_of_binary_handling(write: Callable[[bytes], str]) -> None:
    """SCHEMA-36: some characters have other digits in either base64."""
    statement = "ALTER TABLE items ADD name text /* >>>???~~~ */"
    content = message((table(ID), table(ID, NAME)), statement=statement)
    (altered,) = message_operations(write(content.encode()))
    assert isinstance(altered, AlterColumns)
    assert altered.items.added == [ColumnText(ColumnName("name"), "text")]


@pytest.mark.parametrize("written", [None, "", "7b2", "e30=!", "e\u00e9", "/w==", "7bff"])
def test_a_message_that_was_not_written_as_binary_may_be_about_any_table(written: object) -> None:
    """SCHEMA-26: the run goes on, and each table stops."""
    (stop,) = message_operations(written)
    assert isinstance(stop, Unsupported)
    assert stop.table is None


@pytest.mark.parametrize(
    ("kind", "iceberg", "shown", "text"),
    [
        ("integer", "int", "7", "7"),
        ("boolean", "boolean", "t", "true"),
        ("numeric(10,2)", "decimal(10,2)", "-3.25", "-3.25"),
        ("character varying(20)", "string", "it's", "it's"),
        ("date", "date", "2026-01-02", "2026-01-02"),
        (
            "timestamp with time zone",
            "timestamp",
            "2026-01-02 03:04:05.5+00",
            "2026-01-02 03:04:05.5",
        ),
        (
            "timestamp without time zone",
            "timestamp_ntz",
            "2026-01-02 03:04:05",
            "2026-01-02 03:04:05",
        ),
        ("double precision", "double", "NaN", "NaN"),
        ("numeric", "decimal(38,2)", "NaN", None),
        ("date", "date", "0044-03-15 BC", None),
        ("interval", "bigint", "P1D", None),
        ("integer[]", "array<int>", "{1}", None),
    ],
)
def test_values_as_postgres_shows_them(
    kind: str, iceberg: str, shown: str, text: str | None
) -> None:
    """SCHEMA-14: what is not sure to be the same in a record is not followed."""
    known = SourceColumn(ColumnName("c"), iceberg, ValueEncoding.TEXT, kind)
    backfill = DefaultBackfill(shown, is_output=True)
    if text is None:
        with pytest.raises(UnknownBackfillError):
            backfill_text(known, backfill)
    else:
        assert backfill_text(known, backfill) == text
