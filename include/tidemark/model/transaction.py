"""Transactions of a source as its topics show them: BEGIN, END, and the events between."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from tidemark.model.names import TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Place

_POSTGRES = re.compile(r"(?P<xid>\d+):(?P<lsn>\d+)")
_GTID = re.compile(r"(?P<domain>[0-9a-fA-F-]{36}(?::[^:]+)?):(?P<number>\d+)")
_MARIADB = re.compile(r"(?P<domain>\d+)-\d+-(?P<number>\d+)")
_BINLOG = re.compile(r"file=.*\.(?P<file>\d+),pos=(?P<pos>\d+)")
_POS_BITS = 64
_MESSAGES = "io.debezium.connector.postgresql.LogicalDecodingMessageMonitor$"
"""What an END calls logical messages that it counts: the name of a class (MSG-30)."""
_PLAIN = re.compile(r"[A-Za-z0-9:=.,_-]{1,200}")


@dataclass(frozen=True, slots=True)
class Boundary:
    """A BEGIN or END record of the transaction topic (MSG-26).

    counts: of an END, events per table in the source's words, without logical messages; None for a
    BEGIN. time_ms: the record's own ``ts_ms``. kafka_ms: Kafka's time of the record.
    """

    at: TopicPartition
    offset: int
    id: str
    counts: Mapping[str, int] | None = None
    time_ms: int = 0
    kafka_ms: int = 0

    @property
    def is_empty(self) -> bool:
        """An END that counts no event."""
        return self.counts is not None and not any(self.counts.values())


@dataclass(frozen=True, slots=True)
class Share:
    """What is landed of one transaction in one table and partition, above the frontier.

    events: different ones. only_truncates: none of them is a row. is_statement: what is landed are
    statements of PostgreSQL, which END does not count and which are of no table.
    """

    at: TopicPartition
    transaction: str
    table: str
    events: int
    only_truncates: bool
    lowest: Place
    highest: Place
    is_statement: bool = False


def top_of(shares: Collection[Share]) -> Place:
    """The greatest place of a transaction's events; empty when it has none."""
    return max((share.highest for share in shares), default=Place(""))


def tables_of(shares: Collection[Share]) -> frozenset[str]:
    """The tables of a transaction's events; a statement is of none."""
    return frozenset(share.table for share in shares if not share.is_statement)


def boundary_of(at: TopicPartition, offset: int, value: bytes | str, kafka_ms: int = 0) -> Boundary:
    """From the value of a record that was landed as ``begin`` or ``end``."""
    content: Mapping[str, Any] = json.loads(value)
    body: Mapping[str, Any] = content.get("payload") or content
    counts = None
    if body["status"] == "END":
        listed = body.get("data_collections") or ()
        counts = {
            item["data_collection"]: int(item["event_count"])
            for item in listed
            if not item["data_collection"].startswith(_MESSAGES)
        }
    return Boundary(at, offset, str(body["id"]), counts, int(body.get("ts_ms") or 0), kafka_ms)


def is_plain(key: str) -> bool:
    """Whether ``key`` is made of what ids of transactions are made of, and safe inside SQL."""
    return _PLAIN.fullmatch(key) is not None


def is_of(key: str) -> str:
    """SQL condition: a changelog row is of the transaction ``key``, which is plain."""
    if not is_plain(key):
        raise ValueError(f"{key!r} is no key of a transaction")
    return f"(transaction_id = '{key}' OR substr(transaction_id, 1, {len(key) + 1}) = '{key}:')"


def key_of(transaction_id: str) -> str:
    """What the events and the END of a transaction have in common (GATE-T2).

    PostgreSQL's id is ``xid:lsn`` with a position that each record has of its own.

    >>> key_of("571:53195832"), key_of("0-1-27")
    ('571', '0-1-27')
    """
    match = _POSTGRES.fullmatch(transaction_id)
    return match["xid"] if match else transaction_id


def number_of(transaction_id: str) -> tuple[str, int] | None:
    """Domain and number of an id that has a number within its domain; None for any other.

    >>> number_of("571:53195832"), number_of("0-1-27"), number_of("file=bin.000042,pos=4990")
    (('lsn', 53195832), ('0', 27), ('binlog', 774763251095801172862))
    """
    if match := _POSTGRES.fullmatch(transaction_id):
        return "lsn", int(match["lsn"])
    if match := _BINLOG.fullmatch(transaction_id):
        return "binlog", (int(match["file"]) << _POS_BITS) | int(match["pos"])
    return gtid_of(transaction_id)


def gtid_of(transaction_id: str) -> tuple[str, int] | None:
    """Domain and number of a GTID, MySQL's or MariaDB's; None for any other id.

    >>> gtid_of("0-1-27"), gtid_of("file=bin.000042,pos=4990")
    (('0', 27), None)
    """
    match = _GTID.fullmatch(transaction_id) or _MARIADB.fullmatch(transaction_id)
    return (match["domain"], int(match["number"])) if match else None


def share_of(row: Mapping[str, Any]) -> Share:
    """From one row of the answer to `gate.statistics.shares`."""
    return Share(
        at=TopicPartition(TopicName(row["topic"]), row["partition"]),
        transaction=row["transaction_key"],
        table=f"{row['source_schema']}.{row['source_table']}",
        events=row["events"],
        only_truncates=row["truncates"] == row["records"],
        lowest=row["lowest"],
        highest=row["highest"],
        is_statement=bool(row["is_statement"]),
    )
