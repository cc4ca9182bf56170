"""Avro schemas, resolved: every name replaced by what it stands for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAMED = ("record", "enum", "fixed")
_LEANS_ON = "tidemark.leans-on"


class InvalidAvroSchemaError(ValueError):
    """A text that is no Avro schema, or one that no Connect converter writes."""


@dataclass(frozen=True, slots=True)
class AvroType:
    """A type; properties: all that its declaration says besides.

    kind: ``union`` or one of Avro's own words. name: full name of a record, enum or fixed.
    inner: the branches of a union, the item of an array, the value of a map. fields: of a record.
    """

    kind: str
    name: str = ""
    inner: tuple[AvroType, ...] = ()
    fields: tuple[tuple[str, AvroType], ...] = ()
    properties: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_optional(self) -> bool:
        """A union that null is part of, wherever it stands in it (MSG-20)."""
        return self.kind == "union" and any(branch.kind == "null" for branch in self.inner)

    @property
    def required(self) -> AvroType:
        """What an optional type is when it is there."""
        there = tuple(branch for branch in self.inner if branch.kind != "null")
        return there[0] if self.kind == "union" and len(there) == 1 else self


def self_contained(text: str, leans_on: Sequence[str]) -> str:
    """One schema that declares what ``text`` does, where that names types of other schemas.

    leans_on: those schemas, each behind the ones that it leans on itself.

    >>> other = '{"type": "enum", "name": "a.B", "symbols": []}'
    >>> parse_schema(self_contained('["null", "a.B"]', [other])).inner[1].kind
    'enum'
    """
    if not leans_on:
        return text
    try:
        return json.dumps({"type": json.loads(text), _LEANS_ON: [*map(json.loads, leans_on)]})
    except (ValueError, RecursionError) as error:
        raise InvalidAvroSchemaError("it, or one that it leans on, is not JSON") from error


def parse_schema(text: str) -> AvroType:
    """The schema that ``text`` declares, which may be `self_contained`.

    `InvalidAvroSchemaError` where it is none, or holds itself.
    """
    try:
        declared, known = json.loads(text), dict[str, AvroType | None]()
        leans_on = declared.get(_LEANS_ON) if isinstance(declared, dict) else None
        for other in leans_on if isinstance(leans_on, list) else ():
            _parsed(other, "", known)
        return _parsed(declared, "", known)
    except json.JSONDecodeError as error:
        raise InvalidAvroSchemaError("it is not JSON") from error
    except RecursionError as error:
        raise InvalidAvroSchemaError("it is nested too deep") from error


def _parsed(declared: Any, space: str, known: dict[str, AvroType | None]) -> AvroType:
    """space: the namespace around. known: what each name stands for, None while it is read."""
    if isinstance(declared, list):
        return AvroType("union", inner=tuple(_parsed(branch, space, known) for branch in declared))
    if isinstance(declared, str):
        return AvroType(declared) if declared in PRIMITIVES else _named(declared, space, known)
    if not isinstance(declared, dict) or "type" not in declared:
        raise InvalidAvroSchemaError("a type is declared by neither name nor object")
    kind = declared["type"]
    if not isinstance(kind, str):
        return _parsed(kind, space, known)
    if kind in _NAMED:
        return _declared(kind, declared, space, known)
    if kind in ("array", "map"):
        inner = _parsed(declared.get("items" if kind == "array" else "values"), space, known)
        return AvroType(kind, inner=(inner,), properties=declared)
    if kind in PRIMITIVES:
        return AvroType(kind, properties=declared)
    return _named(kind, space, known)


def _named(name: str, space: str, known: Mapping[str, AvroType | None]) -> AvroType:
    full = name if "." in name or not space else f"{space}.{name}"
    avro = known.get(full, known.get(name))
    if avro is None:
        raise InvalidAvroSchemaError(f"{name!r} is declared nowhere before it, or holds itself")
    return avro


def _declared(
    kind: str, declared: Mapping[str, Any], space: str, known: dict[str, AvroType | None]
) -> AvroType:
    namespace, name = str(declared.get("namespace") or ""), str(declared.get("name") or "")
    full = name if "." in name else ".".join(filter(None, (namespace or space, name)))
    if not all(map(_is_name, full.split("."))):
        raise InvalidAvroSchemaError(f"{full!r} is no name of Avro")
    symbols, size = declared.get("symbols"), declared.get("size")
    if kind == "enum" and not (isinstance(symbols, list) and all(map(_is_name, symbols))):
        raise InvalidAvroSchemaError(f"{full} has no symbols")
    if kind == "fixed" and not isinstance(size, int):
        raise InvalidAvroSchemaError(f"{full} has no size")
    known[full] = None
    fields = tuple(_fields(declared, full.rpartition(".")[0], known)) if kind == "record" else ()
    made = AvroType(kind, full, fields=fields, properties=declared)
    known[full] = made
    return made


def _fields(
    declared: Mapping[str, Any], space: str, known: dict[str, AvroType | None]
) -> Iterator[tuple[str, AvroType]]:
    fields = declared.get("fields") or []
    if not isinstance(fields, list) or not all(
        isinstance(declared_field, dict) for declared_field in fields
    ):
        raise InvalidAvroSchemaError("a record has fields that are none")
    for declared_field in fields:
        name = declared_field.get("name")
        if not _is_name(name):
            raise InvalidAvroSchemaError(f"{name!r} is no name of Avro")
        yield name, _parsed(declared_field.get("type"), space, known)


def _is_name(name: object) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None
