"""Which value of a table equals which value of a case."""

from __future__ import annotations

import struct
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from tests.corpus.cases import Column
from tests.corpus.values import actual_form, expected_form

POINT = "0101000000000000000000f03f000000000000f03f"
BIG = 123456789876543212345678987654321
NOON, LATER = "2026-04-01 12:00:00.999999", "2026-04-01 12:00:00.999998"

at = datetime.fromisoformat


def equal(
    source_type: str, expected: Any, actual: Any, *, postgres: bool = False, expected_as: str = ""
) -> bool:
    column = Column("c", source_type, expected_as)
    wanted = expected_form(expected, column, is_postgres=postgres)
    return wanted == actual_form(actual, column, is_postgres=postgres)


@pytest.mark.parametrize(
    ("source_type", "expected", "same", "other"),
    [
        ("int(11)", 5, 5, 6),
        ("bigint", 9007199254740993, 9007199254740993, 9007199254740992),
        ("bigint unsigned", 18446744073709551615, Decimal(18446744073709551615), 2**64 - 2),
        ("bigint unsigned", "987654321", Decimal("987654321"), Decimal("987654321.5")),
        ("int", 5, 5, "5"),
        ("int", 5, 5, 5.0),
        ("tinyint(1)", True, 1, 0),
        ("boolean", False, False, True),
        ("year", 2020, 2020, 20),
        ("decimal(12,2)", "790.36", Decimal("790.36"), Decimal("790.37")),
        ("decimal(8,3)", "12345.110", Decimal("12345.110"), 12345.11),
        ("fixed(40,3) unsigned", f"{BIG}.110", f"{BIG}.110", f"{BIG}.111"),
        ("numeric", "500", "500", "500.1"),
        ("float", 3.14, 3.140000104904175, 3.15),
        ("float", 3.140000104904175, 3.140000104904175, 3.2),
        ("double", 1.000011, 1.000011, 1.0000110000000003),
        ("double", 5, 5.0, 5),
        ("real(10,7) unsigned", 1.000001, 1.000001, 1.0000009536743164),
        ("date", "2016-01-16", date(2016, 1, 16), "2016-01-16"),
        ("date", "2016-01-16", date(2016, 1, 16), at("2016-01-16 00:00:00")),
        ("datetime(6)", NOON, at(NOON), at(LATER)),
        ("datetime(2)", "2023-03-24 14:30:05.12", at("2023-03-24 14:30:05.120"), at(NOON)),
        ("timestamp", f"{NOON}Z", at(f"{NOON}Z"), at(NOON)),
        ("timestamp with time zone", f"{NOON}+00", at(f"{NOON}Z"), at(f"{LATER}Z")),
        ("timestamp(6)", NOON, at(NOON), at(f"{NOON}Z")),
        ("time", "14:30:00", "14:30:00", "14:30:01"),
        ("time(3)", "14:30:00.120", "14:30:00.12", "14:30:00.012"),
        ("time", "-838:59:59", "-838:59:59", "838:59:59"),
        ("time", "14:30:00", time(14, 30), time(14, 31)),
        ("varbinary(20)", "SGVsbG8=", b"Hello", b"Hello\x00"),
        ("blob", "SGVsbG8=", b"Hello", "SGVsbG8="),
        ("bit(64)", "VVVVVVVVVVU=", b"U" * 8, b"U" * 7),
        ("bit", True, True, False),
        ("bit(1)", True, True, False),
        ("enum('a','b')", "a", "a", "b"),
        ("enum", "1", 1, 2),
        ("set('a','b')", "a,b", "a,b", "b,a"),
        ("json", '{"a": 1, "b": [1.50]}', '{"b":[1.5],"a":1}', '{"b":[1.5],"a":true}'),
        ("json", '{"n": 9007199254740993}', '{"n":9007199254740993}', '{"n":9007199254740992}'),
        ("json", "null", "null", None),
        ("varchar(20)", "", "", None),
        ("varchar(20)", "5", "5", 5),
        ("longtext", '{"a": 1}', '{"a": 1}', '{"a":1}'),
    ],
)
def test_value(source_type: str, expected: Any, same: Any, other: Any) -> None:
    assert equal(source_type, expected, same)
    assert not equal(source_type, expected, other)


