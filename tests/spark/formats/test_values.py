"""Every wire form against an encoder of its own, hundreds of values in one action."""

from __future__ import annotations

import json
import struct
from base64 import b64encode, urlsafe_b64encode
from dataclasses import replace
from datetime import date
from decimal import Decimal
from math import isnan

import pytest
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.support.readings import Reading, check, column, drawn, encoded, refused
from tidemark.formats.values import typed
from tidemark.model.columns import ValueEncoding


def test_integers(spark: SparkSession) -> None:
    readings = []
    for iceberg, bits in (("int", 32), ("bigint", 64)):
        low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        of = column(iceberg, ValueEncoding.INTEGER)
        readings += [
            encoded(of, drawn(st.integers(low, high), [low, high, 0, -1]), str),
            refused(of, str(low - 1), str(high + 1), "1.5", "", "one", "[1]", "1e3"),
            Reading(of, [("true", 1), ("false", 0), ("007", 7), (None, None)]),
        ]
    check(spark, *readings)


def test_unsigned_sent_as_signed(spark: SparkSession) -> None:
    values = drawn(st.integers(0, 2**64 - 1), [0, 2**63 - 1, 2**63, 2**64 - 1])
    of = column("decimal(20,0)", ValueEncoding.UNSIGNED_AS_SIGNED)
    check(
        spark,
        encoded(of, values, lambda n: str(n - 2**64 if n >= 2**63 else n), Decimal),
        refused(of, "18446744073709551616", "x", "0.5"),
    )


def single(number: float) -> float:
    (nearest,) = struct.unpack(">f", struct.pack(">f", number))
    return float(nearest)


def test_floats(spark: SparkSession) -> None:
    largest, least = (2 - 2**-23) * 2.0**127, 2.0**-149
    singles = drawn(st.floats(width=32, allow_nan=False), [largest, -largest, least, 0.0])
    doubles = drawn(st.floats(allow_nan=False), [1.7976931348623157e308, 5e-324])
    of_single, of_double = (
        column("float", ValueEncoding.FLOAT),
        column("double", ValueEncoding.DOUBLE),
    )

    def java(number: float) -> str:
        return repr(number).replace("inf", "Infinity")

    check(
        spark,
        encoded(of_single, singles, java),
        encoded(of_double, doubles, java),
        Reading(of_single, [("1.2339999675750732", single(1.234)), ("3.14", single(3.14))]),
        refused(of_single, "1e39", "-1e39", "ten"),
        refused(of_double, "1e400", "ten", ""),
    )
    rows = spark.createDataFrame([("NaN",)], "raw STRING")
    (row,) = rows.select(typed(F.col("raw"), of_double).alias("value")).collect()
    assert isnan(row["value"])


def test_booleans(spark: SparkSession) -> None:
    of = column("boolean", ValueEncoding.BOOLEAN)
    accepted = [("true", True), ("false", False), ("1", True), ("0", False), (None, None)]
    check(spark, Reading(of, accepted), refused(of, "2", "yes", ""))


def test_text_is_kept_as_it_came(spark: SparkSession) -> None:
    values = drawn(st.text(st.characters(exclude_categories=["Cs"])), ["", " ", "null", "\0", "☕"])
    check(spark, encoded(column("string", ValueEncoding.TEXT), values, str))


def test_bytes(spark: SparkSession) -> None:
    values = drawn(st.binary(max_size=200), [b"", b"\0", bytes(range(256)), b"\xfb\xff\xfe"])
    base64, url, hexadecimal, latin1 = (
        column("binary", wire)
        for wire in (
            ValueEncoding.BASE64,
            ValueEncoding.BASE64_URL,
            ValueEncoding.HEX,
            ValueEncoding.LATIN1,
        )
    )
    check(
        spark,
        encoded(base64, values, lambda value: b64encode(value).decode(), bytearray),
        encoded(url, values, lambda value: urlsafe_b64encode(value).decode(), bytearray),
        encoded(hexadecimal, values, bytes.hex, bytearray),
        encoded(hexadecimal, values, lambda value: value.hex().upper(), bytearray),
        encoded(latin1, values, lambda value: value.decode("latin-1"), bytearray),
        refused(base64, "A-_=", "A", "AQ==\n"),
        refused(hexadecimal, "0", "0g", "abc"),
        refused(latin1, "Ā", "a\nĀ", "☕", "\U0001f600"),
    )


