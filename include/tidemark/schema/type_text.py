"""The text of a MySQL, MariaDB or TiDB column type, taken apart: ``decimal(8, 0) unsigned``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_MARKS = ("signed", "unsigned", "zerofill")
_TYPE = re.compile(
    r"\s*+(?P<words>[a-z][a-z0-9]*+(?:\s++[a-z0-9]++)*+)\s*+"
    rf"(?:\((?P<parameters>.*)\)(?P<marks>(?:\s++(?:{'|'.join(_MARKS)}))*+))?\s*+",
    re.IGNORECASE | re.DOTALL,
)
"""Marks without parameters in front of them are among the words."""
MOST_DIGITS = 9
"""Of a length or precision; what has more is none, and reading it would take its time."""
_PARAMETER = re.compile(r"'((?:[^'\\]|''|\\.)*)'|([^\s,]+)", re.DOTALL)
_ESCAPED = re.compile(r"''|\\(.)", re.DOTALL)

ALIASES: Mapping[str, str] = {
    "bool": "tinyint",
    "boolean": "tinyint",
    "int1": "tinyint",
    "int2": "smallint",
    "int3": "mediumint",
    "middleint": "mediumint",
    "int4": "int",
    "integer": "int",
    "int8": "bigint",
    "dec": "decimal",
    "fixed": "decimal",
    "numeric": "decimal",
    "float4": "float",
    "float8": "double",
    "double precision": "double",
    "real": "double",
    "character": "char",
    "nchar": "char",
    "national char": "char",
    "national character": "char",
    "character varying": "varchar",
    "char varying": "varchar",
    "nvarchar": "varchar",
    "nchar varchar": "varchar",
    "nchar varying": "varchar",
    "national varchar": "varchar",
    "national char varying": "varchar",
    "national character varying": "varchar",
    "long": "mediumtext",
    "long varchar": "mediumtext",
    "long varbinary": "mediumblob",
    "geomcollection": "geometrycollection",
}


@dataclass(frozen=True, slots=True)
class SourceType:
    """A column type; base: its usual name, parameters: numbers as text, or labels unquoted.

    unsigned: ZEROFILL implies it.
    """

    base: str
    parameters: tuple[str, ...] = ()
    unsigned: bool = False

    @property
    def numbers(self) -> tuple[int, ...]:
        """Length or precision, and scale; empty where the parameters are labels."""
        if self.has_labels:
            return ()
        return tuple(int(text) for text in self.parameters if text.isdecimal())

    @property
    def has_labels(self) -> bool:
        """Whether it is an ENUM or SET whose labels are known."""
        return self.base in {"enum", "set"} and bool(self.parameters)

    def __str__(self) -> str:
        written = map(_quoted, self.parameters) if self.has_labels else self.parameters
        listed = f"({','.join(written)})" if self.parameters else ""
        return f"{self.base}{listed}{' unsigned' if self.unsigned else ''}"


def parse_type(text: str) -> SourceType | None:
    """``text`` taken apart; None when it is no column type.

    >>> parse_type("NUMERIC(8, 3) unsigned zerofill")
    SourceType(base='decimal', parameters=('8', '3'), unsigned=True)
    >>> str(parse_type("ENUM ('a', 'it''s')"))
    "enum('a','it''s')"
    """
    match = _TYPE.fullmatch(text)
    if match is None:
        return None
    words = match["words"].lower().split()
    marks = set((match["marks"] or "").lower().split())
    while words and words[-1] in _MARKS:
        marks.add(words.pop())
    base = " ".join(words)
    if base == "serial":
        return SourceType("bigint", (), unsigned=True)
    parameters = parse_parameters(match["parameters"] or "")
    known = SourceType(
        ALIASES.get(base, base), parameters, unsigned=bool(marks & {"unsigned", "zerofill"})
    )
    is_sized = known.has_labels or all(len(text) <= MOST_DIGITS for text in parameters)
    return known if is_sized else None


def parse_parameters(text: str) -> tuple[str, ...]:
    """What stands between the parentheses of a type: numbers as they are, labels unquoted.

    >>> parse_parameters("'it''s', 'b'")
    ("it's", 'b')
    """
    return tuple(
        _ESCAPED.sub(lambda escaped: escaped[1] or "'", match[1]) if match[2] is None else match[2]
        for match in _PARAMETER.finditer(text)
    )


def _quoted(label: str) -> str:
    doubled = label.replace("'", "''")
    return f"'{doubled}'"
