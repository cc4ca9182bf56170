"""What a Debezium connector was set to write, and what the file or its statements say of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tidemark.errors import TableStoppedError
from tidemark.formats.record_schema import RecordSchema
from tidemark.model.columns import ValueEncoding
from tidemark.model.names import TopicName
from tidemark.model.position import Position
from tidemark.runs.columns.schemas import resolve
from tidemark.runs.ddl.effects import DdlEffects, DdlRecord
from tidemark.runs.ddl.records import add_up
from tidemark.spec import SourceSpec, TableSpec

TOPIC = TopicName("items")
SPEC = TableSpec.model_validate({"source": "shop.items", "expectations": "none"})


def source(written: str = "debezium-mysql", **modes: str) -> SourceSpec:
    """With the topic of its statements."""
    topics = {"data": ["items"], "schema-changes": ["shop"]}
    return SourceSpec.model_validate(
        {"format": written, "gate": "none", "topics": topics, "modes": modes}
    )


def stated(of: SourceSpec, *, key: Sequence[str] = ("id",), **columns: str) -> DdlEffects:
    """By a statement behind which the table has ``columns``."""
    listed = [{"name": name, "typeName": text} for name, text in columns.items()]
    state = {"columns": listed, "primaryKeyColumnNames": list(key)}
    change = {
        "source": {"snapshot": "true"},
        "databaseName": "shop",
        "ddl": "",
        "tableChanges": [{"type": "CREATE", "id": '"shop"."items"', "table": state}],
    }
    return add_up(of, [DdlRecord(Position("1"), "shop", json.dumps(change), TOPIC)])


def written(
    schema_id: int, *, key: str = "id", has_rows: bool = True, **fields: Mapping[str, Any]
) -> RecordSchema:
    """By a record whose own schema has ``fields`` beside an ``id``."""
    types = {"id": {"type": "int32"}, **fields}
    return RecordSchema(
        fields=tuple({"field": name, **field} for name, field in types.items()),
        key=(key,),
        position=Position(str(schema_id)),
        has_rows=has_rows,
        schema_id=schema_id,
    )


TEXT, BYTES = {"type": "string"}, {"type": "bytes"}
PROPAGATED = {"type": "string", "parameters": {"__debezium.source.column.type": "BINARY"}}


def test_a_text_is_not_read_as_base64_unless_the_file_says_so() -> None:
    """TYPE-8: binary.handling.mode=hex at the connector alone, and the statements tell types."""
    silent = source()
    effects = stated(silent, id="INT", u="BINARY(16)")
    with pytest.raises(TableStoppedError, match=r"u is binary.*\n.*\n.*set source\.modes\.binary"):
        resolve(silent, SPEC, None, effects, [written(3, u=TEXT)])
    have = resolve(silent, SPEC, None, effects, [written(2, u=BYTES)])
    with pytest.raises(TableStoppedError, match=r"source\.modes\.binary"):
        resolve(silent, SPEC, have, DdlEffects(), [written(3, u=TEXT)])


@pytest.mark.parametrize(
    ("columns", "field"),
    [({"u": "binary(16)"}, TEXT), ({}, PROPAGATED)],
    ids=["declared in the file", "propagated by the connector"],
)
def test_nor_where_no_statement_tells_the_type(
    columns: Mapping[str, str], field: Mapping[str, Any]
) -> None:
    """TYPE-8, SCHEMA-1."""
    spec = SPEC.model_copy(update={"columns": columns})
    with pytest.raises(TableStoppedError, match=r"source\.modes\.binary"):
        resolve(source(), spec, None, DdlEffects(), [written(3, u=field)])
    column = resolve(source(binary="hex"), spec, None, DdlEffects(), [written(3, u=field)])["u"]
    assert (column.iceberg, column.encoding) == ("binary", ValueEncoding.HEX)


@pytest.mark.parametrize("mode", ["hex", "base64", "base64-url-safe"])
def test_a_text_is_read_in_the_alphabet_of_the_file(mode: str) -> None:
    """TYPE-8, SCHEMA-4: also where the target was made from bytes."""
    of = source(binary=mode)
    encoding = {"base64-url-safe": "base64-url"}.get(mode, mode)
    fresh = resolve(of, SPEC, None, stated(of, id="INT", u="BLOB"), [written(3, u=TEXT)])
    assert fresh["u"].encoding.value == encoding
    bytes_before = stated(source(), id="INT", u="BLOB")
    have = resolve(source(), SPEC, None, bytes_before, [written(2, u=BYTES)])
    now = resolve(of, SPEC, have, DdlEffects(), [written(3, u=TEXT)])["u"]
    ((schemas, variant),) = now.by_schema or (((3,), now),)
    assert (now.iceberg, schemas, variant.encoding.value) == ("binary", (3,), encoding)


def test_of_a_delete_the_key_alone_counts() -> None:
    """SCHEMA-5: what else its schema has may be of an older type."""
    silent = source()
    effects = stated(silent, id="INT", u="BLOB")
    have = resolve(silent, SPEC, None, effects, [written(2, u=BYTES)])
    deleted = written(3, u=TEXT, has_rows=False)
    assert resolve(silent, SPEC, have, DdlEffects(), [deleted])["u"].iceberg == "binary"
    keyed = resolve(
        silent, SPEC, None, stated(silent, id="INT", u="BLOB", key=("u",)), [written(2, key="u")]
    )
    with pytest.raises(TableStoppedError, match=r"source\.modes\.binary"):
        resolve(*(silent, SPEC, keyed, DdlEffects()), [written(3, key="u", u=TEXT, has_rows=False)])


def test_message_key_columns_win_over_the_primary_key() -> None:
    """KEY-1: message.key.columns, and the states of the table tell its primary key."""
    of = source()
    columns = {"id": "INT", "code": "VARCHAR(10)"}
    record = written(3, key="code", code=TEXT)
    have = resolve(of, SPEC, None, stated(of, **columns), [record])
    assert have.key == ("code",)
    added = stated(of, **columns, late="INT")
    assert resolve(of, SPEC, have, added, [record]).key == ("code",)
    assert resolve(of, SPEC, have, added, []).key == ("code",)


def test_records_of_another_key_than_before_stop_the_table() -> None:
    """KEY-1: whatever the states tell; message.key.columns was set later."""
    of = source()
    effects = stated(of, id="INT", code="VARCHAR(10)")
    have = resolve(of, SPEC, None, effects, [written(2, code=TEXT)])
    for told in (effects, DdlEffects()):
        with pytest.raises(TableStoppedError, match=r"KEY_MISMATCH[^$]*message\.key\.columns"):
            resolve(of, SPEC, have, told, [written(3, key="code", code=TEXT)])
    both = [written(2, code=TEXT), written(3, key="code", code=TEXT)]
    with pytest.raises(TableStoppedError, match="KEY_MISMATCH"):
        resolve(of, SPEC, None, effects, both)


VECTOR = {"type": "array", "items": {"type": "float"}, "name": "io.debezium.data.FloatVector"}


def test_a_vector_is_a_list() -> None:
    """TYPE-8: as its record's schema tells, and where statements alone do."""
    of = source()
    effects = stated(of, id="INT", v="VECTOR")
    alone = RecordSchema(key=("id",), position=Position("3"))
    for records in ([written(3, v=VECTOR)], [alone]):
        column = resolve(of, SPEC, None, effects, records)["v"]
        assert (column.iceberg, column.encoding) == ("array<float>", ValueEncoding.FLOAT)


