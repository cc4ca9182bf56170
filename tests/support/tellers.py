"""What each kind of source sends about a table whose columns change."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tests.support.altered import AlteredTable, Row, Sent, Tell
from tests.support.records import Record, canal_message, mysql_source


def canal(table: AlteredTable, kind: str, row: Row, before: Row | None) -> Sent:
    """Canal's record of one row."""
    return Sent(_canal_record(table, kind, row, before, None))


def canal_ddl(table: AlteredTable, statement: str) -> Sent:
    """Canal's record of a statement."""
    return Sent(_canal_statement(table.name, statement, None), is_ddl=True)


def ticdc(table: AlteredTable, kind: str, row: Row, before: Row | None) -> Sent:
    """TiCDC's record of one row."""
    return Sent(_canal_record(table, kind, row, before, table.place))


def ticdc_ddl(table: AlteredTable, statement: str) -> Sent:
    """TiCDC's record of a statement."""
    return Sent(_canal_statement(table.name, statement, table.place), is_ddl=True)


def commit_ts(place: int) -> int:
    """Of the change with that number."""
    return (1_700_000_000_000 + place) << 18


def _canal_record(
    table: AlteredTable, kind: str, row: Row, before: Row | None, place: int | None
) -> Record:
    """A row; place: of the change, where TiCDC tells it."""
    types = table.columns
    if place is not None:
        types = {name: text.partition("(")[0] for name, text in types.items()}
    return canal_message(
        kind,
        tidb=_tidb(place),
        partition=0 if place is None else table.partition_of(row),
        table=table.name,
        pkNames=list(table.key),
        sqlType=dict.fromkeys(row, 12),
        mysqlType=types,
        old=[_texts(before)] if before is not None and kind == "UPDATE" else None,
        data=[_texts(row)],
    )


def _canal_statement(table: str, statement: str, place: int | None) -> Record:
    return canal_message("ALTER", tidb=_tidb(place), table=table, isDdl=True, sql=statement)


def _tidb(place: int | None) -> dict[str, int] | None:
    return None if place is None else {"commitTs": commit_ts(place)}


def _texts(row: Row) -> dict[str, str | None]:
    return {name: None if value is None else str(value) for name, value in row.items()}


def debezium(*, has_schema: bool) -> Tell:
    """The MySQL connector's record of one row, with or without its schema."""

    def tell(table: AlteredTable, kind: str, row: Row, before: Row | None) -> Sent:
        op = {"INSERT": "c", "UPDATE": "u", "DELETE": "d"}[kind]
        value: dict[str, Any] = {
            "before": before,
            "after": None if op == "d" else row,
            "source": _source(table),
            "transaction": None,
            "op": op,
            "ts_ms": 1,
        }
        key: dict[str, Any] = {name: row[name] for name in table.key}
        if has_schema:
            value = {"schema": _wrapper(table), "payload": value}
            id_field = {"type": "int64", "optional": False, "field": "id"}
            key = {"schema": {"type": "struct", "fields": [id_field]}, "payload": key}
        partition = table.partition_of(row)
        return Sent(Record(json.dumps(value).encode(), json.dumps(key).encode(), partition))

    return tell


def _source(table: AlteredTable) -> dict[str, Any]:
    return mysql_source(100 * table.place, table=table.name, at=table.place)


def _wrapper(table: AlteredTable) -> dict[str, Any]:
    connect = {"bigint": "int64", "int": "int32", "varchar(20)": "string"}
    fields = [
        {"type": connect[kind], "optional": name != "id", "field": name}
        for name, kind in table.columns.items()
    ]
    images = [
        {"type": "struct", "fields": fields, "optional": True, "field": image}
        for image in ("before", "after")
    ]
    return {"type": "struct", "fields": images, "optional": False, "name": "db.shop.items.Envelope"}


def debezium_ddl(table: AlteredTable, statement: str) -> Sent:
    """The MySQL connector's record of a statement, with the table's state after it (MSG-22)."""
    columns = []
    for place, (name, kind) in enumerate(table.columns.items(), start=1):
        base, _, size = kind.rstrip(")").partition("(")
        columns.append(
            {
                "name": name,
                "jdbcType": 4,
                "typeName": base.upper(),
                "typeExpression": base.upper(),
                "charsetName": None,
                "length": int(size) if size else None,
                "scale": None,
                "position": place,
                "optional": name not in table.key,
                "autoIncremented": False,
                "generated": False,
                "enumValues": [],
            }
        )
    verb = statement.split()[0]
    state = {
        "defaultCharsetName": "utf8mb4",
        "primaryKeyColumnNames": list(table.key),
        "columns": columns,
        "comment": None,
    }
    change = {
        "type": verb if verb in ("CREATE", "DROP") else "ALTER",
        "id": f'"shop"."{table.name}"',
        "table": None if verb == "DROP" else state,
    }
    value = {
        "source": _source(table),
        "ts_ms": 1,
        "databaseName": "shop",
        "schemaName": None,
        "ddl": statement,
        "tableChanges": [change],
    }
    key = json.dumps({"databaseName": "shop"}).encode()
    return Sent(Record(json.dumps(value).encode(), key), is_ddl=True)


def of_snapshot(sent: Sent, place: int, mark: str = "true") -> Sent:
    """The MySQL connector's record, as a snapshot of the source that is read at ``place`` has it.

    mark: what it says of snapshots.
    """
    body = json.loads(sent.record.value or b"")
    body["source"] |= {"snapshot": mark, "server_id": 0, "pos": 100 * place}
    if "op" in body:
        body["op"] = "r"
    return replace(sent, record=replace(sent.record, value=json.dumps(body).encode()))


def with_values(sent: Sent, **values: Any) -> Sent:
    """The MySQL connector's record of a row, with ``values`` in place of those of the table."""
    body = json.loads(sent.record.value or b"")
    body["after"] |= values
    return replace(sent, record=replace(sent.record, value=json.dumps(body).encode()))
