"""Avro in Confluent's wire format, read as the JSON that Connect would have written (MSG-19).

Each part is decoded with the writer's schema of its own id. Bytes become base64, numbers keep every
digit, and a null stays null: what reads the JSON of a schema-ful record reads this (ADR 7).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from tidemark.formats.avro.connect import fillable_fields, image_fields, key_names
from tidemark.formats.avro.framed import ENDINGS, MARK, PAYLOAD, framed_schema
from tidemark.formats.avro.wire_format import (
    Schemas,
    body_of,
    both_ids,
    has_header,
    header_of,
    header_with,
    id_in,
    id_of,
)
from tidemark.formats.encoding import IMAGE_FIELDS, TEXTS
from tidemark.formats.record_schema import RecordSchema
from tidemark.formats.refuse import OBJECT, because, first_reason
from tidemark.model.event import Reason


@dataclass(frozen=True)
class AvroEncoding:
    """Keys and values that were written with ``schemas``."""

    schemas: Schemas = field(default_factory=dict)

    def text(self, part: Column) -> Column:
        """The body in ``payload``, and the mark behind it if it fitted (`framed`).

        Spark would write out a way for each schema in the code that it generates, and not be able
        to compile that of a hundred; inside a lambda it generates none.
        """
        if not self.schemas:
            return F.lit(None).cast("string")
        return F.get(F.transform(F.array(part), self._text), F.lit(0))

    def _text(self, part: Column) -> Column:
        framed = F.concat(body_of(part), F.lit(MARK))
        texts = [(number, _json(framed, text)) for number, text in sorted(self.schemas.items())]
        return _chosen(header_of(part), texts)

    def beside_text(self, records: DataFrame) -> tuple[DataFrame, Column]:
        """A column more: the bytes say what the text cannot."""
        return records.withColumn("_text", self.text(F.col("value"))), F.col("_text")

    def refusal(self, text: Column, read: Column) -> Column:
        """The value, or the key where there is one, is not what its schema says."""
        key = F.col("key")
        return first_reason(
            because(Reason.EMPTY_VALUE, F.length("value") == 0),
            self._flaw(F.col("value"), text),
            F.when(key.isNotNull(), self._flaw(key, self.text(key))),
            because(Reason.AVRO_DECODE, read[OBJECT].isNull()),
        )

    def _flaw(self, part: Column, text: Column) -> Column:
        known = id_of(part).isin(*self.schemas) if self.schemas else F.lit(False)
        size = len(ENDINGS[0])
        fits = F.coalesce(F.substring(text, -size, size).isin(*ENDINGS), F.lit(False))
        return first_reason(
            because(Reason.AVRO_MAGIC, ~has_header(part)),
            because(Reason.AVRO_SCHEMA_UNKNOWN, ~known),
            because(Reason.AVRO_DECODE, ~fits),
        )

    def contradicts(self) -> Column:
        """Never: a field has its place."""
        return F.lit(False)

    def schema_id(self, text: Column, wrapped: Column) -> Column:  # noqa: ARG002  see RecordEncoding
        """The ids of key and value; a key that changes is a change of the table, too."""
        return both_ids(F.col("key"), F.col("value"))

    def key(self, fields: str) -> Column:
        """A landed key fitted its schema."""
        return self._payload(F.col("key"), f"STRUCT<{fields}>")

    def key_texts(self) -> Column:
        """As of `key`."""
        return self._payload(F.col("key"), TEXTS)

    def value(self, fields: str) -> Column:
        """A landed value fitted its schema."""
        return self._payload(F.col("value"), f"STRUCT<{fields}>")

    def _payload(self, part: Column, form: str) -> Column:
        return F.from_json(self.text(part), f"{PAYLOAD} {form}")[PAYLOAD]

    @property
    def pointed(self) -> None:
        """Decimals are bytes."""

    def image_fields(self) -> Column:
        """Of the schema that the value names, as JSON text: Spark compiles no literal for each."""
        texts = {number: json.dumps(fillable_fields(text)) for number, text in self.schemas.items()}
        if not texts:
            return F.lit(None).cast(IMAGE_FIELDS)
        by_id = [(number, F.lit(text)) for number, text in sorted(texts.items())]
        header = F.array(header_of(F.col("value")))
        text = F.get(F.transform(header, lambda part: _chosen(part, by_id)), F.lit(0))
        return F.from_json(text, IMAGE_FIELDS)

    def record_schema(self, key: bytes | None, value: bytes) -> RecordSchema:
        """From the two schemas that the record names."""
        return RecordSchema(
            fields=image_fields(self.schemas[id_in(value)]),
            key=() if key is None else key_names(self.schemas[id_in(key)]),
        )


def _chosen(header: Column, texts: Sequence[tuple[int, Column]]) -> Column:
    """The text of the id that ``header`` names, sought by halves: a pipeline may have hundreds."""
    number, text = texts[len(texts) // 2]
    if len(texts) == 1:
        return F.when(header == F.lit(header_with(number)), text)
    lower, upper = texts[: len(texts) // 2], texts[len(texts) // 2 :]
    is_lower = header < F.lit(header_with(number))
    return F.when(is_lower, _chosen(header, lower)).otherwise(_chosen(header, upper))


def _json(framed: Column, text: str) -> Column:
    """The JSON of a body with its mark; nulls of all fields where it cannot be decoded."""
    decoded = from_avro(framed, framed_schema(text), {"mode": "PERMISSIVE"})
    return F.to_json(decoded, {"ignoreNullFields": "false"})
