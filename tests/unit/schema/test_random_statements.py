"""A thousand statements, put together from what the manuals allow: each does what it says."""

from __future__ import annotations

import json
import random

import pytest

from tests.unit.schema.statement_grammar import Grammar, Statement
from tidemark.model.names import TopicName
from tidemark.model.position import Position
from tidemark.runs.ddl.effects import DdlRecord
from tidemark.runs.ddl.records import add_up
from tidemark.schema.ddl import parse_ddl
from tidemark.schema.ddl_columns import ColumnText
from tidemark.schema.ddl_operations import (
    AlterColumns,
    CopyTable,
    CreateDatabase,
    CreateTable,
    DdlOperation,
    DropDatabase,
    DropTable,
    NoEffect,
    RenameTable,
    RestoreTable,
    TruncateTable,
    Unsupported,
)
from tidemark.spec import SourceSpec

STATEMENTS = 1_000
FOLLOWED = 0.98
"""At least this share needs no person."""
SEED = 20_261_129


@pytest.fixture(scope="module")
def statements() -> list[Statement]:
    grammar = Grammar(random.Random(SEED))  # noqa: S311  repeatable, not secret
    return [grammar.statement() for _ in range(STATEMENTS)]


def shown_type(column: ColumnText) -> str:
    return " ".join(column.type_text.split())


def shown_column(column: ColumnText) -> str:
    backfill = column.backfill
    if backfill is None:
        value = ""
    elif backfill.is_unknown:
        value = " = unknown"
    else:
        value = f" = {'implied' if backfill.text is None else backfill.text}"
    return f"{column.name} {shown_type(column)}{value}"


def shown(operation: DdlOperation) -> str:
    match operation:
        case NoEffect():
            return "none"
        case Unsupported(table):
            return f"stop {table}"
        case AlterColumns(table, items):
            parts = [
                *(f"drop {name}" for name in items.dropped),
                *(f"rename {old} to {new}" for old, new in items.renamed),
                *(f"add {shown_column(column)}" for column in items.added),
                *(f"change {column.name} {shown_type(column)}" for column in items.changed),
                *([] if items.key is None else [f"key {', '.join(items.key) or 'none'}"]),
            ]
            return f"alter {table}: {'; '.join(parts)}"
        case CreateTable(table, columns, key):
            told = ", ".join(f"{column.name} {shown_type(column)}" for column in columns)
            return f"create {table}: {told}; key {', '.join(key) or 'none'}"
        case CopyTable(table, like):
            return f"copy {table} like {like or 'a query'}"
    return shown_whole(operation)


def shown_whole(operation: DdlOperation) -> str:
    """What is done to a table or a database as a whole."""
    match operation:
        case DropTable(table):
            return f"drop {table}"
        case TruncateTable(table):
            return f"truncate {table}"
        case RenameTable(old, new):
            return f"rename {old} to {new}"
        case RestoreTable(table, name):
            return f"back {table} as {name}"
        case CreateDatabase(name):
            return f"make {name}"
        case DropDatabase(name):
            return f"end {name}"
    raise AssertionError(operation)


def test_each_does_what_it_says(statements: list[Statement]) -> None:
    """SCHEMA-20 to SCHEMA-24."""
    wrong = {
        statement.text: (statement.does, done)
        for statement in statements
        if (done := tuple(map(shown, parse_ddl(statement.text, "shop")))) != statement.does
    }
    assert wrong == {}


def test_nearly_all_are_followed_and_a_refusal_stops_its_table_alone(
    statements: list[Statement],
) -> None:
    """SCHEMA-22, SCHEMA-26: whichever source writes the text."""
    refused = [s for s in statements if any(does.startswith("stop ") for does in s.does)]
    assert 0 < len(refused) <= (1 - FOLLOWED) * STATEMENTS
    for written in ("ticdc-canal-json", "canal-json"):
        source = SourceSpec.model_validate(
            {"format": written, "gate": "none", "topics": {"data": ["t"]}}
        )
        for statement in statements:
            text = json.dumps({"isDdl": True, "sql": statement.text})
            record = DdlRecord(Position("0001" + "1" * 53), "shop", text, TopicName("t"))
            stops = add_up(source, [record]).stops
            stopped = {f"stop {table}" for table, stop in stops.items() if stop.by is None}
            backs = (does.partition(" as ")[2] for does in statement.does)
            assert stopped <= {*statement.does, *(f"stop {name}" for name in backs)}
            assert {does for does in statement.does if does.startswith("stop ")} <= stopped
