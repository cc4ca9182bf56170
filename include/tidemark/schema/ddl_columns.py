"""The items between the parentheses of a CREATE TABLE: columns and keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from tidemark.model.names import ColumnName, column_name
from tidemark.schema.sql_words import Words

_CONSTRAINTS = {"INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL", "FOREIGN", "CHECK"}
_WORD_PAIRS = {("PERIOD", "FOR")} | {
    (kind, index) for kind in ("VECTOR", "COLUMNAR") for index in ("INDEX", "KEY")
}
"""Constraints whose first word may be the name of a column."""
_CONTINUED: Mapping[str, frozenset[str]] = {
    "DOUBLE": frozenset({"PRECISION"}),
    "CHAR": frozenset({"VARYING"}),
    "CHARACTER": frozenset({"VARYING"}),
    "NCHAR": frozenset({"VARYING", "VARCHAR"}),
    "NATIONAL": frozenset({"CHAR", "CHARACTER", "VARCHAR", "VARYING"}),
    "LONG": frozenset({"VARCHAR", "VARBINARY"}),
}
_AFTER_DEFAULT = {
    *("NOT", "NULL", "COMMENT", "AFTER", "FIRST", "COLLATE", "UNIQUE", "KEY", "PRIMARY"),
    *("COLUMN_FORMAT", "STORAGE", "VISIBLE", "INVISIBLE", "CHECK", "CONSTRAINT", "REFERENCES"),
}
"""What may follow a DEFAULT that is a plain literal; anything else makes it an expression, or
another literal, as texts side by side are one.
"""
_NOW = {"CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"}
_SINGLE_BIT = {"bit", "bit(1)"}
_SECONDS = {"timestamp", "timestamp(0)"}
"""Types that hold the second in which a statement began, whatever the zone of its session."""
_MARKS = {"SIGNED", "UNSIGNED", "ZEROFILL"}


class DefaultBackfill(NamedTuple):
    """What rows hold in a column that joins them.

    text: None is what the type implies. is_now: the time of the statement, which ``text`` is once
    that is known. is_output: ``text`` is how PostgreSQL shows the value. is_unknown: no text shows
    it, for example as each row has a value of its own. is_number: ``text`` has no quotes in the
    statement. may_be_now: a TIMESTAMP of which nothing says that it may be null; the first one of
    its table holds, with `explicit_defaults_for_timestamp` off, the time of the statement, else
    null. behind: the column behind which it joins, empty before all, None behind all.
    """

    text: str | None
    is_now: bool = False
    is_output: bool = False
    is_unknown: bool = False
    is_number: bool = False
    may_be_now: bool = False
    behind: str | None = None

    @property
    def is_shown(self) -> bool:
        """Whether the statement, and when it was made, show the value."""
        return not (self.is_unknown or (self.is_now and self.text is None))


class ColumnText(NamedTuple):
    """A column as DDL declares it; type_text: for example ``decimal(12,2) unsigned``.

    backfill: what the rows get that are there when it joins; None is null. is_virtual: it is
    computed whenever it is read. fills_nulls: one that is declared again may give a value to rows
    that have null in it; numbers_rows: it gives their number to rows that have null or 0. comment:
    what the source says of it; a column that is declared again without one has none any more.
    """

    name: ColumnName
    type_text: str
    backfill: DefaultBackfill | None = None
    is_virtual: bool = False
    fills_nulls: bool = False
    numbers_rows: bool = False
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Attributes:
    """What stands behind a column's type.

    backfill: what the rows get that are there when the column joins. unknown_backfills: that is
    something that the text does not tell. is_computed: the source computes its values;
    is_virtual: and stores none. is_bytes: its character set makes it a binary type.
    """

    is_key: bool
    backfill: DefaultBackfill | None
    unknown_backfills: bool
    is_computed: bool
    is_virtual: bool
    is_bytes: bool


def key_columns(item: Words) -> tuple[ColumnName, ...] | None:
    """The columns of a primary key; empty for another constraint, None for a column."""
    if item.accept("CONSTRAINT") and item.keyword() not in {"PRIMARY", *_CONSTRAINTS}:
        item.name()
    if item.keyword() in _CONSTRAINTS or (item.keyword(), item.keyword(1)) in _WORD_PAIRS:
        return ()
    if not item.accept("PRIMARY", "KEY"):
        return None
    while item.left and item.keyword() != "(":
        item.at += 1
    return tuple(column_name(part.name()) for part in item.group().split(","))


def column_definition(item: Words) -> tuple[ColumnText, Attributes]:
    """One column. Raises ParseError where there is none, NameRefusedError for an invalid name."""
    name, start = column_name(item.name()), item.at
    first = item.keyword()
    item.name()
    while item.keyword() in _CONTINUED.get(first, ()) or item.keyword() == "VARYING":
        item.at += 1
    if item.keyword() == "(":
        item.group()
    while item.keyword() in _MARKS:
        item.at += 1
    type_text = item.source(start, item.at)
    words, comment = _words_of_column(item), _comment(item)
    numbers_rows, attributes = _numbers_rows(type_text, words), _attributes(type_text, item, words)
    column = ColumnText(
        *(name, type_text),
        is_virtual=attributes.is_virtual,
        fills_nulls=_refuses_null(type_text, words) or numbers_rows or attributes.is_key,
        numbers_rows=numbers_rows,
        comment=comment,
    )
    return column, attributes


def _comment(item: Words) -> str:
    """The text behind COMMENT; empty where there is none."""
    depth = 0
    for at, (word, following) in enumerate(pairwise(item.words[item.at :]), start=item.at + 1):
        is_text = item.text[following.start] in ("'", '"')
        if depth == 0 and word.keyword == "COMMENT" and is_text:
            return Words(item.text, item.words, at).literal() or ""
        depth += {"(": 1, ")": -1}.get(word.keyword, 0)
    return ""


def _words_of_column(item: Words) -> list[str]:
    """What stands behind the type, without options of the table behind its last column."""
    words = item.outside_parentheses()
    ends = (place for place, pair in enumerate(pairwise(words)) if pair == ("PARTITION", "BY"))
    return words[: next(ends, None)]


def _numbers_rows(type_text: str, words: list[str]) -> bool:
    """AUTO_INCREMENT, and what stands for it."""
    is_serial = type_text.upper() == "SERIAL" or ("SERIAL", "DEFAULT") in pairwise(words)
    return is_serial or "AUTO_INCREMENT" in words


def _refuses_null(type_text: str, words: list[str]) -> bool:
    """NOT NULL, or a TIMESTAMP that may be, with `explicit_defaults_for_timestamp` off."""
    return ("NOT", "NULL") in pairwise(words) or _is_implied(type_text, words)


def _attributes(type_text: str, item: Words, words: list[str]) -> Attributes:
    pairs = list(pairwise([*words, ""]))
    lone_key = any(word == "KEY" and before not in {"UNIQUE", "PRIMARY"} for before, word in pairs)
    is_computed = bool({"AS", "GENERATED"} & set(words))
    behind = _behind(item)
    backfill, is_known = _default(item, type_text.lower())
    if backfill is None and ("NOT", "NULL") in pairs:
        backfill = DefaultBackfill(None)
    elif backfill is None and is_known and _is_implied(type_text, words) and "ON" not in words:
        backfill = DefaultBackfill(None, may_be_now=True, behind=behind)
    return Attributes(
        is_key="PRIMARY" in words or words[:1] == ["KEY"] or lone_key,
        backfill=backfill,
        unknown_backfills=_numbers_rows(type_text, words) or is_computed or not is_known,
        is_computed=is_computed,
        is_virtual=is_computed and not {"STORED", "PERSISTENT"} & set(words),
        is_bytes="BYTE" in words or bool({("SET", "BINARY"), ("CHARSET", "BINARY")} & set(pairs)),
    )


def _is_implied(type_text: str, words: list[str]) -> bool:
    """Whether a column is a TIMESTAMP that says no NULL, and so may be NOT NULL.

    The first one of a table that joins without a DEFAULT, or with that of null, then holds the time
    of its statement. The zero that others get is null in the target (TYPE-12).
    """
    is_moment = type_text.lower().partition("(")[0].strip() == "timestamp"
    may_be_null = any(
        word == "NULL" and before not in {"NOT", "DEFAULT"}
        for before, word in pairwise(["", *words])
    )
    return is_moment and not may_be_null


def _behind(item: Words) -> str | None:
    """The column behind which one joins; empty before all of them, None behind all."""
    words = item.words[item.at :]
    for word, following in reversed(list(pairwise([*words, None]))):
        if word is not None and word.keyword in {"FIRST", "AFTER"}:
            return following.name if following and word.keyword == "AFTER" else ""
    return None


def _default(item: Words, type_text: str) -> tuple[DefaultBackfill | None, bool]:
    """The DEFAULT of a column, None when it is null, and whether its text tells it (SCHEMA-14)."""
    while item.left and item.keyword() != "DEFAULT":
        if item.keyword() == "(":
            item.group()
        else:
            item.at += 1
    if not item.accept("DEFAULT") or item.accept("NULL"):
        return None, True
    if type_text in _SECONDS and _is_now(item):
        return DefaultBackfill(None, is_now=True), True
    text = (item.bit() if type_text in _SINGLE_BIT else None) or item.literal()
    if text is None or not _ends_default(item):
        return None, False
    return DefaultBackfill(text, is_number=not item.follows_quotes), True


def _ends_default(item: Words) -> bool:
    return not item.left or item.keyword() in _AFTER_DEFAULT


def _is_now(item: Words) -> bool:
    """Step over CURRENT_TIMESTAMP, or another name of it; False where something else comes."""
    start = item.at
    if item.keyword() not in _NOW:
        return False
    item.at += 1
    is_second = item.keyword() != "(" or item.group().source() in ("", "0")
    if is_second and (_ends_default(item) or item.keyword() == "ON"):
        return True
    item.at = start
    return False
