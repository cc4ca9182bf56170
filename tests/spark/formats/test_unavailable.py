"""What records leave out: each form of the placeholder, and what tells where a row came from."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.support.avro import wire
from tests.support.avro_changes import inlined
from tests.support.records import canal_rows, ticdc_row
from tidemark.formats.decoder import decoder_of
from tidemark.formats.rows import typed_rows
from tidemark.model.columns import CONVERSION_ERROR, UNAVAILABLE, TableSchema
from tidemark.model.modes import ConnectorModes
from tidemark.model.names import ColumnName
from tidemark.schema.postgres_types import postgres_column
from tidemark.spec import SourceSpec

ID = ColumnName("id")
TEXT = "__debezium_unavailable_value"
TYPES = {
    "id": "integer",
    "doc": "text",
    "meta": "jsonb",
    "raw": "bytea",
    "pairs": "hstore",
    "tags": "text[]",
    "numbers": "integer[]",
    "ids": "uuid[]",
    "parts": "bytea[]",
    "n": "integer",
}
PLACEHOLDERS: dict[str, Any] = {
    "doc": TEXT,
    "meta": TEXT,
    "raw": b64encode(TEXT.encode()).decode(),
    "pairs": json.dumps({TEXT: TEXT}, separators=(",", ":")),
    "tags": [TEXT],
    "numbers": list(TEXT.encode()),
    "ids": ["b68a35a7-17ad-35b3-af2a-ae46edb4545a"],
    "parts": [b64encode(TEXT.encode()).decode()],
}
EVENT = "op STRING, position STRING, commit_time TIMESTAMP, value BINARY, schema_id LONG, part INT"


def source(form: str) -> SourceSpec:
    return SourceSpec.model_validate({"format": form, "gate": "none", "topics": {"data": ["t"]}})


@pytest.mark.parametrize("wrapped", [False, True], ids=["without schema", "with schema"])
@pytest.mark.parametrize(
    ("image", "unavailable"),
    [
        pytest.param(PLACEHOLDERS, list(PLACEHOLDERS), id="every type that is stored apart"),
        pytest.param({"doc": TEXT, "meta": "{}"}, ["doc"], id="one of two"),
        pytest.param({"doc": f"{TEXT}.", "tags": [TEXT, TEXT]}, None, id="more than the text"),
        pytest.param({"doc": None}, None, id="a null that was sent"),
        pytest.param({}, None, id="what an image lacks did not exist"),
    ],
)
def test_placeholders_of_postgres(
    spark: SparkSession, image: dict[str, Any], unavailable: list[str] | None, *, wrapped: bool
) -> None:
    """UNAV-1, UNAV-2, UNAV-4: they are no values, and no values that were misread."""
    columns = tuple(postgres_column(n, t, ConnectorModes()) for n, t in TYPES.items())
    schema = TableSchema(columns, (ID,))
    payload = {"op": "u", "before": None, "after": {"id": 1, "n": 2, **image}}
    value = {"schema": {}, "payload": payload} if wrapped else payload
    event = ("U", "P", None, json.dumps(value).encode(), 1 if wrapped else None, 0)
    changes = spark.createDataFrame([event], EVENT).withColumn(
        "row_key", F.struct(F.lit(1).alias("id"))
    )
    decoder = decoder_of(source("debezium-postgres"), {})
    rows = typed_rows(changes, schema, decoder.row_image(schema))
    (row,) = rows.select("n", UNAVAILABLE, CONVERSION_ERROR).collect()
    assert tuple(row) == (2, unavailable, None)


HEADERS = "array<struct<key: string, value: binary>>"
WHOLE = {"id": 1, "n": 1, "name": "a"}
SIZES_AVRO = {"type": "array", "items": ["null", "double"]}
SIZES = {"id": "integer", "n": "integer", "name": "text", "sizes": "double precision[]"}


def sent(
    op: str, after: dict[str, Any], before: dict[str, Any] | None = None
) -> tuple[bytes, list[tuple[str, bytes]] | None]:
    """Value and headers of a record; op: ``k`` for an insert that is a change of the key."""
    after = {"id": 1, "n": 2, "name": "a", **after}
    payload = {"op": "c" if op == "k" else op, "before": before, "after": after}
    headers = [("__debezium.oldkey", b"Struct{id=7}")] if op == "k" else None
    return json.dumps(payload).encode(), headers


@pytest.mark.parametrize("wrapped", [False, True], ids=["without schema", "with schema"])
@pytest.mark.parametrize(
    ("record", "unavailable"),
    [
        pytest.param(sent("u", {"sizes": None}), ["sizes"], id="an update"),
        pytest.param(sent("u", {"sizes": []}), None, id="an empty array"),
        pytest.param(sent("u", {"sizes": [1.5]}), None, id="a value"),
        pytest.param(sent("u", {}), None, id="what an image lacks did not exist"),
        pytest.param(sent("c", {"sizes": None}), None, id="an insert"),
        pytest.param(sent("k", {"sizes": None}), ["sizes"], id="an insert of a change of the key"),
        pytest.param(sent("r", {"sizes": None}), None, id="a snapshot"),
        pytest.param(
            sent("u", {"sizes": None}, WHOLE | {"sizes": [1.5]}), None, id="it had a value"
        ),
        pytest.param(
            sent("u", {"sizes": None}, WHOLE | {"n": 2, "sizes": None}), None, id="nothing changed"
        ),
        pytest.param(
            sent("u", {"sizes": None, "name": None}, WHOLE | {"sizes": None}),
            None,
            id="it had a value in a column that takes null",
        ),
        pytest.param(
            sent("u", {"sizes": None}, WHOLE | {"name": "", "sizes": None}),
            ["sizes"],
            id="an empty text in place of null",
        ),
        pytest.param(
            sent("u", {"sizes": None}, WHOLE | {"sizes": None}),
            ["sizes"],
            id="columns of an index, or what stands for null",
        ),
        pytest.param(
            sent("u", {"sizes": None}, {"id": 1, "n": 1, "sizes": None}),
            ["sizes"],
            id="columns of an index",
        ),
        pytest.param(
            sent("u", {"sizes": None}, {"n": 1, "name": "a"}), ["sizes"], id="without the key"
        ),
    ],
)
def test_nulls_that_may_stand_for_a_value(
    spark: SparkSession,
    record: tuple[bytes, list[tuple[str, bytes]] | None],
    unavailable: list[str] | None,
    *,
    wrapped: bool,
) -> None:
    """UNAV-11, UNAV-4: what a record holds beside the null may tell that it is one."""
    value, headers = record
    if wrapped:
        value = json.dumps({"schema": {}, "payload": json.loads(value)}).encode()
    event = ("U", "P", None, value, 1 if wrapped else None, 0, headers)
    assert unavailable_in(spark, event) == unavailable


def unavailable_in(
    spark: SparkSession, event: tuple[Any, ...], schemas: Mapping[int, str] | None = None
) -> list[str] | None:
    """The columns that the record of ``event``, an update of SIZES, does not tell."""
    columns = tuple(postgres_column(n, t, ConnectorModes()) for n, t in SIZES.items())
    schema = TableSchema(columns, (ID,))
    changes = spark.createDataFrame([event], f"{EVENT}, headers {HEADERS}").withColumn(
        "row_key", F.struct(F.lit(1).alias("id"))
    )
    avro = {"registry": {"url": "http://registry"}} if schemas else None
    spec = source("debezium-postgres").model_copy(update={"avro": avro})
    rows = typed_rows(changes, schema, decoder_of(spec, schemas or {}).row_image(schema))
    (row,) = rows.select("n", UNAVAILABLE, CONVERSION_ERROR).collect()
    assert (row["n"], row[CONVERSION_ERROR]) == (2, None)
    unavailable: list[str] | None = row[UNAVAILABLE]
    return unavailable


DEFAULT = {"connect.default": "a"}
NAMES = [
    pytest.param({"optional": True}, ["null", "string"], None, id="nullable"),
    pytest.param({"optional": False}, "string", ["sizes"], id="not null"),
    pytest.param(
        {"optional": True, "default": "a"},
        [{"type": "string", **DEFAULT}, "null"],
        ["sizes"],
        id="with a default",
    ),
]


@pytest.mark.parametrize(("field", "avro", "unavailable"), NAMES)
def test_a_schema_tells_what_stands_for_null(
    spark: SparkSession, field: dict[str, Any], avro: Any, unavailable: list[str] | None
) -> None:
    """UNAV-11: no replica identity but FULL has a nullable column, so that its value is real."""
    value, _ = sent("u", {"sizes": None}, WHOLE | {"sizes": None})
    images = [{"field": "id"}, {"field": "n"}, {"field": "name", **field}, {"field": "sizes"}]
    schema = {"fields": [{"field": part, "fields": images} for part in ("before", "after")]}
    wrapped = json.dumps({"schema": schema, "payload": json.loads(value)}).encode()
    assert unavailable_in(spark, ("U", "P", None, wrapped, 1, 0, None)) == unavailable
    types = {"id": "int", "n": "int", "name": avro, "sizes": ["null", SIZES_AVRO]}
    fields = [{"name": name, "type": kind} for name, kind in types.items()]
    image = {"type": "record", "name": "Value", "fields": fields}
    parts = [("before", ["null", image]), ("after", ["null", "Value"]), ("op", "string")]
    envelope = {
        "type": "record",
        "name": "Envelope",
        "fields": [{"name": name, "type": kind} for name, kind in parts],
    }
    written = wire(7, inlined(envelope), json.loads(value))
    event = ("U", "P", None, written, 7, 0, None)
    assert unavailable_in(spark, event, {7: json.dumps(envelope)}) == unavailable


@pytest.mark.parametrize(
    ("header", "former"),
    [
        pytest.param('{"id": 7}', 7, id="plain"),
        pytest.param('{"schema": {"type": "struct"}, "payload": {"id": 7}}', 7, id="wrapped"),
        pytest.param("Struct{id=7}", None, id="no JSON"),
        pytest.param('{"other": 7}', None, id="another key"),
        pytest.param(None, None, id="none"),
    ],
)
def test_a_header_may_tell_the_former_key(
    spark: SparkSession, header: str | None, former: int | None
) -> None:
    """MSG-17, KEY-7: it is a hint; what cannot be read is none."""
    schema = TableSchema((postgres_column("id", "integer", ConnectorModes()),), (ID,))
    context = ("__debezium.context.taskId", b'{"id": 1}')
    headers = [context] if header is None else [context, ("__debezium.oldkey", header.encode())]
    told = decoder_of(source("debezium-postgres"), {}).former_key(schema)
    rows = spark.createDataFrame([(headers,)], f"headers {HEADERS}").select(told.alias("former"))
    assert rows.collect()[0]["former"]["id"] == former


@pytest.mark.parametrize(
    ("form", "value", "part", "begins"),
    [
        pytest.param("debezium-postgres", b'{"op": "c"}', 0, True, id="insert"),
        pytest.param("debezium-postgres", b'{"op": "r"}', 0, True, id="snapshot"),
        pytest.param("debezium-postgres", b'{"op": "u"}', 0, False, id="update"),
        pytest.param("debezium-postgres", b'{"op": "u"}', 1, True, id="update of the key"),
        pytest.param("canal-json", canal_rows("INSERT", {"id": "1"}).value, 2, True, id="Canal"),
        pytest.param("canal-json", canal_rows("UPDATE", {"id": "1"}).value, 2, False, id="and so"),
        pytest.param("canal-json", canal_rows("UPDATE", {"id": "1"}).value, 3, True, id="its key"),
        pytest.param("ticdc-canal-json", ticdc_row("INSERT", 1, 5).value, 0, True, id="TiCDC"),
    ],
)
def test_which_upserts_make_a_row(
    spark: SparkSession, form: str, value: bytes, part: int, *, begins: bool
) -> None:
    """KEY-6, KEY-8: what they leave out was never under their key."""
    event = ("U", "P", None, value, None, part)
    rows = spark.createDataFrame([event], EVENT)
    assert rows.select(decoder_of(source(form), {}).begins.alias("it")).collect()[0]["it"] is begins