PLAIN = RecordSchema(key=("id",), position=Position("9"))
"""A record without a schema."""


@pytest.mark.parametrize(
    ("was", "now", "mode", "kind"),
    [
        ({"time": "microseconds"}, {"time": "connect"}, "time", "DATETIME(6)"),
        ({}, {"time": "adaptive"}, "time", "TIME"),
        ({}, {"time": "isostring"}, "time", "DATE"),
        ({}, {"binary": "hex"}, "binary", "VARBINARY(20)"),
        ({"decimal": "string"}, {}, "decimal", "DECIMAL(10,2)"),
        ({}, {"bigint_unsigned": "precise"}, "bigint-unsigned", "BIGINT UNSIGNED"),
    ],
)
def test_modes_of_the_file_count_for_records_of_now(
    was: Mapping[str, str], now: Mapping[str, str], mode: str, kind: str
) -> None:
    """TYPE-8: which records are older than another mode, those without schemas do not tell."""
    before, after = source(**was), source(**now)
    effects = stated(before, id="INT", c=kind)
    have = resolve(before, SPEC, None, effects, [PLAIN])
    with_ddl = stated(after, id="INT", c=kind)
    for told in (DdlEffects(), with_ddl):
        with pytest.raises(TableStoppedError, match=rf"source\.modes\.{mode} was changed"):
            resolve(after, SPEC, have, told, [PLAIN])
    assert resolve(before, SPEC, have, DdlEffects(), [PLAIN])["c"] == have["c"]
    anew = resolve(after, SPEC, None, with_ddl, [PLAIN])["c"]
    assert anew.encoding is not have["c"].encoding


def test_a_type_that_the_file_declares_is_read_by_its_modes() -> None:
    """TYPE-8, SCHEMA-1: PostgreSQL too; another type in the file is no other mode."""
    spec = SPEC.model_copy(update={"columns": {"id": "integer", "c": "bytea"}})
    before, after = source("debezium-postgres"), source("debezium-postgres", binary="hex")
    have = resolve(before, spec, None, DdlEffects(), [PLAIN])
    assert resolve(before, spec, have, DdlEffects(), [PLAIN])["c"] == have["c"]
    with pytest.raises(TableStoppedError, match=r"source\.modes\.binary was changed"):
        resolve(after, spec, have, DdlEffects(), [PLAIN])


ALL_TYPES = (
    *("INT", "TINYINT(1)", "BOOLEAN", "SERIAL", "BIT(1)", "BIT(9)", "FLOAT(30)", "DECIMAL", "TIME"),
    *("NUMERIC(8,3)", "DATETIME(3)", "DATETIME(6)", "TIME(6)", "TIMESTAMP(6)", "DATE", "BLOB"),
    *("YEAR", "JSON", "VECTOR", "GEOMETRY", "BIGINT UNSIGNED ZEROFILL", "BINARY(16)"),
)


@pytest.mark.parametrize("time", ["connect", "isostring", "nanoseconds"])
def test_the_same_modes_never_stop_a_table(time: str) -> None:
    """TYPE-8: a type is stored in its plain text, and read from that."""
    of = source(time=time, decimal="string", binary="hex", bigint_unsigned="precise")
    columns = {f"c{number}": kind for number, kind in enumerate(ALL_TYPES)}
    have = resolve(of, SPEC, None, stated(of, id="INT", **columns), [PLAIN])
    assert resolve(of, SPEC, have, DdlEffects(), [PLAIN]).columns == have.columns
