"""Keys and rows of Debezium's JSON in plain Python, where nothing about them is odd.

What a value means is said by `formats.values` and `formats.rows`. This reader gives the same value
for what connectors write as they write it. It raises on all else, which is odd and is read by the
expressions there; tables with columns that it does not know are left to them altogether.
"""

from __future__ import annotations

import re
import struct
from base64 import b64encode
from binascii import unhexlify
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, datetime
from decimal import Decimal
from functools import partial
from types import GenericAlias
from typing import Annotated, Any

import msgspec
import pyarrow as pa

from tidemark.formats.encoding import PAYLOAD_NEXT, SCHEMA_FIRST
from tidemark.formats.json_guards import has_twice
from tidemark.formats.json_shapes import AfterDecoder
from tidemark.formats.number_tokens import DOUBLE_DIGITS
from tidemark.formats.record_reader import SPARK_SEED, spark_hash
from tidemark.formats.special import PLACEHOLDER, PLACEHOLDER_ARRAYS, PLAIN_PLACEHOLDERS
from tidemark.formats.values import (
    FIRST_DAY,
    FIRST_MILLI,
    LAST_DAY,
    LAST_DURATION_MILLI,
    LAST_MILLI,
    MICRO_DIGITS,
)
from tidemark.model.columns import SourceColumn, TableSchema, Wire
from tidemark.model.position import LAST

Key = tuple[Any, ...]
Row = tuple[Any, ...]
ODD = (ValueError, msgspec.DecodeError)
"""What the reader raises."""

_FIRST, _NEXT = SCHEMA_FIRST.encode(), PAYLOAD_NEXT.encode()
PLACEHOLDER_BYTES = PLACEHOLDER.encode()
_PLACEHOLDERS = frozenset((*PLAIN_PLACEHOLDERS, PLACEHOLDER_BYTES))
_IN_BASE64 = b64encode(PLACEHOLDER_BYTES)
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
LONG_DIGITS, DECIMAL_BYTES = 18, 16
MICROS_IN_MILLI = 1_000
_ZONED = (
    r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
    r"(Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])\Z"
)
FLAG = "tinyint(1)"
_INT, _LONG = struct.Struct("<i"), struct.Struct("<q")
_HALF, _BELOW_FLOAT = 1 << 28, (1 << 29) - 1
"""Of a double's last 29 bits, which a float does not have: half of its last place, and all."""
_LEAST_FLOAT, _MOST_FLOAT = 2.0**-126, (2 - 2.0**-24) * 2.0**127


@dataclass(frozen=True, slots=True)
class _Reading:
    """How the values of a column are read.

    json: the type that JSON must hold, as msgspec takes it. arrow: of the column. convert: from the
    one to the other, where they differ; ValueError for what is odd. layout: what an array is made
    of that is then taken for ``arrow``, where that is not it. pack: a value as Spark hashes it,
    where a key may have the column.
    """

    json: Any
    arrow: pa.DataType
    convert: Callable[[Any], Any] | None = None
    layout: pa.DataType | None = None
    pack: Callable[[Any], bytes] | None = None