def test_bits(spark: SparkSession) -> None:
    check(spark, *(reading for bits in (2, 8, 9, 64) for reading in bit_readings(bits)))


def bit_readings(bits: int) -> list[Reading]:
    size = (bits + 7) // 8
    values = drawn(st.integers(0, 2**bits - 1), [0, 1, 2**bits - 1, 2 ** (bits - 1)], 50)
    base64, number = (
        column("binary", ValueEncoding.BITS, bits),
        column("binary", ValueEncoding.BITS_NUMBER, bits),
    )

    def show(n: int) -> bytearray:
        return bytearray(n.to_bytes(size, "big"))

    def little_endian(n: int) -> str:
        return b64encode(n.to_bytes(size, "little")).decode()

    return [
        encoded(base64, values, little_endian, show),
        encoded(number, values, str, show),
        refused(base64, b64encode(bytes([1] * (size + 1))).decode(), "?"),
        refused(number, str(2**bits), str(2**64), "9" * 30, "-1", "x", "1.5", ""),
    ]


def around(*numbers: int) -> list[int]:
    return [sign * n + d for n in numbers for d in (-1, 0, 1) for sign in (1, -1)]


def unscaled(precision: int) -> list[int]:
    limit = 10**precision - 1
    powers = around(*(2**n for n in (7, 8, 15, 31, 32, 63, 64, 65, 126, 127)), 10**18, 10**19)
    extremes = [0, 1, -1, limit, -limit, limit // 3, *(n for n in powers if abs(n) <= limit)]
    return drawn(st.integers(-limit, limit), extremes, 150)


def exact(n: int, scale: int) -> Decimal:
    """``n * 10^-scale`` at any size: Decimal's own arithmetic rounds to 28 digits."""
    return Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -scale))


def twos_complement(n: int) -> str:
    """As Java's BigInteger: big-endian, the fewest bytes that hold the sign."""
    size = (n + (n < 0)).bit_length() // 8 + 1
    return b64encode(n.to_bytes(size, "big", signed=True)).decode()


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param([(1, 0), (3, 1), (5, 5), (12, 2), (18, 0), (18, 18)], id="up to 8 bytes"),
        pytest.param([(19, 4), (20, 0), (30, 10), (37, 36)], id="up to 16 bytes"),
        pytest.param([(38, 0), (38, 19), (38, 38)], id="38 digits"),
    ],
)
def test_decimals(spark: SparkSession, sizes: list[tuple[int, int]]) -> None:
    check(spark, *(reading for size in sizes for reading in decimal_readings(*size)))


def decimal_readings(precision: int, scale: int) -> list[Reading]:
    values, iceberg = unscaled(precision), f"decimal({precision},{scale})"
    base64 = column(iceberg, ValueEncoding.DECIMAL_BASE64, scale)
    text = column(iceberg, ValueEncoding.DECIMAL_TEXT, scale)

    def show(n: int) -> Decimal:
        return exact(n, scale)

    large = [10**precision, -(10**precision), 2**127 - 1, -(2**127), 2**200, -(2**200)]
    zeros = f"{exact(1, scale):f}" + "0" * 40 if scale else "1.00"
    finer = f"0.{'0' * scale}1"
    return [
        encoded(base64, values, twos_complement, show),
        encoded(text, values, lambda n: f"{show(n):f}", show),
        Reading(text, [(zeros, show(1)), ("0E-9", show(0)), (None, None)]),
        refused(base64, "", "?", *map(twos_complement, large)),
        refused(text, str(10 ** (precision - scale)), finer, f"-{finer}", "NaN", "", "0x1", "1,0"),
        refused(text, f"1.5E-{scale}", f"{10**precision:E}"),
    ]