@pytest.mark.parametrize(
    ("source_type", "expected", "same", "other"),
    [
        ("real", 1.1, struct.unpack("f", struct.pack("f", 1.1))[0], 1.2),
        ("bit(1)", "1", True, False),
        ("bit(8)", "00001010", "00001010", "1010"),
        ("bytea", "Mg==", b"2", b"3"),
        ("text[]", '{hello,NULL,"a b"}', ["hello", None, "a b"], ["hello", "NULL", "a b"]),
        ("integer[]", "{{1,2},{3,4}}", [None, None], [1, 2]),
        ("time(3) without time zone", "18:00:22.123", "18:00:22.123", "18:00:22"),
        ("shop.hstore", '"a"=>"1", "b"=>NULL', '{"b":null,"a":"1"}', '{"a":"1"}'),
        ("hstore", '"a"=>"1"', [("a", "1")], [("a", "2")]),
        ("interval", "P14D", 1_209_600_000_000, 1_209_600_000_001),
        ("interval", "P1Y2M3DT4H5M6.5S", "P14M3DT4H5M6.5S", "P14M3DT4H5M6S"),
        ("inet", "192.168.1.1/32", "192.168.1.1", "192.168.1.1/24"),
        ("point", "(1,1)", {"wkb": bytes.fromhex(POINT), "srid": None}, "(1,2)"),
    ],
)
def test_value_of_postgres(source_type: str, expected: Any, same: Any, other: Any) -> None:
    assert equal(source_type, expected, same, postgres=True)
    assert not equal(source_type, expected, other, postgres=True)


@pytest.mark.parametrize(
    ("source_type", "expected_as", "expected", "same"),
    [
        ("enum('new','paid')", "index", 2, 2),
        ("set('a','b','c')", "mask", 7, 7),
        ("bit(12)", "integer", 2565, Decimal(2565)),
        ("bit(12)", "integer", 2565, b"\x0a\x05"),
    ],
)
def test_value_whose_labels_or_width_nobody_told(
    source_type: str, expected_as: str, expected: int, same: Any
) -> None:
    assert equal(source_type, expected, same, expected_as=expected_as)
    assert not equal(source_type, expected + 1, same, expected_as=expected_as)


def test_null_equals_null_alone() -> None:
    assert equal("int", None, None)
    assert not equal("int", None, 0)
    assert not equal("int", 0, None)


LINE = (
    "010200000002000000" + "0000000000000040000000000000f03f" + "00000000000018400000000000001840"
)


def multi(kind: int, *parts: str) -> str:
    return f"01{kind:02x}000000{len(parts):02x}000000" + "".join(parts)


@pytest.mark.parametrize(
    ("wkb", "srid", "text"),
    [
        pytest.param(POINT, None, "SRID=0;POINT(1 1)", id="point, and no SRID is 0"),
        pytest.param(LINE, 4326, "SRID=4326;LINESTRING(2 1,6 6)", id="line"),
        pytest.param(multi(4, POINT, POINT), 0, "SRID=0;MULTIPOINT((1 1),(1 1))", id="points"),
        pytest.param(multi(4, POINT, POINT), 0, "SRID=0;MULTIPOINT(1 1,1 1)", id="bare points"),
        pytest.param(multi(5, LINE), 0, "SRID=0;MULTILINESTRING((2 1,6 6))", id="lines"),
        pytest.param(
            multi(7, POINT, LINE),
            0,
            "SRID=0;GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(2 1, 6 6))",
            id="collection",
        ),
        pytest.param(
            multi(7, POINT), 0,
            '{"type":"GeometryCollection","srid":0,'
            '"geometries":[{"type":"Point","coordinates":[1,1]}]}',
            id="GeoJSON",
        ),
        pytest.param(
            "0101000020730C0000" + POINT[10:], None, "0101000020730C0000" + POINT[10:].upper(),
            id="PostGIS",
        ),
    ],
)  # fmt: skip
def test_shape(wkb: str, srid: int | None, text: str) -> None:
    read = {"srid": srid, "wkb": bytes.fromhex(wkb)}
    assert equal("geometry", text, read)
    assert not equal("geometry", text, {**read, "srid": 31})
    assert not equal("geometry", "SRID=0;POINT(1 2)", read)


def test_shape_that_is_none() -> None:
    assert not equal("geometry", "SRID=0;POINT(1 1)", {"srid": 0, "wkb": b"\x01\x02"})