class RowReader:
    """Reads the records of one table; what is odd raises ValueError or msgspec.DecodeError.

    above: what stands at or below this position may have other names or types.
    """

    def __init__(self, schema: TableSchema) -> None:
        readings = {column.name: _reading_of(column) for column in schema.columns}
        if None in readings.values():
            raise ValueError("the table has columns that this reader does not know")
        self._readings: list[_Reading] = [one for one in readings.values() if one is not None]
        names = [_name_in_record(schema, column) for column in schema.columns]
        self._decoder = AfterDecoder(
            {name: one.json | None for name, one in zip(names, self._readings, strict=True)}
        )
        self._conversions = [
            (number, one.convert) for number, one in enumerate(self._readings) if one.convert
        ]
        places = [schema.names.index(name) for name in schema.key]
        self._places = places
        key = [self._readings[place] for place in places]
        self._packs = [one.pack for one in key if one.pack]
        fields = [
            (f"key_{number}", self._readings[place].json, msgspec.field(name=names[place]))
            for number, place in enumerate(places)
        ]
        plain = msgspec.defstruct("Key", fields, forbid_unknown_fields=True)
        self._key = msgspec.json.Decoder(plain)
        wrapped = msgspec.defstruct("Wrapped", [("schema", msgspec.Raw), ("payload", plain)])
        self._wrapped_key = msgspec.json.Decoder(wrapped)
        self._may_lack = [column for column in schema.columns if column.may_be_unavailable]
        self._values_may_lack, self._arrays_may_lack = (
            [schema.names.index(c.name) for c in self._may_lack if bool(c.element) is is_array]
            for is_array in (False, True)
        )
        self.width = len(self._readings)
        self._wrapper = b""
        self.above = max((_plain_above(schema, column) for column in schema.columns), default="")
        self.odd_schemas = frozenset(
            number for column in schema.columns for ids, _ in column.forms for number in ids
        )

    def key(self, text: bytes) -> Key:
        """The key's values as JSON has them."""
        if text.startswith(_FIRST):
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
        if image is not None and self._may_lack and self._lacks(image, value):
            raise ValueError("a value was not sent")
        return image

    def _lacks(self, image: Row, value: bytes) -> bool:
        """Whether a placeholder stands for a value that did not change (UNAV-1, UNAV-2)."""
        if any(image[place] in PLACEHOLDER_ARRAYS for place in self._arrays_may_lack):
            return True
        # An escape may stand for any character.
        if PLACEHOLDER_BYTES in value or _IN_BASE64 in value or b"\\u" in value:
            return any(image[place] in _PLACEHOLDERS for place in self._values_may_lack)
        return False

    def typed(self, key: Key, image: Row) -> Row:
        """The columns of ``image`` typed; it must be of ``key``."""
        row = list(image)
        for place, value in zip(self._places, key, strict=True):
            if row[place] is not None and row[place] != value:
                raise ValueError("a record has another key than its row")
            row[place] = value
        return self._converted(row)

    def deleted(self, key: Key) -> Row:
        """The key and no other value."""
        row: list[Any] = [None] * self.width
        for place, value in zip(self._places, key, strict=True):
            row[place] = value
        return self._converted(row)

    def arrays(self, columns: Sequence[Sequence[Any]]) -> list[pa.Array]:
        """The values of each column."""
        return [
            pa.array(values, one.layout or one.arrow).view(one.arrow)
            for one, values in zip(self._readings, columns, strict=True)
        ]

    def _converted(self, row: list[Any]) -> Row:
        for place, convert in self._conversions:
            value = row[place]
            if value is not None:
                row[place] = convert(value)
        return tuple(row)

    def _payload(self, value: bytes) -> bytes:
        """A value without the schema beside it; the last one is remembered (MSG-15)."""
        if not value.startswith(_FIRST):
            return value
        if not self._wrapper or not value.startswith(self._wrapper):
            schema, found, _ = value.partition(_NEXT)
            if not found or has_twice(schema + b"}"):
                raise ValueError("a record has its schema in another place")
            self._wrapper = schema + found
        return value[len(self._wrapper) : -1]


def row_fields(schema: TableSchema) -> list[pa.Field]:
    """The columns of a table that `RowReader` reads."""
    known = ((column.name, _reading_of(column)) for column in schema.columns)
    return [pa.field(name, reading.arrow) for name, reading in known if reading is not None]


def can_read(schema: TableSchema) -> bool:
    """Whether `RowReader` knows the key and all columns of a table."""
    readings = {column.name: _reading_of(column) for column in schema.columns}
    names = [_name_in_record(schema, column) for column in schema.columns]
    return (
        bool(schema.key)
        and None not in readings.values()
        and all(reading is not None and reading.pack for reading in map(readings.get, schema.key))
        and len(set(names)) == len(names)
        and all(name.isprintable() and not set(name) & {'"', "\\"} for name in names)
        and all(_plain_above(schema, column) < LAST for column in schema.columns)
    )


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
    changed = (way.changed_at or "" for way in column.ways)
    return max((column_alias.since or "", *untils, *changed))


def _reading_of(column: SourceColumn) -> _Reading | None:
    """None where values of the column are left to the expressions."""
    if column.mask is not None:
        return None
    if column.element is not None:
        return _array(column.element)
    make = _READINGS.get(column.wire)
    return make(column) if make else None


def _array(element: SourceColumn) -> _Reading | None:
    """Of elements that an array is made of as they are; null ones stay (TYPE-24)."""
    inner = _reading_of(element)
    if inner is None or inner.layout is not None:
        return None
    kind, arrow, convert = (
        GenericAlias(list, inner.json | None),
        pa.list_(inner.arrow),
        inner.convert,
    )
    if convert is None:
        return _Reading(kind, arrow)
    return _Reading(
        kind, arrow, lambda values: [None if value is None else convert(value) for value in values]
    )


