"""Keys and rows of Debezium's JSON in plain Python, where nothing about them is odd.

What a value means is said by `formats.values` and `formats.rows`. This reader gives the same value
for what connectors write as they write it. It raises on all else, which is odd and is read by the
expressions there; tables with columns that it does not know are left to them altogether.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa

from tidemark.formats.debezium.images import ROW_BEGINS
from tidemark.formats.json_shapes import AfterDecoder
from tidemark.formats.record_reader import SPARK_SEED, spark_hash
from tidemark.formats.schema_wrapper import WRAPPED, SchemaWrapper
from tidemark.formats.special import (
    PLACEHOLDER,
    PLACEHOLDER_ARRAYS,
    PLAIN_PLACEHOLDERS,
    plain_placeholders,
)
from tidemark.formats.value_readings import ValueReading, reading_of
from tidemark.model.columns import SourceColumn, TableSchema
from tidemark.model.position import LAST
from tidemark.model.uncertain_nulls import uncertain_nulls

Key = tuple[Any, ...]
Row = tuple[Any, ...]
ODD = (ValueError, msgspec.DecodeError)
"""What the reader raises."""

PLACEHOLDER_BYTES = PLACEHOLDER.encode()
_IN_BASE64 = b64encode(PLACEHOLDER_BYTES)
_PLACEHOLDERS = frozenset((*PLAIN_PLACEHOLDERS, PLACEHOLDER_BYTES, _IN_BASE64.decode()))
_ARRAYS = (*PLACEHOLDER_ARRAYS, [PLACEHOLDER_BYTES])
"""As JSON has them, or decoded; what only looks like one is read by the expressions."""


class _Source(msgspec.Struct):
    txId: int | str | None = None  # noqa: N815  Debezium's name


class _Change(msgspec.Struct):
    op: str
    source: _Source | None = None


_CHANGE = msgspec.json.Decoder(_Change)


class RowReader:
    """Reads the records of one table; what is odd raises ValueError or msgspec.DecodeError.

    schema: one that `can_read`. above: what stands at or below this position may have other names
    or types.
    """

    def __init__(self, schema: TableSchema) -> None:
        self._readings = _readings(schema)
        names = [_name_in_record(schema, column) for column in schema.columns]
        self._decoder = AfterDecoder(
            {name: reading.json for name, reading in zip(names, self._readings, strict=True)}
        )
        self._wrapper = SchemaWrapper()
        self._conversions = [
            (place, reading.convert)
            for place, reading in enumerate(self._readings)
            if reading.convert
        ]
        self._nothing = (None,) * len(self._readings)
        self._places = [schema.names.index(name) for name in schema.key]
        key = [self._readings[place] for place in self._places]
        self._packs = [reading.pack for reading in key if reading.pack]
        fields = [
            (f"key_{place}", self._readings[place].json, msgspec.field(name=names[place]))
            for place in self._places
        ]
        plain = msgspec.defstruct("Key", fields, forbid_unknown_fields=True)
        self._key = msgspec.json.Decoder(plain)
        wrapped = msgspec.defstruct("Wrapped", [("schema", msgspec.Raw), ("payload", plain)])
        self._wrapped_key = msgspec.json.Decoder(wrapped)
        lacking = [(p, c.element) for p, c in enumerate(schema.columns) if c.may_be_unavailable]
        self._values_may_lack = [place for place, element in lacking if element is None]
        self._uncertain_nulls = [schema.names.index(name) for name in uncertain_nulls(schema)]
        self._arrays_may_lack = [place for place, element in lacking if element is not None]
        self.width = len(self._readings)
        self.above = max((_plain_above(schema, column) for column in schema.columns), default="")
        self.odd_schemas = frozenset(
            number for column in schema.columns for ids, _ in column.by_schema for number in ids
        )

    def key(self, text: bytes) -> Key:
        """The key's values as JSON has them."""
        if text.startswith(WRAPPED):
            wrapped: Any = self._wrapped_key.decode(text)
            return msgspec.structs.astuple(wrapped.payload)
        return msgspec.structs.astuple(self._key.decode(text))

    def hash(self, key: Key) -> int:
        """Spark's ``xxhash64`` of the typed key."""
        seed = SPARK_SEED
        for value, pack in zip(key, self._packs, strict=True):
            seed = spark_hash(pack(value), seed)
        return seed

    def image(self, value: bytes) -> Row | None:
        """The columns of the row that a record leaves, as JSON has them; None without a row."""
        image = self._decoder.decode(self._payload(value))
        if image is not None and self._lacks(image, value):
            raise ValueError("a value was not sent")
        return image

    def origin(self, value: bytes) -> tuple[bool, str | None]:
        """Whether a record makes a row that was not there, and PostgreSQL's transaction of it."""
        change = _CHANGE.decode(self._payload(value))
        transaction = None if change.source is None else change.source.txId
        return change.op in ROW_BEGINS, None if transaction is None else str(transaction)

    def _payload(self, value: bytes) -> bytes:
        text = self._wrapper.payload(value) if value.startswith(WRAPPED) else value
        if text is None:
            raise ValueError("a record has its schema in another place")
        return text

    def _lacks(self, image: Row, value: bytes) -> bool:
        """Whether a placeholder stands for a value that did not change (UNAV-1, UNAV-2).

        Or a null may (UNAV-11), which an image alone does not tell.
        """
        has_null = any(image[place] is None for place in self._uncertain_nulls)
        if has_null and not self._is_read(value):
            return True
        if any(image[place] in _ARRAYS for place in self._arrays_may_lack):
            return True
        # An escape may stand for any character.
        if self._values_may_lack and (
            PLACEHOLDER_BYTES in value or _IN_BASE64 in value or b"\\u" in value
        ):
            return any(image[place] in _PLACEHOLDERS for place in self._values_may_lack)
        return False

    def _is_read(self, value: bytes) -> bool:
        """Whether a snapshot read the row, which holds all that it has."""
        return _CHANGE.decode(self._payload(value)).op == "r"

    def typed(self, key: Key, image: Row) -> Row:
        """The columns of ``image`` typed; it must be of ``key``."""
        row = list(image)
        for place, value in zip(self._places, key, strict=True):
            if row[place] is not None and row[place] != value:
                raise ValueError("a record has another key than its row")
            row[place] = value
        for place, convert in self._conversions:
            value = row[place]
            if value is not None:
                row[place] = convert(value)
        return tuple(row)

    def deleted(self, key: Key) -> Row:
        """The key and no other value."""
        return self.typed(key, self._nothing)

    def arrays(self, columns: Sequence[Sequence[Any]]) -> list[pa.Array]:
        """The values of each column."""
        return [
            pa.array(values, reading.layout or reading.arrow).view(reading.arrow)
            for reading, values in zip(self._readings, columns, strict=True)
        ]


