"""What rows hold in a column that joined them, by its DEFAULT or by its type (SCHEMA-14).

A source fills its rows without events. Only what a plain literal tells, and what Iceberg's column
holds as it stands, is followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation

from tidemark.model.columns import SourceColumn
from tidemark.schema.ddl_columns import DefaultBackfill
from tidemark.schema.postgres_types import parse_postgres_type
from tidemark.schema.type_text import SourceType, parse_type

Reader = Callable[[str, SourceType, SourceColumn], str | None]

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d{1,6})?")
_TIME = re.compile(r"(?P<whole>-?\d{2,3}:[0-5]\d:[0-5]\d)(?:\.(?P<fraction>\d{1,6}))?")
_INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint")
_FLOATS = ("float", "double")
_TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext")
_ZERO_DATE = "0000-00-00"
_YEAR = re.compile(r"\d{4}")
_NO_DATE = re.compile(r"\d{4}-(00-\d{2}|\d{2}-00)")
"""A month or day of zero, which sql_mode may allow."""
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_AS_TEXT = re.compile(r"0|-?[1-9]\d*(\.\d+)?|0\.\d+")
"""Numbers that a column of text holds as the statement writes them."""
_MOMENTS = ("timestamp", "timestamp with time zone")
_SHOWN_TEXTS = ("text", "character varying", "character", "uuid", "json", "jsonb")
_AS_SHOWN = (*_SHOWN_TEXTS, "smallint", "integer", "bigint", "real", "double precision")


class UnknownBackfillError(ValueError):
    """What rows hold cannot be told."""


def backfill_text(column: SourceColumn, backfill: DefaultBackfill) -> str | None:
    """The value that rows get, as text that can be cast to ``column.iceberg``; None is null.

    Raises UnknownBackfillError where neither the literal nor the type tells it exactly.
    """
    if backfill.is_unknown:
        raise UnknownBackfillError("no event tells which")
    if backfill.is_output:
        return _shown(backfill.text or "", column)
    known = parse_type(column.source_type)
    if backfill.is_now:
        if backfill.text is None or column.iceberg != "timestamp":
            raise UnknownBackfillError("no event tells when the statement was made")
        return backfill.text
    reader = _READERS.get(known.base) if known else None
    if known is None or reader is None:
        raise UnknownBackfillError(f"of the type {column.source_type} no default is followed")
    text = _implied(known) if backfill.text is None else backfill.text
    is_text = known.base in {*_TEXTS, "enum", "set"}
    if backfill.is_number and is_text and not (known.base in _TEXTS and _AS_TEXT.fullmatch(text)):
        raise UnknownBackfillError(f"{text} without quotes is another text in {column.source_type}")
    try:
        return reader(text, known, column)
    except (ValueError, InvalidOperation) as error:
        if isinstance(error, UnknownBackfillError):
            raise
        raise UnknownBackfillError(f"{text!r} is no {column.source_type}") from error


def _shown(text: str, column: SourceColumn) -> str:
    """The value that PostgreSQL shows as ``text``, in UTC and as ISO 8601 has it."""
    known = parse_postgres_type(column.source_type)
    base = known.base if known and not known.is_array else ""
    if base == "boolean" and text in {"t", "f"}:
        return "true" if text == "t" else "false"
    is_date = base == "date" and _DATE.fullmatch(text)
    is_moment = base in _MOMENTS and _MOMENT.fullmatch(text.removesuffix("+00"))
    is_exact = column.iceberg.startswith("decimal") and _NUMBER.fullmatch(text)
    if is_date or is_moment or is_exact:
        return text.removesuffix("+00")
    if base in _AS_SHOWN and (column.iceberg == "string") == (base in _SHOWN_TEXTS):
        return text
    raise UnknownBackfillError(f"{text!r} of the type {column.source_type} is not followed")


def _implied(known: SourceType) -> str:
    """What a NOT NULL column without DEFAULT holds in the rows that are there."""
    if known.base in {*_TEXTS, "set"}:
        return ""
    if known.base == "time":
        return "00:00:00"
    if known.base == "enum":
        return known.parameters[0] if known.parameters else "0"
    if known.base == "year":
        return "0000"
    return _ZERO_DATE if known.base in {"date", "datetime"} else "0"


def _integer(text: str, _known: SourceType, column: SourceColumn) -> str:
    number = int(text)
    return str(bool(number)).lower() if column.iceberg == "boolean" else str(number)


def _year(text: str, known: SourceType, column: SourceColumn) -> str:
    """Of two digits the century is not sure: 0 and '0' are two years."""
    if not _YEAR.fullmatch(text):
        raise UnknownBackfillError(f"{text!r} is no year of four digits")
    return _integer(text, known, column)


def _decimal(text: str, known: SourceType, column: SourceColumn) -> str:
    scale = known.numbers[1] if len(known.numbers) > 1 else 0
    value = Decimal(text)
    exact = value.quantize(Decimal(1).scaleb(-scale))
    if exact != value or not column.iceberg.startswith("decimal"):
        raise UnknownBackfillError(f"{text} is rounded to fit {column.source_type}")
    return f"{exact:f}"


def _float(text: str, known: SourceType, column: SourceColumn) -> str:
    if known.parameters:
        raise UnknownBackfillError(f"{text} is rounded to fit {column.source_type}")
    return repr(float(text))


def _text(text: str, known: SourceType, _column: SourceColumn) -> str:
    """A CHAR has no blanks at its end when it is read."""
    return text.rstrip(" ") if known.base == "char" else text


def _date(text: str, _known: SourceType, _column: SourceColumn) -> str | None:
    return _moment_of(text, _DATE)


def _datetime(text: str, known: SourceType, _column: SourceColumn) -> str | None:
    digits = known.numbers[0] if known.numbers else 0
    if len(text.partition(".")[2]) > digits:
        raise UnknownBackfillError(f"{text} is rounded to {digits} digits")
    return _moment_of(f"{text} 00:00:00" if _DATE.fullmatch(text) else text, _MOMENT)


def _moment_of(text: str, form: re.Pattern[str]) -> str | None:
    """A date with a month or day of zero is no date (TYPE-12)."""
    if not form.fullmatch(text):
        raise UnknownBackfillError(f"{text!r} is not written as a date is")
    if _NO_DATE.match(text):
        return None
    date.fromisoformat(text[: len(_ZERO_DATE)])
    return text


def _time(text: str, known: SourceType, _column: SourceColumn) -> str:
    """With as many fraction digits as the column has (TYPE-13)."""
    digits = known.numbers[0] if known.numbers else 0
    written = _TIME.fullmatch(text)
    if written is None or len(written["fraction"] or "") > digits:
        raise UnknownBackfillError(f"{text!r} is not written as a time of {digits} digits is")
    fraction = (written["fraction"] or "").ljust(digits, "0")
    return f"{written['whole']}.{fraction}" if digits else written["whole"]


def _bit(text: str, _known: SourceType, column: SourceColumn) -> str:
    if column.iceberg != "boolean" or text not in {"0", "1"}:
        raise UnknownBackfillError(f"of the type {column.source_type} no default is followed")
    return "true" if text == "1" else "false"


def _set(text: str, known: SourceType, column: SourceColumn) -> str:
    """The labels in the order of the type."""
    labels = column.labels or known.parameters
    chosen = {label.lower() for label in text.split(",") if label}
    members = [label for label in labels if label.lower() in chosen]
    if len(members) != len(chosen) or column.iceberg != "string":
        raise UnknownBackfillError(f"{text!r} is not among the labels of {column.source_type}")
    return ",".join(members)


def _enum(text: str, known: SourceType, column: SourceColumn) -> str:
    labels = column.labels or known.parameters
    places = [place for place, label in enumerate(labels) if label.lower() == text.lower()]
    if not places:
        raise UnknownBackfillError(f"{text!r} is not among the labels of {column.source_type}")
    return labels[places[0]] if column.iceberg == "string" else str(places[0] + 1)


_READERS: Mapping[str, Reader] = {
    **dict.fromkeys(_INTEGERS, _integer),
    "year": _year,
    **dict.fromkeys(_FLOATS, _float),
    **dict.fromkeys(_TEXTS, _text),
    "decimal": _decimal,
    "date": _date,
    "datetime": _datetime,
    "enum": _enum,
    "set": _set,
    "time": _time,
    "bit": _bit,
}