def _between(first: int, last: int) -> Any:  # noqa: ANN401  a type
    return Annotated[int, msgspec.Meta(ge=first, le=last)]


def _matching(pattern: str) -> Any:  # noqa: ANN401  a type
    return Annotated[str, msgspec.Meta(pattern=pattern)]


def _integer(column: SourceColumn) -> _Reading | None:
    """A converter may write booleans of what MySQL calls ``tinyint(1)``."""
    match column.iceberg:
        case "int":
            kind = _between(-(2**31), 2**31 - 1)
            reading = _Reading(kind, pa.int32(), pack=_INT.pack)
            is_flag = column.source_type == FLAG
            return replace(reading, json=kind | bool, convert=int) if is_flag else reading
        case "bigint":
            kind = _between(-(2**63), 2**63 - 1)
            return _Reading(kind, pa.int64(), pack=_LONG.pack)
    return None


def _unsigned(column: SourceColumn) -> _Reading | None:
    if column.iceberg != "decimal(20,0)":
        return None
    kind = _between(-(2**63), 2**63 - 1)
    return _Reading(
        kind,
        pa.decimal128(20, 0),
        lambda number: Decimal(number % 2**64),
        pack=lambda number: _least_bytes(number % 2**64),
    )


def _float(column: SourceColumn) -> _Reading | None:
    return _Reading(float, pa.float32(), _as_float) if column.iceberg == "float" else None


def _as_float(number: float) -> float:
    """A double whose nearest float is that of its shortest text too: it stands between no two."""
    (bits,) = struct.unpack("<q", struct.pack("<d", number))
    size = abs(number)
    if abs((bits & _BELOW_FLOAT) - _HALF) <= 1 or (size and not _LEAST_FLOAT <= size < _MOST_FLOAT):
        raise ValueError(f"{number} is near no float")
    return number


def _double(column: SourceColumn) -> _Reading | None:
    return _Reading(float, pa.float64()) if column.iceberg == "double" else None


def _boolean(column: SourceColumn) -> _Reading | None:
    """MySQL's are numbers."""
    kind = bool | _between(0, 1)
    return _Reading(kind, pa.bool_(), bool, pack=_INT.pack) if column.iceberg == "boolean" else None


def _text(column: SourceColumn) -> _Reading | None:
    return _Reading(str, pa.string(), pack=str.encode) if column.iceberg == "string" else None


def _base64(column: SourceColumn) -> _Reading | None:
    return _Reading(bytes, pa.binary(), pack=bytes) if column.iceberg == "binary" else None


def _latin1(column: SourceColumn) -> _Reading | None:
    if column.iceberg != "binary":
        return None
    return _Reading(str, pa.binary(), lambda text: text.encode("latin-1"))


def _hex(column: SourceColumn) -> _Reading | None:
    return _Reading(str, pa.binary(), unhexlify) if column.iceberg == "binary" else None


def _bits(column: SourceColumn) -> _Reading | None:
    width = (column.digits + 7) // 8
    if column.iceberg != "binary" or not width:
        return None
    kind = Annotated[bytes, msgspec.Meta(max_length=width)]
    return _Reading(kind, pa.binary(), lambda least: least[::-1].rjust(width, b"\0"))


def _decimal_base64(column: SourceColumn) -> _Reading | None:
    sizes = _DECIMAL.fullmatch(column.iceberg)
    if sizes is None:
        return None
    precision, scale = int(sizes[1]), int(sizes[2])
    most = 10**precision
    plain = (most.bit_length() - 1) // 8
    width = 8 if precision <= LONG_DIGITS else DECIMAL_BYTES

    def convert(unscaled: bytes) -> bytes:
        """As Arrow has it: as many bytes, the least significant first."""
        if len(unscaled) > plain:
            number = int.from_bytes(unscaled, "big", signed=True)
            if not -most < number < most:
                raise ValueError(f"{number} has more than {precision} digits")
        sign = b"\xff" if unscaled[0] & 0x80 else b"\0"
        return unscaled[::-1].ljust(DECIMAL_BYTES, sign)

    def pack(unscaled: bytes) -> bytes:
        number = int.from_bytes(unscaled, "big", signed=True)
        if _least_bytes(number) != unscaled:
            raise ValueError(f"{number} is written in more bytes than another {number}")
        return _LONG.pack(number) if precision <= LONG_DIGITS else unscaled

    kind = Annotated[bytes, msgspec.Meta(min_length=1, max_length=width)]
    layout = pa.binary(DECIMAL_BYTES)
    return _Reading(kind, pa.decimal128(precision, scale), convert, layout, pack)