def row_fields(schema: TableSchema) -> list[pa.Field]:
    """The columns of a table that `RowReader` reads."""
    known = zip(schema.names, _readings(schema), strict=True)
    return [pa.field(name, reading.arrow) for name, reading in known]


def can_read(schema: TableSchema) -> bool:
    """Whether `RowReader` knows the key and all columns of a table."""
    readings = dict(zip(schema.names, map(reading_of, schema.columns), strict=True))
    names = [_name_in_record(schema, column) for column in schema.columns]
    return (
        bool(schema.key)
        and None not in readings.values()
        and all(reading is not None and reading.pack for reading in map(readings.get, schema.key))
        and len(set(names)) == len(names)
        and all(name.isprintable() and not set(name) & {'"', "\\"} for name in names)
        and all(_plain_above(schema, column) < LAST for column in schema.columns)
        and all(plain_placeholders(c) == PLAIN_PLACEHOLDERS for c in schema.columns)
    )


def _readings(schema: TableSchema) -> list[ValueReading]:
    return [reading for reading in map(reading_of, schema.columns) if reading is not None]


def _name_in_record(schema: TableSchema, column: SourceColumn) -> str:
    """What records of now call a column: the file may rename it for ever."""
    column_alias = schema.column_alias(column.name)
    *_, name = (
        column_alias.name,
        *(name for until, name in column_alias.former if until == LAST),
    )
    return name


def _plain_above(schema: TableSchema, column: SourceColumn) -> str:
    """Above which position nothing of what the column was before matters."""
    column_alias = schema.column_alias(column.name)
    untils = (until for until, _ in column_alias.former if until != LAST)
    changed = (variant.changed_at or "" for variant in column.variants)
    return max((column_alias.since or "", *untils, *changed))
