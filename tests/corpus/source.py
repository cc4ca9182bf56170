"""What the records of a case tell about the source that wrote them."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from tests.corpus.cases import Case, Record


class Format(StrEnum):
    """What wrote the records, in the words of a pipeline file."""

    DEBEZIUM_MYSQL = "debezium-mysql"
    DEBEZIUM_MARIADB = "debezium-mariadb"
    DEBEZIUM_POSTGRES = "debezium-postgres"
    TICDC = "ticdc-canal-json"
    CANAL = "canal-json"

    @property
    def is_canal(self) -> bool:
        """Whether the records are Canal-JSON, official or TiCDC's."""
        return self in {Format.TICDC, Format.CANAL}


class Role(StrEnum):
    """What a topic carries, in the words of a pipeline file."""

    DATA = "data"
    SCHEMA_CHANGES = "schema-changes"
    TRANSACTIONS = "transactions"


_CONNECTORS = {
    "mysql": Format.DEBEZIUM_MYSQL,
    "mariadb": Format.DEBEZIUM_MARIADB,
    "postgresql": Format.DEBEZIUM_POSTGRES,
}


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a case.

    has_positions: its records can be ordered without their offsets. tells_columns: the stream
    itself names the columns' types, by record schemas, schema changes or Canal's mysqlType.
    """

    format: Format
    roles: Mapping[str, Role]
    has_positions: bool
    tells_columns: bool

    @property
    def has_instants(self) -> bool:
        """Its records hold TIMESTAMP values in UTC: Debezium's of MySQL and MariaDB do."""
        return self.format in {Format.DEBEZIUM_MYSQL, Format.DEBEZIUM_MARIADB}

    def topics(self, role: Role) -> list[str]:
        """The topics with that role, by name."""
        return sorted(topic for topic, its_role in self.roles.items() if its_role is role)


def source_of(case: Case) -> Source:
    """The source that wrote the records of ``case``; ValueError when they tell none."""
    envelopes = [envelope for record in case.records if (envelope := envelope_of(record))]
    form = _format(envelopes)
    roles = dict.fromkeys(case.partitions, Role.DATA)
    roles.update((record.topic, _role(envelope_of(record))) for record in case.records)
    rows = [envelope for envelope in envelopes if is_row(envelope)]
    return Source(
        format=form,
        roles=roles,
        has_positions=bool(rows) and all(_has_position(row) for row in rows),
        tells_columns=form.is_canal
        or Role.SCHEMA_CHANGES in roles.values()
        or bool(case.schemas)
        or any(_is_wrapped(record) for record in case.records),
    )


@lru_cache(maxsize=4096)
def envelope_of(record: Record) -> Mapping[str, Any]:
    """The record's value without schema wrapper; empty for tombstones and what is no JSON."""
    content = _json(record)
    return content["payload"] or {} if _wraps(content) else content


def is_row(envelope: Mapping[str, Any]) -> bool:
    """Whether it is a change of rows: not DDL, not a truncate, not a message about messages."""
    if "op" in envelope:
        return envelope["op"] in {"c", "r", "u", "d"}
    return bool(envelope.get("data")) and not envelope.get("isDdl")


def is_watermark(envelope: Mapping[str, Any]) -> bool:
    """Whether it is TiCDC's promise about one partition."""
    return bool(envelope.get("type") == "TIDB_WATERMARK")


def table_of(envelope: Mapping[str, Any]) -> str:
    """The table of a row change as cases name it; with PostgreSQL the schema comes first."""
    source = envelope.get("source")
    if source is None:
        return f"{envelope['database']}.{envelope['table']}"
    return f"{source.get('schema') or source['db']}.{source['table']}"


def image_of(envelope: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row as it is after the change; of a delete, as it was before."""
    if "op" in envelope:
        image: Mapping[str, Any] = envelope.get("after") or envelope.get("before") or {}
        return image
    first: Mapping[str, Any] = envelope["data"][0]
    return first


def moment_of(envelope: Mapping[str, Any]) -> Hashable:
    """Where a streamed Debezium change stands in its source's log; None for anything else."""
    source = envelope.get("source") or {}
    if "op" not in envelope or str(source.get("snapshot", "false")).lower() not in {
        "false",
        "none",
    }:
        return None
    return source.get("lsn") or (source.get("file"), source.get("pos"))


def _format(envelopes: Sequence[Mapping[str, Any]]) -> Format:
    for envelope in envelopes:
        if "op" in envelope:
            return _CONNECTORS[envelope["source"].get("connector", "mysql")]
    if any("isDdl" in envelope for envelope in envelopes):
        # An official Canal counts its batches; TiCDC sends the field as 0, always.
        is_ticdc = all(envelope.get("id") == 0 for envelope in envelopes)
        return Format.TICDC if is_ticdc else Format.CANAL
    raise ValueError("no record tells which source wrote it")


def _role(envelope: Mapping[str, Any]) -> Role:
    if "tableChanges" in envelope or ("ddl" in envelope and "op" not in envelope):
        return Role.SCHEMA_CHANGES
    if envelope.get("op") == "m" and envelope["message"]["prefix"] == "tidemark":
        return Role.SCHEMA_CHANGES
    return Role.TRANSACTIONS if "event_count" in envelope else Role.DATA


def _has_position(row: Mapping[str, Any]) -> bool:
    if "op" not in row:
        return "commitTs" in (row.get("_tidb") or {})
    source = row["source"]
    return bool(source.get("file") or source.get("lsn") or source.get("sequence"))


def _is_wrapped(record: Record) -> bool:
    return _wraps(_json(record))


def _wraps(content: Mapping[str, Any]) -> bool:
    return "payload" in content and not {"op", "source", "ddl", "status", "isDdl"} & content.keys()


def _json(record: Record) -> dict[str, Any]:
    text = record.text.encode() or record.value or b""
    content: dict[str, Any] = json.loads(text) if text.startswith(b"{") else {}
    return content