def _least_bytes(number: int) -> bytes:
    """Two's complement, big-endian, as Java's BigInteger writes it."""
    bits = (number if number >= 0 else ~number).bit_length()
    return number.to_bytes(bits // 8 + 1, "big", signed=True)


def _decimal_text(column: SourceColumn) -> _Reading | None:
    sizes = _DECIMAL.fullmatch(column.iceberg)
    if sizes is None:
        return None
    precision, scale = int(sizes[1]), int(sizes[2])
    fraction = rf"(\.[0-9]{{1,{scale}}})?" if scale else ""
    most = Decimal(10) ** (precision - scale)

    def convert(value: str | float) -> Decimal:
        number = Decimal(repr(value) if isinstance(value, float) else value)
        if not -most < number < most or -int(number.as_tuple().exponent) > scale:
            raise ValueError(f"{value} does not fit {column.iceberg}")
        return number

    kind = _matching(rf"\A-?[0-9]{{1,38}}{fraction}\Z")
    # A double that holds all digits of a number has no others in its shortest text.
    told = kind | float if precision <= DOUBLE_DIGITS else kind
    return _Reading(told, pa.decimal128(precision, scale), convert)


def _days(column: SourceColumn) -> _Reading | None:
    kind = _between(FIRST_DAY, LAST_DAY)
    return _Reading(kind, pa.date32(), pack=_INT.pack) if column.iceberg == "date" else None


def _moment(column: SourceColumn, units: int) -> _Reading | None:
    """units: of a record's number in a millisecond."""
    if column.iceberg != "timestamp_ntz":
        return None
    kind = _between(FIRST_MILLI * units, LAST_MILLI * units + units - 1)
    if units == MICROS_IN_MILLI:
        return _Reading(kind, pa.timestamp("us"), pack=_LONG.pack)
    return _Reading(
        kind,
        pa.timestamp("us"),
        lambda millis: millis * MICROS_IN_MILLI,
        pack=lambda millis: _LONG.pack(millis * MICROS_IN_MILLI),
    )


def _zoned(column: SourceColumn) -> _Reading | None:
    if column.iceberg != "timestamp":
        return None
    return _Reading(_matching(_ZONED), pa.timestamp("us", tz="UTC"), _as_moment)


def _as_moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if not text.endswith("Z") and not MINYEAR < moment.year < MAXYEAR:
        raise ValueError(f"{text} may be of another year in UTC")
    return moment


def _time(column: SourceColumn, micros: int) -> _Reading | None:
    """micros: in a record's unit."""
    if column.iceberg != "string":
        return None
    last = LAST_DURATION_MILLI * MICROS_IN_MILLI // micros
    convert = partial(_duration, micros, column.digits)
    return _Reading(_between(-last, last), pa.string(), convert)


def _duration(micros: int, digits: int, number: int) -> str:
    """``[-]HH:MM:SS[.ffffff]`` with ``digits`` of a fraction, or more if there are more."""
    seconds, rest = divmod(abs(number) * micros, 1_000_000)
    minutes, hours = seconds // 60 % 60, seconds // 3_600
    fraction = f".{rest:06}"
    is_short = rest % 10 ** (MICRO_DIGITS - digits) == 0
    shown = (fraction[: digits + 1] if digits else "") if is_short else fraction.rstrip("0")
    return f"{'-' if number < 0 else ''}{hours:02}:{minutes:02}:{seconds % 60:02}{shown}"


_READINGS: Mapping[Wire, Callable[[SourceColumn], _Reading | None]] = {
    Wire.INTEGER: _integer,
    Wire.UNSIGNED_AS_SIGNED: _unsigned,
    Wire.FLOAT: _float,
    Wire.DOUBLE: _double,
    Wire.BOOLEAN: _boolean,
    Wire.TEXT: _text,
    Wire.BASE64: _base64,
    Wire.HEX: _hex,
    Wire.LATIN1: _latin1,
    Wire.BITS: _bits,
    Wire.DECIMAL_BASE64: _decimal_base64,
    Wire.DECIMAL_TEXT: _decimal_text,
    Wire.DAYS: _days,
    Wire.TIMESTAMP_MILLIS: partial(_moment, units=1),
    Wire.TIMESTAMP_MICROS: partial(_moment, units=1_000),
    Wire.ZONED_TEXT: _zoned,
    Wire.TIME_MILLIS: partial(_time, micros=1_000),
    Wire.TIME_MICROS: partial(_time, micros=1),
}
