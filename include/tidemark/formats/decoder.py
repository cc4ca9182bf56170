"""The one thing that every format is: a decoder. The next format is one more of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.formats.avro.encoding import AvroEncoding
from tidemark.formats.avro.wire_format import Schemas
from tidemark.formats.canal_json.envelope import canal_envelope
from tidemark.formats.canal_json.images import (
    canal_begins,
    canal_changes,
    canal_former_key,
    canal_image,
    canal_row_changes,
    canal_unavailable,
)
from tidemark.formats.contradictions import contradicts
from tidemark.formats.debezium.envelope import debezium_envelope
from tidemark.formats.debezium.images import (
    binlog_occurrence,
    debezium_begins,
    debezium_changes,
    debezium_former_key,
    debezium_image,
    debezium_row_changes,
    debezium_unavailable,
    postgres_occurrence,
    postgres_transaction,
    postgres_unavailable,
    postgres_unavailable_key,
)
from tidemark.formats.debezium.position import binlog_block, postgres_block
from tidemark.formats.debezium.tombstones import deletes_of_tombstones
from tidemark.formats.encoding import TEXTS, VARIANTS, JsonEncoding, RecordEncoding
from tidemark.formats.record_schema import RecordSchema, canal_record_schema
from tidemark.formats.rows import RowImage
from tidemark.formats.topic_roles import TopicRoles
from tidemark.model.columns import TableSchema
from tidemark.model.cut import GateMode
from tidemark.model.names import ColumnName
from tidemark.model.position import BY_POSITION, Ordering
from tidemark.model.uncertain_nulls import uncertain_nulls
from tidemark.spec import SourceFormat, SourceSpec


class Changes(Protocol):
    """In: rows of one table. Out: the same, ``row_key`` and ``part``; one row per touched key."""

    def __call__(
        self, events: DataFrame, schema: TableSchema, *, key_from_images: bool
    ) -> DataFrame:
        """Events to the keys that they touch."""
        ...


@dataclass(frozen=True, slots=True)
class Decoder:
    """Bytes to events, events to changes of keys, changes to row images.

    envelope: in RECORD_COLUMNS, out the same and ENVELOPE_COLUMNS, one row per record.
    row_changes: of a table without a key, one row per row that an event ends or makes; out
    ``op``, ``part``, ``image``, ``occurrence``, ``table_order`` and ``record_hash``, as
    `debezium_row_changes` says.
    image: a struct with the text of every column of the row that an upsert leaves.
    unavailable: names of columns that an update of a row does not hold (UNAV-4), None where each
    holds all. uncertain_nulls: columns that it names for a null, which may be the value (UNAV-11);
    where there are some, it reads ``headers``. begins: whether an upsert makes a row, instead of
    changing the one that has its key. former_key: the ``row_key`` that the row had before, null in
    every column if unknown.
    record_schema: key and value of one row event -> what it says about its table's columns.
    transaction: of a change, null of a row that a snapshot read; None where no two rows ever share
    a key, not even inside a transaction.
    text: the JSON text of a landed record's value. contradicts: whether that says two things about
    one name (POISON-1). variants: all fields of the row that it leaves, a map of variants; null
    where records have types. key_texts: the texts of all fields of its key, a map; null where
    records have no keys of their own. occurrence: which of the changes of its key at its place a
    streamed change is, as a number that grows with them; null where none is told. unavailable_key:
    whether a record may hold no value of the declared key that a row had (KEY-5); None where each
    does. has_zero_dates: as of `formats.rows.RowImage`.
    """

    envelope: Callable[[DataFrame, TopicRoles], DataFrame]
    changes: Changes
    row_changes: Callable[[DataFrame, TableSchema], DataFrame]
    image: Callable[[TableSchema], Column]
    unavailable: Callable[[TableSchema], Column | None]
    uncertain_nulls: Callable[[TableSchema], tuple[ColumnName, ...]]
    begins: Column
    former_key: Callable[[TableSchema], Column]
    record_schema: Callable[[bytes | None, bytes], RecordSchema]
    text: Column
    contradicts: Column
    variants: Column
    key_texts: Column
    occurrence: Column
    transaction: Column | None = None
    unavailable_key: Callable[[TableSchema], Column] | None = None
    has_zero_dates: bool = True

    def row_image(self, schema: TableSchema, *, hidden: frozenset[str] = frozenset()) -> RowImage:
        """What records of changes tell of their rows, as `formats.rows.typed_rows` reads it."""
        return RowImage(
            self.image(schema),
            self.unavailable(schema),
            self.contradicts,
            self.has_zero_dates,
            hidden,
        )


def decoder_of(
    source: SourceSpec, schemas: Schemas, *, ordering: Ordering = BY_POSITION
) -> Decoder:
    """The decoder of ``source``.

    schemas: that Avro records were written with. ordering: how the envelope of Debezium makes
    positions.
    """
    if not source.format.is_canal:
        return _debezium(source, schemas, ordering)
    by_commit = source.gate is GateMode.WATERMARK
    envelope = partial(canal_envelope, by_commit=by_commit)
    text = F.col("value").cast("string")
    return Decoder(
        envelope,
        canal_changes,
        canal_row_changes,
        canal_image,
        canal_unavailable,
        _none,
        canal_begins(),
        canal_former_key,
        canal_record_schema,
        text,
        contradicts("value"),
        F.lit(None).cast(VARIANTS),
        F.lit(None).cast(TEXTS),
        F.lit(None).cast("long"),
        has_zero_dates=source.zero_dates is None,
    )


def encoding_of(source: SourceSpec, schemas: Schemas) -> RecordEncoding:
    """How keys and values of Debezium's records are written; schemas: of Avro records."""
    return JsonEncoding() if source.avro is None else AvroEncoding(schemas)


def _debezium(source: SourceSpec, schemas: Schemas, ordering: Ordering) -> Decoder:
    is_postgres = source.format is SourceFormat.DEBEZIUM_POSTGRES
    block = postgres_block(ordering) if is_postgres else binlog_block(ordering)
    encoding = encoding_of(source, schemas)
    text = encoding.text(F.col("value"))
    unavailable: Callable[[TableSchema], Column | None] = debezium_unavailable
    if is_postgres:
        unavailable = partial(postgres_unavailable, encoding=encoding)
    envelope = partial(
        debezium_envelope, block=block, encoding=encoding, signals=source.signal_table
    )
    return Decoder(
        partial(_with_deletes, envelope) if source.is_compacted else envelope,
        partial(debezium_changes, backfills_before=is_postgres, encoding=encoding),
        partial(debezium_row_changes, has_event_order=is_postgres, encoding=encoding),
        partial(debezium_image, encoding=encoding),
        unavailable,
        uncertain_nulls if is_postgres else _none,
        debezium_begins(encoding=encoding),
        debezium_former_key,
        encoding.record_schema,
        text,
        encoding.contradicts(),
        encoding.value(f"after {VARIANTS}")["after"],
        encoding.key_texts(),
        postgres_occurrence() if is_postgres else binlog_occurrence(encoding=encoding),
        postgres_transaction(encoding=encoding) if is_postgres else None,
        partial(postgres_unavailable_key, encoding=encoding) if is_postgres else None,
    )


def _none(_schema: TableSchema) -> tuple[ColumnName, ...]:
    """Every null of such records is a value."""
    return ()


def _with_deletes(
    envelope: Callable[[DataFrame, TopicRoles], DataFrame], records: DataFrame, roles: TopicRoles
) -> DataFrame:
    return envelope(records, roles).transform(deletes_of_tombstones, roles)
