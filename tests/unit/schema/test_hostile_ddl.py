"""Hundreds of statements that mean harm: each is judged, and what comes of it are checked names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from tests.support.hostile import VICTIM, statements
from tidemark.model.names import refusal
from tidemark.schema.ddl import parse_ddl

TEXTS = statements(200, f"shop.{VICTIM}") + statements(200, "`it``s`", seed=2)


def test_each_is_judged_and_names_only_what_may_be_named() -> None:
    """SCHEMA-20, POISON-6"""
    judged, named = 0, set[str]()
    for text in TEXTS:
        for operation in parse_ddl(text, "shop"):
            judged += 1
            named |= set(_columns(operation))
    assert judged > len(TEXTS) * 3 / 4
    assert len(named) > len(TEXTS) / 8
    assert {name: refusal(name) for name in named if refusal(name)} == {}


def _columns(value: Any) -> Iterator[str]:
    """Every text of ``value`` that is declared as the name of a column."""
    for name, declared in _fields(value):
        inner = getattr(value, name)
        if "ColumnName" in declared:
            yield from _texts(inner)
        else:
            yield from _columns(inner)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        for inner in value:
            yield from _columns(inner)


def _fields(value: Any) -> Sequence[tuple[str, str]]:
    if is_dataclass(value):
        return [(field.name, str(field.type)) for field in fields(value)]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(name, str(kind)) for name, kind in type(value).__annotations__.items()]
    return ()


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif value is not None:
        for inner in value:
            yield from _texts(inner)
