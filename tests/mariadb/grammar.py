"""Statements that change columns, at random, weighted by how often people write them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence

from tests.support.server import Column

_GROWN = {
    "tinyint": ("smallint", "int", "bigint"),
    "smallint": ("int", "bigint", "decimal(9,2)"),
    "int": ("bigint", "decimal(12,2)", "varchar(20)", "double"),
    "bigint": ("decimal(20,0)", "varchar(30)"),
    "date": ("datetime", "datetime(6)", "varchar(20)"),
    "datetime": ("datetime(3)", "datetime(6)"),
    "varchar": ("varchar(60)", "varchar(200)", "text"),
    "text": ("mediumtext", "longtext"),
    "decimal": ("decimal(14,2)", "decimal(14,4)", "varchar(40)"),
    "varbinary": ("varbinary(60)", "blob"),
    "enum": ("enum('a','b','c','d')", "varchar(9)"),
    "time": ("time(3)", "time(6)"),
    "bit": ("bit(16)", "bit(20)", "bit(40)"),
}
"""Base type -> types that hold every value of the usual one."""
_OTHER = ("int", "varchar(5)", "tinyint", "decimal(5,1)", "date", "double", "char(12)")
NULLS = 0.2
TYPES = (
    *("int", "int", "bigint", "smallint", "tinyint", "int unsigned", "bigint unsigned"),
    *("varchar(20)", "varchar(20)", "text", "char(8)", "decimal(8,2)", "decimal(8,2)", "double"),
    *("date", "datetime", "datetime(6)", "time", "timestamp(3) null", "enum('a','b','c')"),
    *("timestamp DEFAULT CURRENT_TIMESTAMP", "timestamp NOT NULL DEFAULT now() ON UPDATE now()"),
    "bit(1) NOT NULL DEFAULT b'1'",
    *("varbinary(20)", "bit(1)", "bit(12)", "year", "set('x','y','z')"),
)
_DEFAULTS = {
    "int": ("0", "7", "-1"),
    "bigint": ("0", "9000000000"),
    "smallint": ("3",),
    "tinyint": ("1",),
    "varchar": ("''", "'new'", "'it''s'"),
    "char": ("'c'",),
    "decimal": ("0", "1.50", "-3.25"),
    "date": ("'2026-01-02'",),
    "datetime": ("'2026-01-02 03:04:05'",),
    "enum": ("'b'",),
    "double": ("0.5",),
    "time": ("'01:02:03'",),
    "set": ("'x,z'", "''"),
}


_BITS = {"tinyint": 7, "smallint": 15, "mediumint": 23, "int": 31, "bigint": 63}
_VALUES: Mapping[str, Sequence[str]] = {
    "double": ("0", "0.1", "-1e30", "123456.789"),
    "date": ("'1000-01-01'", "'2024-02-29'", "'9999-12-31'", "'1969-12-31'"),
    "datetime": ("'1000-01-01 00:00:00'", "'2026-03-29 02:30:00'", "'1969-12-31 23:59:59'"),
    "timestamp": ("'1970-01-01 00:00:01'", "'2026-03-29 02:30:00.125'"),
    "time": ("'00:00:00'", "'23:59:59'", "'12:30:00'"),
    "year": ("1901", "2026", "2155"),
    "enum": ("'a'", "'b'", "'c'"),
    "set": ("''", "'x'", "'x,z'"),
    "bit": ("b'0'", "b'1'"),
    "varbinary": ("''", "x'00FF'", "'abc'"),
    "blob": ("''", "x'00FF'", "'abc'"),
}
_TEXTS = ("''", "'abc'", "'Täble'", "'it''s'", "'12'")


def value(column: Column, rng: random.Random) -> str:
    """A literal that fits ``column``."""
    if column.is_nullable and rng.random() < NULLS:
        return "NULL"
    if column.text == "tinyint(1)":  # A connector may take it for a boolean.
        return rng.choice(("0", "1"))
    if column.kind in _BITS:
        most = 2 ** _BITS[column.kind] - 1
        signs = (1,) if "unsigned" in column.text else (1, -1)
        return str(rng.choice((0, 1, most, rng.randrange(100))) * rng.choice(signs))
    if column.kind == "decimal":
        digits, scale = sizes(column.text)
        most = "9" * (digits - scale) + ("." + "9" * scale if scale else "")
        return rng.choice(("0", "1", f"-{most}", most))
    return rng.choice(_VALUES.get(column.kind, _TEXTS))


def statement(
    table: str,
    columns: Sequence[Column],
    key: Sequence[str],
    rng: random.Random,
    *,
    may_lose: bool = True,
) -> str:
    """One ALTER TABLE of ``table``; may_lose: also to types that do not hold every value."""
    others = [column for column in columns if column.name not in key]
    kinds: list[tuple[int, Callable[[], str]]] = [
        (8, lambda: _added(columns, rng)),
        (2, lambda: f"ADD INDEX ({rng.choice(list(key) or [columns[0].name])})"),
        (2, lambda: f"COMMENT = 'c{rng.randrange(9)}'"),
        (1, lambda: "ENGINE = InnoDB"),
    ]
    if others:
        one = rng.choice(others)
        kinds += [
            (3, lambda: f"DROP COLUMN `{one.name}`"),
            (4, lambda: f"RENAME COLUMN `{one.name}` TO `{_new_name(columns, rng)}`"),
            (2, lambda: f"CHANGE `{one.name}` `{_new_name(columns, rng)}` {grown(one, rng)}"),
            (8, lambda: f"MODIFY `{one.name}` {grown(one, rng)}{_place(columns, rng)}"),
            (int(may_lose), lambda: f"MODIFY `{one.name}` {rng.choice(_OTHER)}"),
            (
                2,
                lambda: (
                    f"MODIFY `{one.name}` {one.text} {rng.choice(('NULL', 'COMMENT ' + repr('x')))}"
                ),
            ),
            (1, lambda: f"ALTER COLUMN `{one.name}` DROP DEFAULT"),
        ]
    weights, makers = zip(*kinds, strict=True)
    parts = [rng.choices(makers, weights)[0]()]
    if rng.random() < 0.2:
        parts.append(_added(columns, rng, suffix="_2"))
    return f"ALTER TABLE `{table}` {', '.join(parts)}"


def _added(columns: Sequence[Column], rng: random.Random, suffix: str = "") -> str:
    kind = rng.choice(TYPES)
    base = kind.partition("(")[0].partition(" ")[0]
    null = rng.choice(("", " NOT NULL"))
    default = ""
    if " " not in kind and base in _DEFAULTS:
        if rng.random() < 0.5:
            default = f"{null} DEFAULT {rng.choice(_DEFAULTS[base])}"
        elif base not in {"date", "datetime"}:  # A zero date is in no record.
            default = null
    name = _new_name(columns, rng) + suffix
    return f"ADD COLUMN `{name}` {kind}{default}{_place(columns, rng)}"


def _new_name(columns: Sequence[Column], rng: random.Random) -> str:
    taken = {column.name for column in columns}
    return rng.choice([name for name in "abcdefghijklmnop" if name not in taken])


def grown(column: Column, rng: random.Random) -> str:
    """A type that holds every value of ``column``; its own where there is none."""
    if "unsigned" in column.text:
        return "bigint unsigned"
    if column.text == "bit(1)":  # A boolean, as which no other one is read.
        return column.text
    size = sizes(column.text)
    larger = [
        kind
        for kind in _GROWN.get(column.kind, ())
        if kind.partition("(")[0] != column.kind or _holds(sizes(kind), size)
    ]
    return rng.choice(larger or [column.text])


def sizes(kind: str) -> list[int]:
    """Length, or precision and scale; none of a type with labels."""
    return [int(size) for size in re.findall(r"\d+", kind)] if "'" not in kind else []


def _holds(new: Sequence[int], old: Sequence[int]) -> bool:
    """Digits before the point and behind it, or a length."""
    new, old = ([*sizes, 0, 0][:2] for sizes in (new, old))
    return new[1] >= old[1] and new[0] - new[1] >= old[0] - old[1]


def _place(columns: Sequence[Column], rng: random.Random) -> str:
    if rng.random() < 0.7:
        return ""
    return rng.choice(("", f" AFTER `{columns[0].name}`"))
