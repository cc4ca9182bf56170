"""The one thing that every format is: a decoder. The next format is one more of them."""

from __future__ import annotations

from typing import Protocol

from pyspark.sql import Column, DataFrame

from tidemark.formats.canal_json.envelope import canal_envelope
from tidemark.formats.canal_json.images import canal_changes, canal_image
from tidemark.formats.debezium.envelope import debezium_envelope
from tidemark.formats.debezium.images import debezium_changes, debezium_image
from tidemark.formats.record_schema import (
    RecordSchema,
    canal_record_schema,
    debezium_record_schema,
)
from tidemark.formats.topic_roles import TopicRoles
from tidemark.model.columns import TableSchema
from tidemark.model.cut import GateMode
from tidemark.spec import SourceFormat, SourceSpec


class Decoder(Protocol):
    """Bytes to events, events to changes of keys, changes to row images."""

    def envelope(self, records: DataFrame, roles: TopicRoles) -> DataFrame:
        """In: RECORD_COLUMNS. Out: the same and ENVELOPE_COLUMNS, one row per record."""
        ...

    def changes(
        self, events: DataFrame, schema: TableSchema, *, key_from_images: bool
    ) -> DataFrame:
        """In: rows of one table. Out: the same, ``row_key`` and ``part``; one row per key."""
        ...

    def image(self, schema: TableSchema) -> Column:
        """A struct with the text of every column of the row that an upsert leaves."""
        ...

    def record_schema(self, key: bytes | None, value: bytes) -> RecordSchema:
        """What one record of kind ``row`` says about its table's columns."""
        ...


class DebeziumDecoder:
    """Debezium's JSON, with or without schema wrapper."""

    def envelope(self, records: DataFrame, roles: TopicRoles) -> DataFrame:
        return debezium_envelope(records, roles)

    def changes(
        self, events: DataFrame, schema: TableSchema, *, key_from_images: bool
    ) -> DataFrame:
        return debezium_changes(events, schema, key_from_images=key_from_images)

    def image(self, schema: TableSchema) -> Column:
        return debezium_image(schema)

    def record_schema(self, key: bytes | None, value: bytes) -> RecordSchema:
        return debezium_record_schema(key, value)


class CanalDecoder:
    """TiCDC's Canal-JSON; ``by_commit`` when it has the TiDB extension."""

    def __init__(self, *, by_commit: bool) -> None:
        self.by_commit = by_commit

    def envelope(self, records: DataFrame, roles: TopicRoles) -> DataFrame:
        return canal_envelope(records, by_commit=self.by_commit)

    def changes(
        self, events: DataFrame, schema: TableSchema, *, key_from_images: bool
    ) -> DataFrame:
        return canal_changes(events, schema)

    def image(self, schema: TableSchema) -> Column:
        return canal_image(schema)

    def record_schema(self, key: bytes | None, value: bytes) -> RecordSchema:
        return canal_record_schema(value)


def decoder_of(source: SourceSpec) -> Decoder:
    """The decoder of ``source``."""
    if source.format is SourceFormat.DEBEZIUM_MYSQL:
        return DebeziumDecoder()
    return CanalDecoder(by_commit=source.gate is GateMode.WATERMARK)
