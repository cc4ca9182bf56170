"""What is fuzzed: each target takes bytes, and may raise nothing but what it says it raises."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from tests.fuzz import seeds
from tests.fuzz.edits import Chances, edited
from tidemark.errors import NameRefusedError, SchemaUnknownError, TableStoppedError
from tidemark.formats.avro.connect import image_fields, key_names
from tidemark.formats.avro.framed import framed_schema
from tidemark.formats.avro.schema import InvalidAvroSchemaError
from tidemark.formats.record_schema import RecordSchema, canal_record_schema, json_record_schema
from tidemark.model.modes import ConnectorModes
from tidemark.schema.backfills import UnknownBackfillError, backfill_text
from tidemark.schema.connect_types import connect_columns
from tidemark.schema.ddl import parse_ddl
from tidemark.schema.ddl_operations import AlterColumns, CreateTable
from tidemark.schema.postgres_types import postgres_column, postgres_record_columns
from tidemark.schema.source_types import canal_column, debezium_column, table_change_columns
from tidemark.schema.type_text import parse_type
from tidemark.schema.type_widening import holds_every_value, is_known, is_same

MODES = ConnectorModes()
UNREADABLE = (SchemaUnknownError, NameRefusedError)


class Target(NamedTuple):
    """seeds: texts to start from. is_document: they are JSON, and edited as that."""

    run: Callable[[Any], None]
    seeds: Callable[[], list[str]]
    is_document: bool


def read_ddl(text: str) -> None:
    """Statements, their columns and defaults."""
    for operation in parse_ddl(text, "shop"):
        if isinstance(operation, CreateTable):
            columns = list(operation.columns)
        elif isinstance(operation, AlterColumns):
            columns = [*operation.items.added, *operation.items.changed]
        else:
            continue
        for column in columns:
            with contextlib.suppress(SchemaUnknownError, UnknownBackfillError):
                known = debezium_column(column.name, column.type_text, MODES)
                if column.backfill is not None:
                    backfill_text(known, column.backfill)


def read_type(text: str) -> None:
    """A type of every source; two of them, divided by a semicolon, as one that changed."""
    for part in text.split(";"):
        for column in (debezium_column, postgres_column):
            with contextlib.suppress(*UNREADABLE):
                column("c", part, MODES)
        with contextlib.suppress(*UNREADABLE):
            canal_column("c", part, text, None)
    for one, other in pairwise(map(parse_type, text.split(";"))):
        if one is not None and other is not None and is_known(other):
            is_same(one, other)
            holds_every_value(one, other, is_numbered=True, tells_sizes=True)


def read_avro_schema(document: Any) -> None:
    """A schema, the layout that Spark gets of it, and the columns that it tells."""
    text = json.dumps(document)
    try:
        framed_schema.__wrapped__(text)
    except InvalidAvroSchemaError:
        return
    with contextlib.suppress(*UNREADABLE):
        key_names(text)
        connect_columns(image_fields(text), MODES)


def read_wrapped(document: Any) -> None:
    """What a record in JSON says of its columns."""
    with contextlib.suppress(*UNREADABLE):
        value = json.dumps(document).encode()
        record = json_record_schema(value, value)
        connect_columns(record.fields, MODES)
        postgres_record_columns(record.fields, MODES)


def read_canal_row(document: Any) -> None:
    """What a row of Canal-JSON says of its columns."""
    with contextlib.suppress(*UNREADABLE):
        record: RecordSchema = canal_record_schema(None, json.dumps(document).encode())
        for name, text in record.types.items():
            canal_column(name, text, None, "UTC")


def read_table_state(document: Any) -> None:
    """The state of a table after a statement."""
    with contextlib.suppress(*UNREADABLE, TableStoppedError):
        table_change_columns(document, MODES)


TARGETS: Mapping[str, Target] = {
    "ddl": Target(read_ddl, seeds.statements, is_document=False),
    "types": Target(read_type, seeds.types, is_document=False),
    "avro": Target(read_avro_schema, seeds.avro_schemas, is_document=True),
    "wrapped": Target(read_wrapped, seeds.wrapped, is_document=True),
    "canal": Target(read_canal_row, seeds.canal_rows, is_document=True),
    "tables": Target(read_table_state, seeds.table_states, is_document=True),
}


def runner(target: Target, provider: Callable[[bytes], Chances]) -> Callable[[bytes], None]:
    """``target`` as a function of the fuzzer's bytes."""
    if not target.is_document:
        return lambda content: target.run(content.decode("utf-8", "replace"))
    documents = target.seeds()
    return lambda content: target.run(edited(documents, provider(content)))