def test_decimals_sent_as_doubles(spark: SparkSession) -> None:
    def java(n: int) -> str:
        """As Java prints a double: with an exponent below 10^-3 and from 10^7."""
        number = n / 100
        return f"{Decimal(repr(number)):E}" if abs(number) >= 10**7 else repr(number)

    values = drawn(st.integers(-(10**15), 10**15), [0, 1, 10**15, 123456789])
    of = column("decimal(17,2)", ValueEncoding.DECIMAL_TEXT, 2)
    check(spark, encoded(of, values, java, lambda n: exact(n, 2)), refused(of, "1.0E-5"))


def test_decimals_wider_than_iceberg_are_exact_text(spark: SparkSession) -> None:
    longest = [10**1000 - 1, 1 - 10**1000, 10**100, 2**223, -(2**223)]
    values, readings = [*unscaled(65), *longest], []
    for scale in (0, 3, 30):
        base64 = column("string", ValueEncoding.DECIMAL_BASE64, scale)
        text = column("string", ValueEncoding.DECIMAL_TEXT, scale)
        shown = [f"{exact(n, scale):f}" for n in values]
        numbers = map(twos_complement, values)
        readings += [
            Reading(base64, list(zip(numbers, shown, strict=True))),
            encoded(text, shown, str),
            refused(base64, "", "?", twos_complement(2**3400)),
            refused(text, "", "NaN", "1,0", "-", "1E1000", "E5", "1E"),
            Reading(text, [("1.50E-7", "0.000000150"), ("-1E+3", "-1000"), ("0E-2", "0.00")]),
        ]
    check(spark, *readings)


def test_geometry(spark: SparkSession) -> None:
    shapes = drawn(st.tuples(st.none() | st.integers(0, 2**31 - 1), st.binary(min_size=1)), [])

    def encode(shape: tuple[int | None, bytes]) -> str:
        srid, wkb = shape
        return json.dumps({"wkb": b64encode(wkb).decode(), "srid": srid})

    of = column("struct<srid:int,wkb:binary>", ValueEncoding.GEOMETRY)
    point = '{"x": 1.0, "y": 2.0, "wkb": "AQ==", "srid": null}'
    check(
        spark,
        encoded(of, shapes, encode, lambda shape: (shape[0], bytearray(shape[1]))),
        Reading(of, [(point, (None, bytearray(b"\1"))), (None, None)]),
        refused(of, '{"wkb": "?", "srid": 0}', '{"srid": 0}', '{"wkb": "AQ==", "srid": "x"}', "[]"),
    )


def test_geometry_as_mysql_stores_it(spark: SparkSession) -> None:
    """Four bytes of SRID, the least significant first, then the WKB: each byte a character."""

    def encode(shape: tuple[int, bytes]) -> str:
        return (struct.pack("<I", shape[0]) + shape[1]).decode("latin-1")

    shapes = drawn(
        st.tuples(st.integers(0, 2**31 - 1), st.binary(min_size=1, max_size=25)),
        [(0, b"\1"), (4326, bytes(range(256)))],
    )
    of = column("struct<srid:int,wkb:binary>", ValueEncoding.GEOMETRY_LATIN1)
    check(
        spark,
        encoded(of, shapes, encode, lambda shape: (shape[0], bytearray(shape[1]))),
        refused(of, "", "\0\0\0\0", "\0\0\0\xff\1", "\0\0\0\0\u0100"),
    )


def test_labels_of_an_index(spark: SparkSession) -> None:
    """TYPE-32: the first label has number 1; 0 is the empty text for a value that was invalid."""
    labels = ("red", "it's", "a,b")
    of = column("string", ValueEncoding.ENUM_INDEX, labels=labels)
    check(
        spark,
        Reading(of, [("0", ""), *((str(n), label) for n, label in enumerate(labels, 1))]),
        Reading(of, [(None, None)]),
        refused(of, "4", "-1", "red", "", "1.0", "99999999999"),
    )


@pytest.mark.parametrize("count", [1, 3, 63, 64])
def test_labels_of_a_mask(spark: SparkSession, count: int) -> None:
    """TYPE-32: bit n stands for label n, up to 64 of them."""
    labels = tuple(f"l{n}" for n in range(count))
    of = column("string", ValueEncoding.SET_MASK, labels=labels)
    masks = drawn(st.integers(0, 2**count - 1), [0, 1, 2**count - 1, 2 ** (count - 1)])

    def shown(mask: int) -> str:
        return ",".join(label for bit, label in enumerate(labels) if mask >> bit & 1)

    check(
        spark,
        encoded(of, masks, str, shown),
        refused(of, str(2**count), "-1", "l0", "", "1.0"),
        Reading(of, [(None, None)]),
    )


