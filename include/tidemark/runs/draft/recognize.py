"""What a record shows of its source: the format, its topic's role, a table and its key. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from tidemark.errors import NameRefusedError
from tidemark.formats.avro.body import InvalidAvroBodyError, read_body
from tidemark.formats.avro.schema import (
    AvroType,
    InvalidAvroSchemaError,
    parse_schema,
)
from tidemark.model.names import TableName
from tidemark.spec import SourceFormat

MAGIC = b"\x00"
ID_BYTES = 4
ROUTED_FROM = "__dbz__physicalTableIdentifier"
OWN_MESSAGES = "tidemark"
"""The prefix of the messages that `tidemark sources postgres-ddl` has PostgreSQL write."""
SIGNAL_COLUMNS = {"id", "type", "data"}
CONNECTORS: Mapping[str, SourceFormat] = {
    "mysql": SourceFormat.DEBEZIUM_MYSQL,
    "mariadb": SourceFormat.DEBEZIUM_MARIADB,
    "postgresql": SourceFormat.DEBEZIUM_POSTGRES,
}
SchemaText = Callable[[int], str | None]


class Role(StrEnum):
    """What a topic is for."""

    ROWS = "rows"
    STATEMENTS = "schema changes"
    TRANSACTIONS = "transactions"
    OTHER = "nothing that is read"


class Encoding(StrEnum):
    """How records are written."""

    PLAIN = "JSON without schemas"
    WITH_SCHEMAS = "JSON with schemas"
    AVRO = "Avro"


@dataclass(frozen=True, slots=True)
class Shown:
    """What one record shows.

    format: None where the record does not tell. table: of a row; key: its columns, empty where the
    record has none. prefix: the connector's topic.prefix. is_watermark, has_tidb: of Canal-JSON.
    has_tables: a schema change tells the columns of its tables. is_signal: the row is one of a
    connector's signal table. has_zoned: a column is a TIMESTAMP, which Canal-JSON writes in a zone.
    streamed_ms: when the connector read a change that is no snapshot's; in_transaction: which names
    its transaction.
    """

    role: Role
    encoding: Encoding
    format: SourceFormat | None = None
    table: TableName | None = None
    key: tuple[str, ...] = ()
    prefix: str = ""
    is_watermark: bool = False
    has_tidb: bool = False
    is_signal: bool = False
    has_zoned: bool = False
    streamed_ms: int | None = None
    in_transaction: bool = False


def recognize(key: bytes | None, value: bytes, schemas: SchemaText | None) -> Shown | None:
    """What a record shows; None where it is in no form that is known.

    schemas: id -> Avro schema as JSON, None where nobody has it; without it no Avro is read.
    """
    if value[:1] == MAGIC and len(value) > ID_BYTES + 1:
        return _of_avro(key, value, schemas) if schemas is not None else None
    content = _object(value)
    if content is None:
        return None
    has_schema = isinstance(content.get("payload"), dict) and "schema" in content
    encoding = Encoding.WITH_SCHEMAS if has_schema else Encoding.PLAIN
    body = content["payload"] if has_schema else content
    if "isDdl" in body and "database" in body:
        return _of_canal(body)
    return _of_debezium(_object(key or b"") or {}, body, encoding)


def _object(text: bytes) -> dict[str, Any] | None:
    try:
        content = json.loads(text)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _of_canal(body: Mapping[str, Any]) -> Shown:
    tidb, types = body.get("_tidb"), body.get("mysqlType") or {}
    # TiCDC numbers nothing; Canal counts its messages.
    is_canal = tidb is None and body.get("id") != 0
    is_row = not body["isDdl"] and body.get("type") in ("INSERT", "UPDATE", "DELETE")
    return Shown(
        Role.ROWS,
        Encoding.PLAIN,
        SourceFormat.CANAL_JSON if is_canal else SourceFormat.TICDC_CANAL_JSON,
        _table(body["database"], body.get("table")) if is_row else None,
        tuple(body.get("pkNames") or ()),
        is_watermark=body.get("type") == "TIDB_WATERMARK",
        has_tidb=tidb is not None,
        has_zoned=any(str(text).lower().startswith("timestamp") for text in types.values()),
    )


def _of_debezium(
    key: Mapping[str, Any], body: Mapping[str, Any], encoding: Encoding
) -> Shown | None:
    source = body.get("source")
    if not isinstance(source, dict):
        return _beside_rows(body, encoding)
    connector = CONNECTORS.get(str(source.get("connector")))
    if connector is None:
        return None
    prefix = str(source.get("name") or "")
    if "ddl" in body or "tableChanges" in body:
        return Shown(Role.STATEMENTS, encoding, connector, prefix=prefix)
    if body.get("op") == "m" or "message" in body:
        message = body.get("message")
        is_own = isinstance(message, dict) and message.get("prefix") == OWN_MESSAGES
        return Shown(Role.STATEMENTS if is_own else Role.OTHER, encoding, connector, prefix=prefix)
    if "op" not in body:
        return None
    space = "schema" if connector is SourceFormat.DEBEZIUM_POSTGRES else "db"
    table = _table(source.get(space), source.get("table"))
    columns = (body.get("after") or {}).keys()
    return Shown(
        Role.ROWS,
        encoding,
        connector,
        table,
        tuple(name for name in _payload(key) if name != ROUTED_FROM),
        prefix,
        is_signal=columns == SIGNAL_COLUMNS and table is not None and "signal" in table.table,
        streamed_ms=_streamed_ms(body, source),
        in_transaction=isinstance(body.get("transaction"), dict),
    )


def _streamed_ms(body: Mapping[str, Any], source: Mapping[str, Any]) -> int | None:
    """None of a row of a snapshot, and of a truncate: they are in no transaction."""
    is_snapshot = str(source.get("snapshot") or "false").lower() != "false"
    if is_snapshot or body["op"] not in ("c", "u", "d"):
        return None
    read = body.get("ts_ms")
    return read if isinstance(read, int) else 0


def _beside_rows(body: Mapping[str, Any], encoding: Encoding) -> Shown | None:
    if body.get("status") in ("BEGIN", "END") and "id" in body:
        return Shown(Role.TRANSACTIONS, encoding)
    is_heartbeat = body.keys() and body.keys() <= {"ts_ms", "ts_us", "ts_ns"}
    return Shown(Role.OTHER, encoding) if is_heartbeat else None


def _payload(key: Mapping[str, Any]) -> Mapping[str, Any]:
    payload = key.get("payload")
    return payload if isinstance(payload, dict) and "schema" in key else key


def _of_avro(key: bytes | None, value: bytes, schemas: SchemaText) -> Shown | None:
    """As what it says in JSON: names of schemas are adjusted, and prefixes may hold dots."""
    schema = _schema_of(value, schemas)
    if schema is None:
        return None
    try:
        body = read_body(value[ID_BYTES + 1 :], schema)
    except InvalidAvroBodyError:
        return None
    if not isinstance(body, dict):
        return None
    of_key = _schema_of(key, schemas) if key else None
    columns = dict.fromkeys(name for name, _ in of_key.required.fields) if of_key else {}
    return _of_debezium(columns, body, Encoding.AVRO)


def _schema_of(written: bytes, schemas: SchemaText) -> AvroType | None:
    """The schema by which ``written`` was, in the wire format of Confluent's converter."""
    text = schemas(int.from_bytes(written[1 : ID_BYTES + 1], "big"))
    return _parsed(text) if text is not None else None


@cache
def _parsed(text: str) -> AvroType | None:
    try:
        return parse_schema(text)
    except InvalidAvroSchemaError:
        return None


def _table(space: object, table: object) -> TableName | None:
    try:
        return TableName(str(space or ""), str(table or ""))
    except NameRefusedError:
        return None
