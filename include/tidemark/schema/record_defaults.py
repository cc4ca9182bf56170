"""What rows hold in a column that joined them, where record schemas alone tell it (SCHEMA-14).

A source fills its rows without events when a column joins with a DEFAULT, which the schema of the
records with that column repeats. That it was the default when the column joined is taken for
granted: one that was set afterwards looks the same.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from tidemark.model.names import ColumnName, column_name
from tidemark.model.position import Place

_DATA = "io.debezium.data."


def joined_defaults(
    known: Iterable[ColumnName], schemas: Iterable[tuple[Sequence[Mapping[str, Any]], Place | None]]
) -> dict[ColumnName, tuple[str, Place]]:
    """Columns that join after ``known`` -> their default, as text, and where records have them.

    schemas: the fields of each schema of records and the lowest place of those records, oldest
    first; where nothing is known before them, the columns of the first one join nothing. Columns
    without a default that can be told are not there.
    """
    names = set(known)
    defaults: dict[ColumnName, tuple[str, Place]] = {}
    for listed, begins_at in schemas:
        fields = {column_name(field["field"]): field for field in listed}
        joined = fields.keys() - names if names else ()
        for name in joined:
            text = default_text(fields[name])
            if text is not None and begins_at is not None:
                defaults[name] = (text, begins_at)
        names |= fields.keys()
    return defaults


def default_text(field: Mapping[str, Any]) -> str | None:
    """The default of a field of Connect, as text that can be cast; None where it tells none.

    >>> default_text({"type": "int32", "default": 7}), default_text({"type": "int32"})
    ('7', None)

    Of a time or a date an expression looks like the first moment of 1970, so none is told.
    """
    default, kind = field.get("default"), (field.get("type"), field.get("name"))
    reader = _READERS.get(kind)
    if default is None or reader is None:
        return None
    try:
        return reader(default, field.get("parameters") or {})
    except (ValueError, TypeError, KeyError, binascii.Error):
        return None


def _whole(default: Any, _: Mapping[str, str]) -> str:
    return str(int(default))


def _boolean(default: Any, _: Mapping[str, str]) -> str:
    return str(bool(default)).lower()


def _floating(default: Any, _: Mapping[str, str]) -> str:
    return repr(float(default))


def _text(default: Any, _: Mapping[str, str]) -> str:
    return str(default)


def _decimal(default: Any, parameters: Mapping[str, str]) -> str:
    unscaled = int.from_bytes(base64.b64decode(default, validate=True), "big", signed=True)
    return f"{Decimal(unscaled).scaleb(-int(parameters['scale'])):f}"


_READERS: Mapping[tuple[str | None, str | None], Callable[[Any, Mapping[str, str]], str]] = {
    **{(kind, None): _whole for kind in ("int8", "int16", "int32", "int64")},
    **{(kind, None): _floating for kind in ("float", "double")},
    ("boolean", None): _boolean,
    **{
        ("string", name): _text
        for name in (None, *(f"{_DATA}{kind}" for kind in ("Enum", "EnumSet", "Json", "Uuid")))
    },
    ("bytes", "org.apache.kafka.connect.data.Decimal"): _decimal,
}
"""(type, name) of a Connect schema -> how its default is read."""