def test_decimals_with_a_scale_of_their_own(spark: SparkSession) -> None:
    """Exact at any scale; trailing zeros may be gone, and with them the scale is negative."""

    def written(number: Decimal) -> str:
        sign, digits, exponent = number.as_tuple()
        unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
        size = (unscaled.bit_length() + 8) // 8
        value = b64encode(unscaled.to_bytes(size, "big", signed=True)).decode()
        assert isinstance(exponent, int)
        return json.dumps({"scale": -exponent, "value": value})

    numbers = st.builds(
        lambda unscaled, scale: Decimal(unscaled).scaleb(-scale),
        st.integers(-(10**28) + 1, 10**28 - 1),
        st.integers(-5, 30),
    )
    values = drawn(numbers, [Decimal("500"), Decimal("5E+2"), Decimal("-0.001"), Decimal("0E+3")])
    text = column("string", ValueEncoding.DECIMAL_SCALED)
    sized = column("decimal(12,2)", ValueEncoding.DECIMAL_SCALED, 2)
    check(
        spark,
        encoded(text, values, written, lambda number: format(number + 0, "f")),
        encoded(sized, [Decimal("12.30"), Decimal("-7"), Decimal("1E+3")], written),
        refused(sized, written(Decimal("0.001")), written(Decimal("1E+11")), "5", "{}"),
        Reading(text, [(None, None), ('{"scale":0,"value":"AfQ="}', "500")]),
    )


def test_bits_as_text(spark: SparkSession) -> None:
    """TYPE-23: least significant byte first, leading zero bytes left out."""

    def written(bits: str) -> str:
        number = int(bits or "0", 2)
        return b64encode(number.to_bytes((number.bit_length() + 7) // 8, "little")).decode()

    fixed, varying = (
        column("string", ValueEncoding.BITS_TEXT, 12),
        column("string", ValueEncoding.BYTES_TEXT, 20),
    )
    twelve = [f"{n:012b}" for n in (0, 1, 0x2A, 0x801, 0xFFF)]
    wide = column("string", ValueEncoding.BITS_TEXT, 100)
    check(
        spark,
        encoded(fixed, twelve, written),
        refused(fixed, written("1" * 13), "%"),
        encoded(wide, ["1" * 100, "0" * 99 + "1"], written),
        Reading(varying, [("Kg==", "00101010"), (written("1" + "0" * 8), "0000000100000000")]),
    )


def test_arrays(spark: SparkSession) -> None:
    """Null elements stay; one element that cannot be read loses the array (TYPE-2)."""
    days = replace(column("array<date>", ValueEncoding.DAYS), has_infinity=True)
    check(
        spark,
        Reading(
            column("array<int>", ValueEncoding.INTEGER),
            [("[1,null,-3]", [1, None, -3]), ("[]", []), (None, None), ("[1,x]", ...)],
        ),
        refused(column("array<int>", ValueEncoding.INTEGER), '["one"]', "[1,2147483648]", "7"),
        Reading(
            column("array<string>", ValueEncoding.TEXT),
            [('["a","NULL",null,"x \\"y\\" {},"]', ["a", "NULL", None, 'x "y" {},'])],
        ),
        Reading(
            column("array<decimal(8,2)>", ValueEncoding.DECIMAL_BASE64, 2),
            [('["BNI=",null]', [Decimal("12.34"), None])],
        ),
        Reading(column("array<binary>", ValueEncoding.BASE64), [('["AP8="]', [b"\x00\xff"])]),
        Reading(days, [("[18460,2147483647]", [date(2020, 7, 17), None])]),
        Reading(
            column("array<array<int>>", ValueEncoding.INTEGER), [("[[1],[2,3]]", [[1], [2, 3]])]
        ),
    )


def test_maps(spark: SparkSession) -> None:
    of = column("map<string,string>", ValueEncoding.MAP)
    check(spark, Reading(of, [('{"a":"1","b":null}', {"a": "1", "b": None}), ("{}", {})]))
