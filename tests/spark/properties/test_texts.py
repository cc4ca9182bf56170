"""Texts of all kinds: hostile characters, documents, labels, and what PostgreSQL shows as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from tests.spark.properties.cases import POSTGRES, Canal, Case, Form, Values, mysql, postgres
from tests.spark.properties.draws import ODD_CHARACTERS, ODD_TEXTS, one_of, texts, whole
from tests.spark.properties.runner import check_families
from tidemark.model.modes import HstoreMode, IntervalMode
from tidemark.runs.world import World

LABELS = ("red", "it's", "a,b", "(x)", "\\", "☕", "'", " blank ", "a\\nb", '"', "ß")


def documents() -> Values:
    """JSON documents, in different spacings, with numbers that no double holds."""
    edges = (
        "{}",
        "[]",
        "null",
        '"x"',
        "1e400",
        "12345678901234567890.123456789",
        '{"a": {"a": 1}}',
    )

    def node(rng: Random, depth: int) -> Any:
        if depth == 0 or rng.random() < 0.3:
            return rng.choice([None, True, 10**25, 0.5, *ODD_TEXTS[:16]])
        if rng.random() < 0.5:
            return [node(rng, depth - 1) for _ in range(rng.randint(0, 3))]
        return {rng.choice(ODD_TEXTS[:12]): node(rng, depth - 1) for _ in range(rng.randint(0, 3))}

    def draw(rng: Random) -> str:
        spaces = rng.choice([(",", ":"), (", ", ": ")])
        return json.dumps(node(rng, 3), ensure_ascii=rng.random() < 0.5, separators=spaces)

    return Values(edges, draw)


def quoted(label: str) -> str:
    """As SHOW CREATE TABLE has it."""
    escaped = label.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def labelled(kind: str, labels: Sequence[str]) -> Case:
    """ENUM or SET: Canal tells the labels of its numbers, TiCDC the numbers alone."""
    text = f"{kind}({','.join(map(quoted, labels))})"
    numbers = whole(0, len(labels) if kind == "enum" else 2 ** len(labels) - 1)

    def shown(number: int) -> str:
        if kind == "enum":
            return ("", *labels)[number]
        return ",".join(label for bit, label in enumerate(labels) if number >> bit & 1)

    values = Values([shown(n) for n in numbers.edges], lambda rng: shown(numbers.draw(rng)))
    number = {shown(n): n for n in range(len(labels) + 1)} if kind == "enum" else masks(labels)
    case = mysql(text, values)
    return replace(
        case,
        canal=Canal(text, lambda value: str(number[value]), lambda value: value),
        ticdc=Canal(kind, lambda value: str(number[value]), lambda value: number[value], text),
    )


def masks(labels: Sequence[str]) -> Mapping[str, int]:
    """Text of a SET -> its number."""

    class Masks(dict[str, int]):
        def __missing__(self, text: str) -> int:
            chosen = text.split(",") if text else []
            return sum(1 << labels.index(label) for label in chosen)

    return Masks()


def test_texts(world: World, tmp_path: Path) -> None:
    """TYPE-6, TYPE-14, TYPE-15, TYPE-32, TYPE-34"""
    cases = [
        mysql("varchar(40)", texts()),
        mysql("char(9)", texts(9)),
        *(mysql(kind, texts()) for kind in ("tinytext", "text", "mediumtext", "longtext")),
        mysql("json", documents()),
        labelled("enum", LABELS),
        labelled("enum", ["only"]),
        labelled("set", [f"l{n}" for n in range(5)]),
        labelled("set", [f"l{n}" for n in range(63)]),
        *(
            mysql(kind, one_of("127.0.0.1", "::1"), note="of MariaDB")
            for kind in ("inet4", "inet6")
        ),
        mysql("uuid", uuids(), note="of MariaDB"),
        *(
            postgres(kind, texts())
            for kind in ("text", "character varying(40)", "citext", "name", "xml", "shop.mood")
        ),
        postgres("character(9)", texts(9)),
        postgres("jsonb", documents()),
        postgres("json", documents()),
    ]
    check_families(world, tmp_path, {"texts": cases})


def uuids() -> Values:
    """Lower-case, as both databases show them."""

    def draw(rng: Random) -> str:
        digits = f"{rng.getrandbits(128):032x}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    return Values(["00000000-0000-0000-0000-000000000000"], draw)


def pairs() -> Values:
    """HSTORE: any text as a key, any text or null as a value."""

    def draw(rng: Random) -> dict[str, str | None]:
        def text() -> str:
            return "".join(rng.choices(ODD_CHARACTERS, k=rng.randint(0, 6)))

        return {text(): None if rng.random() < 0.2 else text() for _ in range(rng.randint(0, 4))}

    edges = [{}, {"": ""}, {"a": None}, {"a": "1", "b": None}, {text: text for text in ODD_TEXTS}]
    return Values(edges, draw)


def test_what_postgres_shows_as_text(world: World, tmp_path: Path) -> None:
    ranges: Mapping[str, Values] = {
        "int4range": one_of("[1,10)", "empty", "(,5)", "[1,)"),
        "int8range": one_of("[-9223372036854775808,9223372036854775807)", "empty"),
        "numrange": one_of("[1.5,2.50)", "(,)", "[NaN,)"),
        "daterange": one_of("[2026-01-01,2026-02-01)", "[-infinity,infinity)"),
        "tsrange": one_of('["2026-01-01 10:00:00","2026-01-01 11:00:00.5")', "empty"),
        "tstzrange": one_of('["2026-01-01 10:00:00+00",)', "empty"),
        "int4multirange": one_of("{[1,3),[5,7)}", "{}"),
        "datemultirange": one_of("{[2026-01-01,2026-02-01)}", "{}"),
    }
    others: Mapping[str, Values] = {
        "inet": one_of("192.168.0.1", "10.0.0.0/8", "::1", "fe80::/64"),
        "cidr": one_of("10.0.0.0/8", "2001:db8::/32"),
        "macaddr": one_of("08:00:2b:01:02:03"),
        "macaddr8": one_of("08:00:2b:01:02:03:04:05"),
        "ltree": one_of("a.b.c", "", "top.1"),
        "tsvector": one_of("'a':1 'it''s':2", ""),
        '"char"': one_of("a", "\\200"),
        "uuid": uuids(),
    }
    text_interval = replace(POSTGRES, interval=IntervalMode.STRING)
    cases = [
        *(postgres(kind, values) for kind, values in (*ranges.items(), *others.items())),
        postgres("interval", whole(-(2**63), 2**63 - 1)),
        postgres("interval", one_of("P1Y2M3DT4H5M6.78S", "P0Y0M0DT0H0M0S"), modes=text_interval),
        postgres("hstore", pairs()),
        postgres("hstore", pairs(), modes=replace(POSTGRES, hstore=HstoreMode.MAP)),
    ]
    types_by_modes = [form for form in Form if form.is_postgres and not form.has_numbers]
    check_families(world, tmp_path, {"shown as text": cases}, types_by_modes)
