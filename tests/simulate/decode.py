"""The envelope of a record, read by a few lines of Python: what the changelog keeps of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.simulate.connector import MILLIS, Record
from tests.simulate.history import SIGNALS, Flavour
from tidemark.model.event import ENVELOPE_COLUMNS
from tidemark.model.offsets import TopicPartition

EPOCH = "0001"
POSTGRES = (Flavour.POSTGRES, Flavour.POSTGRES_UNGATED)

Row = dict[str, Any]


@dataclass(slots=True)
class Reads:
    """Snapshots of PostgreSQL by new connectors: where each was read, when, and its first rows."""

    first: dict[int, dict[TopicPartition, int]] = field(default_factory=dict)
    times: dict[int, int] = field(default_factory=dict)

    def add(self, record: Record, offset: int) -> None:
        """Learn of a row of a snapshot; other records say nothing."""
        lsn = _snapshot_lsn(record)
        if lsn:
            first = self.first.setdefault(lsn, {})
            first[record.at] = min(offset, first.get(record.at, offset))
            self.times[lsn] = min(record.time, self.times.get(lsn, record.time))

    def before(self, record: Record, offset: int) -> int:
        """The highest one that came before a record; 0 when none did."""
        return max(
            (
                lsn
                for lsn, first in self.first.items()
                if (
                    offset > first[record.at]
                    if record.at in first
                    else record.time >= self.times[lsn]
                )
            ),
            default=0,
        )


def decode(record: Record, offset: int, flavour: Flavour, snapshot_lsn: int) -> Row:
    """The columns of the changelog; snapshot_lsn: highest position of a snapshot read before."""
    row: Row = dict.fromkeys(ENVELOPE_COLUMNS)
    row |= {
        "topic": record.at.topic,
        "partition": record.at.partition,
        "offset": offset,
        "kafka_time": MILLIS * 2 + record.time,
        "key": record.key,
        "value": record.value,
    }
    if record.value is None:
        return row | {"kind": "tombstone"}
    content = json.loads(record.value)
    if "status" in content:
        return row | {"kind": content["status"].lower(), "transaction_id": content["id"]}
    if "isDdl" in content:
        return row | _canal(content, record, offset, flavour)
    return row | _debezium(content, offset, flavour, snapshot_lsn)


def _snapshot_lsn(record: Record) -> int:
    """Where a new connector's snapshot was read in PostgreSQL's log; 0 for other records."""
    source = json.loads(record.value or b"{}").get("source") or {}
    if source.get("snapshot") in (None, "false", "incremental"):
        return 0
    committed, lsn = json.loads(source.get("sequence") or "[0, 0]")
    return int(lsn) if committed is None else 0


def binlog_place(file: str, pos: int, rank: str) -> str:
    """Of MySQL and MariaDB (POS-3, POS-4)."""
    return f"{EPOCH}{int(file):08X}{pos:016X}{rank}"


def lsn_place(commit: int, rank: str, lsn: int) -> str:
    """Of PostgreSQL (POS-6)."""
    return f"{EPOCH}{commit:016X}{rank}{lsn:016X}"


def _debezium(content: Mapping[str, Any], offset: int, flavour: Flavour, lsn: int) -> Row:
    source, transaction = content["source"], content["transaction"] or {}
    mark = None if is_streamed(content) else source["snapshot"]
    rank = "0" if mark else "1"
    if flavour in POSTGRES:
        first, second = json.loads(source["sequence"])
        reached = int(second) if mark else max(int(second), lsn)
        last = int(first) if first is not None else reached
        place = lsn_place(last, rank, int(second))
    else:
        place = binlog_place(source["file"].rpartition(".")[2], source["pos"], rank)
    return {
        "kind": _kind(content),
        "source_schema": source.get("schema") or source["db"],
        "source_table": source["table"],
        "op": {"d": "D", "t": None}.get(content["op"], "U"),
        "position": f"{place}{offset:016X}",
        "commit_time": source["ts_ms"],
        "transaction_id": transaction.get("id"),
        "event_order": transaction.get("total_order"),
        "snapshot": mark,
    }


def is_streamed(content: Mapping[str, Any]) -> bool:
    """Whether the op says so, or the mark; a connector may mark what it streams (MSG-10)."""
    return bool(content["op"] != "r" or content["source"]["snapshot"] == "false")


def _kind(content: Mapping[str, Any]) -> str:
    if content["source"]["table"] == SIGNALS:
        opens = content["after"]["type"] == "snapshot-window-open"
        return "window" if opens else "signal"
    return "truncate" if content["op"] == "t" else "row"


def _canal(content: Mapping[str, Any], record: Record, offset: int, flavour: Flavour) -> Row:
    if content["type"] == "TIDB_WATERMARK":
        return {"kind": "watermark", "watermark": content["_tidb"]["watermarkTs"]}
    is_ddl, is_delete = content["isDdl"], content["type"] == "DELETE"
    place = EPOCH
    if flavour is Flavour.TICDC:
        rank = 2 if is_ddl else 0 if is_delete else 1
        place += f"{content['_tidb']['commitTs']:016X}{rank}{record.at.partition:04X}"
    return {
        "kind": "ddl" if is_ddl else "row",
        "source_schema": content["database"],
        "source_table": content["table"],
        "op": None if is_ddl else "D" if is_delete else "U",
        "position": f"{place}{offset:016X}",
        "commit_time": content["es"],
    }


def row_of(value: bytes) -> tuple[int, int]:
    """Key and value of the row that an upsert leaves, or of the one that a delete ends."""
    content = json.loads(value)
    image = content["data"][0] if "data" in content else content["after"] or content["before"]
    return int(image["id"]), int(image["v"])
