"""Records as the sources write them, for tests that need a few of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TABLE = "shop.items"
RECORDS = (
    "topic STRING, partition INT, offset LONG, kafka_time TIMESTAMP, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>, key BINARY, value BINARY"
)
"""RECORD_COLUMNS with their types in Spark."""


@dataclass(frozen=True)
class Record:
    """Key, value, partition and headers of one Kafka record."""

    value: bytes | None
    key: bytes | None = None
    partition: int = 0
    headers: tuple[tuple[str, bytes], ...] = ()


def canal_message(
    kind: str, *, tidb: Mapping[str, Any] | None = None, partition: int = 0, **fields: Any
) -> Record:
    """A record with the fields that Canal's all have; tidb: the extension, which TiCDC writes.

    fields: those that differ from the ones of a record about nothing in the database shop.
    """
    value = {
        "id": 0,
        "database": "shop",
        "table": "items",
        "pkNames": None,
        "isDdl": False,
        "type": kind,
        "es": 1,
        "ts": 1,
        "sql": "",
        "sqlType": None,
        "mysqlType": None,
        "data": None,
        "old": None,
        **fields,
    }
    if tidb is not None:
        value["_tidb"] = tidb
    return Record(json.dumps(value).encode(), partition=partition)


def ticdc_row(
    kind: str, number: int, commit_ts: int | None, *, name: str = "x", partition: int = 0
) -> Record:
    """A row of shop.items; commit_ts: None leaves the TiDB extension out."""
    return canal_message(
        kind,
        tidb=None if commit_ts is None else {"commitTs": commit_ts},
        partition=partition,
        pkNames=["id"],
        sqlType={"id": -5, "name": 12},
        mysqlType={"id": "bigint", "name": "varchar"},
        data=[{"id": str(number), "name": name}],
    )


def ticdc_watermark(watermark_ts: int, partition: int = 0) -> Record:
    """The promise that everything below ``watermark_ts`` was sent."""
    tidb = {"watermarkTs": watermark_ts}
    return canal_message("TIDB_WATERMARK", tidb=tidb, partition=partition, database="", table="")


def ticdc_ddl(statement: str, commit_ts: int, *, table: str = "items") -> Record:
    """A DDL record, which TiCDC sends to partition 0."""
    tidb = {"commitTs": commit_ts}
    return canal_message("QUERY", tidb=tidb, table=table, isDdl=True, sql=statement)


def canal_rows(kind: str, *rows: Mapping[str, str | None], old: Any = None, **types: str) -> Record:
    """Rows of shop.items in one record, as Canal writes them; types: of further columns."""
    return canal_message(
        kind,
        pkNames=["id"],
        sqlType={"id": -5, "name": 12},
        mysqlType={"id": "bigint(20)", "name": "varchar(20)", **types},
        data=rows,
        old=old,
        gtid="",
    )


def canal_statement(kind: str, statement: str, *, table: str = "items") -> Record:
    """A statement as text: DDL, or with the binlog format STATEMENT a change of rows."""
    is_ddl = kind not in {"INSERT", "UPDATE", "DELETE"}
    return canal_message(kind, table=table, isDdl=is_ddl, sql=statement)


def mysql_source(pos: int, *, table: str = "items", mark: str = "false", at: int) -> dict[str, Any]:
    """The source block of Debezium's MySQL connector; mark: what it says of snapshots.

    at: the time of the change, in milliseconds behind one that all records share.
    """
    return {
        "connector": "mysql",
        "name": "db",
        "ts_ms": 1_700_000_000_000 + at,
        "snapshot": mark,
        "db": "shop",
        "table": table,
        "file": "bin.000009",
        "pos": pos,
        "row": 0,
    }


def debezium_row(  # noqa: PLR0913  one per field that tests vary
    op: str,
    number: int,
    pos: int,
    *,
    name: str = "x",
    with_key: bool = True,
    transaction: tuple[str, int] | None = None,
    mark: str = "false",
    at: int | None = None,
) -> Record:
    """A row of shop.items as the MySQL connector writes it.

    transaction: its id, its order. mark: what the source block says of snapshots. at: its time, as
    milliseconds that follow the position unless told.
    """
    image = {"id": number, "name": name}
    value = {
        "before": image if op == "d" else None,
        "after": None if op == "d" else image,
        "source": mysql_source(pos, mark=mark, at=pos if at is None else at),
        "transaction": transaction
        and {"id": transaction[0], "total_order": transaction[1], "data_collection_order": 1},
        "op": op,
        "ts_ms": 1,
    }
    key = json.dumps({"id": number}).encode() if with_key else None
    return Record(json.dumps(value).encode(), key)


def boundary(status: str, transaction: str, events: int = 0) -> Record:
    """BEGIN, or END with that many events of shop.items."""
    counts = [{"data_collection": TABLE, "event_count": events}]
    value = {
        "status": status,
        "id": transaction,
        "ts_ms": 1_700_000_000_000,
        "event_count": events if status == "END" else None,
        "data_collections": counts if status == "END" else None,
    }
    return Record(json.dumps(value).encode(), json.dumps({"id": transaction}).encode())


def unplaced_row(op: str, number: int, *, name: str = "x", before: object = None) -> Record:
    """A row of shop.items by a connector that tells no place, without a Kafka key."""
    image = {"id": number, "name": name}
    value = {
        "before": image if op == "d" else before,
        "after": None if op == "d" else image,
        "source": {"snapshot": "false", "db": "shop", "table": "items", "file": "", "pos": 0},
        "op": op,
    }
    return Record(json.dumps(value).encode())


def postgres_row(  # noqa: PLR0913  one per field that tests vary
    op: str,
    number: int,
    sequence: tuple[int | None, int],
    *,
    name: str | None = "x",
    partition: int = 0,
    transaction: tuple[str, int] | None = None,
    tx_id: int = 812,
    **columns: Any,
) -> Record:
    """A row of shop.items as the PostgreSQL connector writes it without schema.

    sequence: LSN of the commit before, if it is known, and of the change. name: None of a delete
    under REPLICA IDENTITY DEFAULT, which tells the key alone. transaction: its id, its order.
    tx_id: the source's own number of it. columns: further ones.
    """
    image = {"id": number, "name": name, **columns}
    commit, lsn = sequence
    pair = [None if commit is None else str(commit), str(lsn)]
    value = {
        "before": image if op == "d" else None,
        "after": None if op == "d" else image,
        "source": {
            "connector": "postgresql",
            "ts_ms": 1_700_000_000_000,
            "snapshot": "true" if op == "r" else "false",
            "db": "store",
            "sequence": json.dumps(pair),
            "schema": "shop",
            "table": "items",
            "txId": tx_id,
            "lsn": lsn,
        },
        "transaction": transaction
        and {"id": transaction[0], "total_order": transaction[1], "data_collection_order": 1},
        "op": op,
    }
    return Record(json.dumps(value).encode(), json.dumps({"id": number}).encode(), partition)
