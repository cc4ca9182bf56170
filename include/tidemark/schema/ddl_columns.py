"""The items between the parentheses of a CREATE TABLE: columns and keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from tidemark.model.names import ColumnName, column_name
from tidemark.schema.sql_words import Words

_CONSTRAINTS = {"INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL", "FOREIGN", "CHECK", "PERIOD"}
_CONTINUED: Mapping[str, frozenset[str]] = {
    "DOUBLE": frozenset({"PRECISION"}),
    "CHAR": frozenset({"VARYING"}),
    "CHARACTER": frozenset({"VARYING"}),
    "NCHAR": frozenset({"VARYING", "VARCHAR"}),
    "NATIONAL": frozenset({"CHAR", "CHARACTER", "VARCHAR", "VARYING"}),
    "LONG": frozenset({"VARCHAR", "VARBINARY"}),
}
_MARKS = {"SIGNED", "UNSIGNED", "ZEROFILL"}


class ColumnText(NamedTuple):
    """A column as DDL declares it; type_text: for example ``decimal(12,2) unsigned``."""

    name: ColumnName
    type_text: str


@dataclass(frozen=True, slots=True)
class Attributes:
    """What stands behind a column's type.

    fills_rows: rows that are there when the column joins get a value other than null. is_computed:
    the source computes its values. is_bytes: its character set makes it a binary type.
    """

    is_key: bool
    fills_rows: bool
    is_computed: bool
    is_bytes: bool


def key_columns(item: Words) -> tuple[ColumnName, ...] | None:
    """The columns of a primary key; empty for another constraint, None for a column."""
    if item.accept("CONSTRAINT") and item.keyword() not in {"PRIMARY", *_CONSTRAINTS}:
        item.name()
    if item.keyword() in _CONSTRAINTS:
        return ()
    if not item.accept("PRIMARY", "KEY"):
        return None
    while item.left and item.keyword() != "(":
        item.at += 1
    return tuple(column_name(part.name()) for part in item.group().split(","))


def column_definition(item: Words) -> tuple[ColumnText, Attributes]:
    """One column. Raises ParseError where there is none, NameRefusedError for an unfit name."""
    name, start = column_name(item.name()), item.at
    first = item.keyword()
    item.name()
    while item.keyword() in _CONTINUED.get(first, ()) or item.keyword() == "VARYING":
        item.at += 1
    if item.keyword() == "(":
        item.group()
    while item.keyword() in _MARKS:
        item.at += 1
    column = ColumnText(name, item.source(start, item.at))
    return column, _attributes(first, item.outside_parentheses())


def _attributes(type_word: str, words: list[str]) -> Attributes:
    pairs = list(pairwise([*words, ""]))
    lone_key = any(word == "KEY" and before not in {"UNIQUE", "PRIMARY"} for before, word in pairs)
    defaults = [value for word, value in pairs if word == "DEFAULT"]
    is_computed = bool({"AS", "GENERATED"} & set(words))
    return Attributes(
        is_key="PRIMARY" in words or words[:1] == ["KEY"] or lone_key,
        fills_rows=type_word == "SERIAL"
        or ("NOT", "NULL") in pairs
        or is_computed
        or "AUTO_INCREMENT" in words
        or any(value != "NULL" for value in defaults),
        is_computed=is_computed,
        is_bytes="BYTE" in words or bool({("SET", "BINARY"), ("CHARSET", "BINARY")} & set(pairs)),
    )
