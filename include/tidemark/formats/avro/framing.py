"""Framings of Avro that are not read, told apart so that the converter can be changed (MSG-19).

Each says by which schema a body was written, in a way of its own. Apicurio's converter may write an
id of eight bytes, or put ids into headers; AWS Glue's writes a version, a kind of compression and
the UUID of a schema; Confluent's may put a GUID into a header.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.formats.avro.wire_format import MAGIC

_LONG_ID_BYTES = 9
_GLUE_VERSION = b"\3"
_GLUE_COMPRESSIONS = (b"\0", b"\5")
_GLUE_HEADER_BYTES = 18
_APICURIO_HEADER = "apicurio."
_GUID_HEADERS = ("__key_schema_id", "__value_schema_id")


class Framing(StrEnum):
    """How records name their schema, where it is not by Confluent's wire format."""

    LONG_ID = "an id of eight bytes, as Apicurio's converter writes it"
    ID_IN_HEADERS = "an id in headers, as Apicurio's converter writes it"
    GLUE = "the UUID of a schema of AWS Glue"
    GUID_IN_HEADERS = "a GUID in headers, as Confluent's converter writes it"


SETTING: Mapping[Framing, str] = {
    Framing.LONG_ID: "set apicurio.registry.id-handler to Apicurio's Legacy4ByteIdHandler, since "
    "3.0 Default4ByteIdHandler, and apicurio.registry.use-id=contentId for key.converter and "
    "value.converter",
    Framing.ID_IN_HEADERS: "set apicurio.registry.headers.enabled=false and "
    "apicurio.registry.use-id=contentId for key.converter and value.converter",
    Framing.GLUE: "set key.converter and value.converter to Confluent's AvroConverter with a "
    "registry of its interface, or to JsonConverter",
    Framing.GUID_IN_HEADERS: "leave key.schema.id.serializer and value.schema.id.serializer away "
    "from key.converter and value.converter",
}
"""What has to change at the connector."""


def foreign_framing(key: Column, value: Column, headers: Column) -> Column:
    """The `Framing` of a record that could not be read; null where it shows none."""
    return F.coalesce(
        F.when(_has_header(headers, _APICURIO_HEADER), Framing.ID_IN_HEADERS.value),
        *(
            F.when(_has_header(headers, name), Framing.GUID_IN_HEADERS.value)
            for name in _GUID_HEADERS
        ),
        _of_bytes(value),
        _of_bytes(key),
    )


def _has_header(headers: Column, start: str) -> Column:
    return F.exists(headers, lambda header: header["key"].startswith(start))


def _of_bytes(part: Column) -> Column:
    long_id = F.substring(part, 1, 5) == F.lit(MAGIC * 5)
    glue = (F.substring(part, 1, 1) == F.lit(_GLUE_VERSION)) & F.substring(part, 2, 1).isin(
        *_GLUE_COMPRESSIONS
    )
    return F.when(long_id & (F.length(part) >= _LONG_ID_BYTES), Framing.LONG_ID.value).when(
        glue & (F.length(part) >= _GLUE_HEADER_BYTES), Framing.GLUE.value
    )
