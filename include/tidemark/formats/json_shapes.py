"""Rows in JSON records of which every name is known to stand once, at the speed of msgspec.

msgspec takes the last of two names that are the same. So a record is decoded into a structure that
requires the names which a record like it has, and allows no other: where it holds as many names as
the structure, each of them stands once. What records are like is learnt from those that a slow and
strict reader has read before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeAlias

import msgspec

from tidemark.formats.json_guards import read_once

AFTER = "after"
MOST_SHAPES = 64
"""Of one table, as many as are remembered."""

_Scalar = str | int | float | bool | None
_Inner: TypeAlias = "_Shape | str | None"
_Shape: TypeAlias = tuple[tuple[str, _Inner], ...]
"""Names of an object in their order, each with its own shape: None of what is no object."""
_NESTED = "a list of lists or objects"
JsonType: TypeAlias = Any
"""A type as msgspec takes it, with constraints."""
_Field = tuple[str, JsonType, Any]
_after = attrgetter(AFTER)


class AfterDecoder:
    """Reads what records have in AFTER.

    columns: the names that records have for the columns of a table -> the type, as msgspec takes
    it, of what is read and is not null.
    """

    def __init__(self, columns: Mapping[str, JsonType]) -> None:
        self._columns = columns
        self._by_shape: dict[_Shape, msgspec.json.Decoder[Any]] = {}
        self._by_names: dict[int, list[msgspec.json.Decoder[Any]]] = {}

    def decode(self, text: bytes) -> tuple[Any, ...] | None:
        """The values of the columns in their order, None for what is absent; None without a row.

        ValueError or msgspec.DecodeError: a name stands twice, or a value is of another type.
        """
        names = _names_in(text)
        for known in () if names is None else self._by_names.get(names, ()):
            try:
                return self._row(known.decode(text))
            except msgspec.DecodeError:
                continue  # Of another shape, or with another value.
        return self._row(self._learnt(text, names).decode(text))

    def _row(self, record: msgspec.Struct) -> tuple[Any, ...] | None:
        row = _after(record)
        return None if row is None else msgspec.structs.astuple(row)[: len(self._columns)]

    def _learnt(self, text: bytes, names: int | None) -> msgspec.json.Decoder[Any]:
        """The decoder of records like ``text``, which is read strictly."""
        shape = _shape_of(read_once(text))
        if not isinstance(shape, tuple):
            raise msgspec.DecodeError("a record is no JSON object")
        decoder = self._by_shape.get(shape)
        if decoder is None:
            if len(self._by_shape) >= MOST_SHAPES:
                self._by_shape.clear()
                self._by_names.clear()
            decoder = self._by_shape[shape] = msgspec.json.Decoder(self._record(shape))
        if names is not None and names == _size(shape):
            alike = self._by_names.setdefault(names, [])
            if decoder not in alike:
                alike.append(decoder)
        return decoder

    def _record(self, shape: _Shape) -> type[msgspec.Struct]:
        inner = dict(shape).get(AFTER)
        others = [field for field in shape if field[0] != AFTER]
        row = self._image(inner) if isinstance(inner, tuple) else None
        default = None if len(others) == len(shape) else msgspec.NODEFAULT
        return _struct([(AFTER, row, msgspec.field(default=default)), *_fields(others)])

    def _image(self, shape: _Shape) -> type[msgspec.Struct]:
        """The columns first, as they are declared."""
        present = dict(shape)
        columns: list[_Field] = []
        for number, (name, kind) in enumerate(self._columns.items()):
            default = msgspec.NODEFAULT if name in present else None
            columns.append(
                (
                    f"column_{number}",
                    _of_column(kind, present.get(name)),
                    msgspec.field(name=name, default=default),
                )
            )
        others = [field for field in shape if field[0] not in self._columns]
        return _struct([*columns, *_fields(others)])


def _names_in(text: bytes) -> int | None:
    """How many names stand in ``text``, which is JSON; None where white space may hide one.

    A quote inside a string is escaped, so that only a name ends in a quote and a colon without a
    backslash before them; one with a backslash at its end is no field of any structure.
    """
    if b" :" in text or b"\t" in text or b"\n" in text or b"\r" in text:
        return None  # In records of no connector, but texts may hold them.
    escaped = text.count(b'\\":') if b"\\" in text else 0
    return text.count(b'":') - escaped


def _shape_of(value: object) -> _Inner:
    if isinstance(value, dict):
        return tuple((name, _shape_of(inner)) for name, inner in value.items())
    is_nested = isinstance(value, list) and any(
        isinstance(element, dict | list) for element in value
    )
    return _NESTED if is_nested else None


def _size(shape: _Inner) -> int | None:
    """How many names a value of ``shape`` has; None where their number may differ."""
    if not isinstance(shape, tuple):
        return None if shape == _NESTED else 0
    sizes = [_size(inner) for _, inner in shape]
    return None if None in sizes else len(shape) + sum(filter(None, sizes))


def _type_of(shape: _Inner) -> JsonType:
    """What a field that nobody asks for may hold: no object that the shape does not have."""
    if isinstance(shape, tuple):
        return _struct(_fields(shape))
    return msgspec.Raw if shape == _NESTED else _Scalar | list[_Scalar]


def _of_column(kind: JsonType, shape: _Inner) -> JsonType:
    """What a column of this shape may hold: an object where it is one, or null where not."""
    if not isinstance(kind, type) or not issubclass(kind, msgspec.Struct):
        return kind | None
    return kind if isinstance(shape, tuple) else None


def _fields(shape: Sequence[tuple[str, _Inner]]) -> list[_Field]:
    return [
        (f"other_{number}", _type_of(inner), msgspec.field(name=name))
        for number, (name, inner) in enumerate(shape)
    ]


def _struct(fields: Sequence[_Field]) -> type[msgspec.Struct]:
    return msgspec.defstruct("Object", fields, kw_only=True, forbid_unknown_fields=True)
