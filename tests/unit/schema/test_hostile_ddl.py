"""Hundreds of statements that mean harm: each is judged, and what comes of it are checked names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from tests.support.hostile import VICTIM, statements
from tidemark.model.names import TableName, refusal
from tidemark.schema.ddl import parse_ddl
from tidemark.schema.ddl_columns import ColumnText

TEXTS = statements(200, f"shop.{VICTIM}") + statements(200, "`it``s`", seed=2)


def test_each_is_judged_and_names_only_what_may_be_named() -> None:
    """SCHEMA-20, POISON-6"""
    judged = 0
    for text in TEXTS:
        for operation in parse_ddl(text, "shop"):
            judged += 1
            for value in _inside(operation):
                if isinstance(value, TableName):
                    assert refusal(value.schema) is None
                    assert refusal(value.table) is None
                if isinstance(value, ColumnText):
                    assert refusal(value.name) is None
    assert judged > len(TEXTS) * 3 / 4


def _inside(value: Any) -> Iterator[Any]:
    yield value
    if is_dataclass(value) and not isinstance(value, Enum):
        for field in fields(value):
            yield from _inside(getattr(value, field.name))
    elif isinstance(value, tuple | list | set | frozenset):
        for inner in value:
            yield from _inside(inner)
    elif isinstance(value, dict):
        for inner in (*value, *value.values()):
            yield from _inside(inner)
