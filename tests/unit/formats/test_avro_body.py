"""Avro bodies without Spark: every kind, and bytes that are none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tidemark.formats.avro.body import InvalidAvroBodyError, read_body
from tidemark.formats.avro.schema import parse_schema

PAIR = {"type": "record", "name": "P", "fields": [{"name": "a", "type": "long"}]}


@pytest.mark.parametrize(
    ("declared", "body", "expected"),
    [
        ("null", "", None),
        ("boolean", "01", True),
        ("int", "01", -1),
        ("long", "feffffffffffffffff01", 2**63 - 1),
        ("long", "ffffffffffffffffff01", -(2**63)),
        ("float", "0000c03f", 1.5),
        ("double", "000000000000f83f", 1.5),
        ("bytes", "04c3ff", b"\xc3\xff"),
        ("string", "04c3bc", "ü"),
        ({"type": "fixed", "name": "F", "size": 2}, "0102", b"\1\2"),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "02", "B"),
        (["null", "string"], "020261", "a"),
        ({"type": "array", "items": "int"}, "0402040102" + "0600", [1, 2, 3]),
        ({"type": "map", "values": "int"}, "0202610200", {"a": 1}),
        (PAIR, "02", {"a": 1}),
    ],
)
def test_a_body_is_read_by_its_schema(declared: Any, body: str, expected: Any) -> None:
    """MSG-19"""
    assert read_body(bytes.fromhex(body), parse_schema(json.dumps(declared))) == expected


@pytest.mark.parametrize(
    ("declared", "body"),
    [
        ("string", "04c3"),
        ("string", "01"),
        ("string", "02ff"),
        ("long", "80" * 10),
        (["null", "int"], "04"),
        (["null", "int"], "01"),
        ({"type": "array", "items": "int"}, "04"),
    ],
)
def test_bytes_that_do_not_fit_are_told(declared: Any, body: str) -> None:
    with pytest.raises(InvalidAvroBodyError):
        read_body(bytes.fromhex(body), parse_schema(json.dumps(declared)))
