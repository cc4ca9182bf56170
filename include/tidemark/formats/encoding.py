"""How Connect's converter writes keys and values; whatever it is, they are read as JSON text."""

from __future__ import annotations

from typing import Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.formats.contradictions import contradicts, key_contradicts
from tidemark.formats.number_tokens import pointed
from tidemark.formats.record_schema import RecordSchema, json_record_schema
from tidemark.formats.refuse import because, first_reason, half_pair, not_utf8, unparsed
from tidemark.model.event import Reason

WRAPPED_KEY = r'^\s*\{\s*"(schema"\s*:\s*(\{|null)|payload"\s*:\s*\{)'
SCHEMA_FIRST = '{"schema":'
PAYLOAD_NEXT = ',"payload":'
TEXTS, VARIANTS = "MAP<STRING, STRING>", "MAP<STRING, VARIANT>"
IMAGE_FIELDS = "ARRAY<STRUCT<field STRING, optional BOOLEAN, `default` STRING>>"
"""The fields of a row image, each with the text of the default that may stand for its null."""


class RecordEncoding(Protocol):
    """One way to write keys and values. A key or a value that is null has no text."""

    def text(self, part: Column) -> Column:
        """The JSON text of ``part``, a key or a value; wrapped in ``payload`` or not (MSG-15)."""
        ...

    def beside_text(self, records: DataFrame) -> tuple[DataFrame, Column]:
        """``records``, and the column of them that has the text of their values.

        It may stand in the place of the bytes; cast to bytes it is what came.
        """
        ...

    def refusal(self, text: Column, read: Column) -> Column:
        """Why a record cannot be read, null when it can.

        text: of the value. read: `refuse.read_object` of it.
        """
        ...

    def contradicts(self) -> Column:
        """Whether the value says two things about one name (POISON-1)."""
        ...

    def schema_id(self, text: Column, wrapped: Column) -> Column:
        """Tells apart how records describe themselves; null where they do not."""
        ...

    def key(self, fields: str) -> Column:
        """``fields``, a `from_json` schema, of a landed record's key."""
        ...

    def key_texts(self) -> Column:
        """All fields of a landed record's key: a map of their texts; null where it is no object."""
        ...

    def value(self, fields: str) -> Column:
        """``fields``, a `from_json` schema, of a landed record's value."""
        ...

    @property
    def pointed(self) -> RecordEncoding | None:
        """The same, with `number_tokens.pointed` numbers; None where decimals are never numbers."""
        ...

    def image_fields(self) -> Column:
        """IMAGE_FIELDS of a landed record's row images; null where its schema is not told."""
        ...

    def record_schema(self, key: bytes | None, value: bytes) -> RecordSchema:
        """What one row event says about its table's columns."""
        ...


class JsonEncoding:
    """JSON, with or without a schema beside each payload."""

    def text(self, part: Column) -> Column:
        """The bytes are the text."""
        return part.cast("string")

    def beside_text(self, records: DataFrame) -> tuple[DataFrame, Column]:
        """The text is the value: Spark hands texts on as they are, and copies bytes on each use."""
        value = F.col("value")
        return records.withColumn("value", value.cast("string")), value

    def refusal(self, text: Column, read: Column) -> Column:
        """The value is no JSON object, or the key no text or two keys at once."""
        key = self.text(F.col("key"))
        contradiction = because(Reason.JSON_DUPLICATE_KEY, key_contradicts("key"))
        return first_reason(unparsed(text, read), not_utf8(key), half_pair(key), contradiction)

    def contradicts(self) -> Column:
        """See `formats.contradictions`."""
        return contradicts("value")

    def schema_id(self, text: Column, wrapped: Column) -> Column:
        """A hash of the schema's text, of a wrapped record.

        Connect's converter writes the schema first, so its text ends where the payload begins:
        these characters cannot stand inside a JSON string, where quotes are escaped.
        """
        in_front = F.substring_index(text, PAYLOAD_NEXT, 1)
        anywhere = F.from_json(text, "schema STRING")["schema"]
        schema = F.when(text.startswith(SCHEMA_FIRST), in_front).otherwise(anywhere)
        return F.when(wrapped, F.xxhash64(schema))

    def key(self, fields: str) -> Column:
        """Keys and values are wrapped each by itself."""
        return unwrapped_key(self.text(F.col("key")), f"STRUCT<{fields}>")

    def key_texts(self) -> Column:
        """As of `key`."""
        return unwrapped_key(self.text(F.col("key")), TEXTS)

    def value(self, fields: str) -> Column:
        """A wrapped value has a ``schema_id``."""
        is_wrapped = F.col("schema_id").isNotNull()
        return _unwrapped(self.text(F.col("value")), is_wrapped, f"STRUCT<{fields}>")

    def image_fields(self) -> Column:
        """Of the schema wrapper's ``before``, whose fields are those of ``after``."""
        form = f"schema STRUCT<fields ARRAY<STRUCT<field STRING, fields {IMAGE_FIELDS}>>>"
        parts = F.from_json(self.text(F.col("value")), form)["schema"]["fields"]
        before = F.filter(parts, lambda part: part["field"] == "before")
        return F.when(F.col("schema_id").isNotNull(), F.get(before, F.lit(0))["fields"])

    @property
    def pointed(self) -> RecordEncoding:
        """A setting of the converter says what decimals are, and nothing in a record tells it."""
        return PointedJson()

    def record_schema(self, key: bytes | None, value: bytes) -> RecordSchema:
        """From the schema wrapper where there is one, and the names in the key."""
        return json_record_schema(key, value)


class PointedJson(JsonEncoding):
    """JSON, every number in it as a text with a point."""

    def text(self, part: Column) -> Column:
        """The bytes are the text, but for numbers."""
        return pointed(super().text(part))


def unwrapped_key(text: Column, form: str) -> Column:
    """A key in JSON as the type ``form``; it says itself whether it is wrapped."""
    return _unwrapped(text, text.rlike(WRAPPED_KEY), form)


def _unwrapped(text: Column, wrapped: Column, form: str) -> Column:
    """``text`` as the type ``form``, or its payload where it is wrapped (MSG-15)."""
    return F.when(wrapped, F.from_json(text, f"payload {form}")["payload"]).otherwise(
        F.from_json(text, form)
    )
