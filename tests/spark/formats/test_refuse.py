"""Texts that are no JSON object, or not quite: none of them is read as what it may have been."""

from __future__ import annotations

import gzip

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from tidemark.formats.refuse import OBJECT, half_pair, read_object, unparsed

FIELDS = "a STRING, o STRUCT<x STRING>"


def reason_of(text: Column) -> Column:
    return unparsed(text, read_object(text, FIELDS))


def nested(levels: int) -> bytes:
    """An object that is so many levels deep."""
    return b'{"a":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"


READ = [
    (b'{"a":1}', "1"),
    (b' \r\n\t{"a":1}\n', "1"),
    (b'{"b":[1,{"a":2}]}', None),
    ('{"a":"\u00e9\U0001f600\ufffd"}'.encode(), "\u00e9\U0001f600\ufffd"),
    (b'{"a":"\\ud83d\\ude00 \\u00e9"}', "\U0001f600 \u00e9"),
    (b'{"a":"\\\\ud83d"}', "\\ud83d"),
    (b'{"a":123456789012345678901234567890}', "123456789012345678901234567890"),
    (b'{"a":' + b"9" * 1000 + b"}", "9" * 1000),
    (b'{"a":"NaN"}', "NaN"),
    (nested(64), "[" * 63 + "]" * 63),
]


@pytest.mark.parametrize(("text", "read"), READ)
def test_an_object_is_read(spark: SparkSession, text: bytes, read: str | None) -> None:
    """MSG-4, POISON-6: numbers keep every digit, texts every character."""
    rows = spark.createDataFrame([(bytearray(text),)], "value BINARY")
    value = F.col("value").cast("string")
    found = rows.select(reason_of(value), read_object(value, FIELDS)[OBJECT]["a"]).collect()[0]
    assert tuple(found) == (None, read)


REFUSED = [
    pytest.param(b"", "EMPTY_VALUE", id="nothing"),
    pytest.param(b"  ", "EMPTY_VALUE", id="blanks"),
    pytest.param(b"not json", "JSON_INVALID", id="text"),
    pytest.param(b'{"a":1', "JSON_INVALID", id="cut off"),
    pytest.param(b'{"a":"\xc3', "JSON_INVALID", id="cut off inside a character"),
    pytest.param(b'{"a":1}{"a":2}', "JSON_INVALID", id="two records in one"),
    pytest.param(b'{"a":1}\n{"a":2}', "JSON_INVALID", id="two lines in one"),
    pytest.param(b'{"a":1} and more', "JSON_INVALID", id="text behind it"),
    pytest.param(b'{"a":1}}', "JSON_INVALID", id="a bracket too many"),
    pytest.param(b'{"a":1}\0', "JSON_INVALID", id="a zero byte behind it"),
    pytest.param(b'\xef\xbb\xbf{"a":1}', "JSON_INVALID", id="a byte order mark"),
    pytest.param(b"{'a':'x'}", "JSON_INVALID", id="single quotes"),
    pytest.param(b'{"a":1,}', "JSON_INVALID", id="a comma too many"),
    pytest.param('{"a":1}'.encode("utf-16"), "JSON_INVALID", id="another encoding"),
    pytest.param(gzip.compress(b'{"a":1}'), "JSON_INVALID", id="compressed"),
    pytest.param(b"null", "JSON_NOT_OBJECT", id="null"),
    pytest.param(b"7", "JSON_NOT_OBJECT", id="a number"),
    pytest.param(b'"{}"', "JSON_NOT_OBJECT", id="an object as text"),
    pytest.param(b'[{"a":1}]', "JSON_NOT_OBJECT", id="an array"),
    pytest.param(b'{"a":NaN}', "JSON_NUMBER", id="a bare NaN"),
    pytest.param(b'{"b":[-Infinity]}', "JSON_NUMBER", id="a bare infinity"),
    pytest.param(b'{"a":' + b"9" * 1001 + b"}", "JSON_NUMBER", id="too many digits"),
    pytest.param(b'{"b":' + b"9" * 1001 + b"}", "JSON_NUMBER", id="where nobody looks"),
    pytest.param(nested(65), "JSON_DEPTH", id="too deep"),
    pytest.param(nested(5000), "JSON_DEPTH", id="far too deep"),
    pytest.param(b'{"o":"x"}', "ENVELOPE_INVALID", id="text where an object should be"),
    pytest.param(b'{"a":"\xff"}', "UTF8_INVALID", id="a byte of no character"),
    pytest.param(b'{"b":"\xc0\xaf"}', "UTF8_INVALID", id="a longer form than needed"),
    pytest.param(b'{"a":"\xed\xa0\xbd"}', "UTF8_INVALID", id="half of a pair as bytes"),
    pytest.param(b'{"a":"\xe9"}', "UTF8_INVALID", id="Latin-1"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_what_is_wrong_with_a_text_is_told(spark: SparkSession, text: bytes, reason: str) -> None:
    """MSG-3, MSG-4, POISON-1: what would be read in part, or as something else, is refused."""
    rows = spark.createDataFrame([(bytearray(text),)], "value BINARY")
    assert rows.select(reason_of(F.col("value").cast("string"))).collect()[0][0] == reason


def test_of_a_name_twice_a_first_reading_takes_the_last_value(spark: SparkSession) -> None:
    """MSG-4: `formats.contradictions` looks closer, where that is worth another reading."""
    rows = spark.createDataFrame([('{"a":1,"o":{"x":1,"x":2},"a":2}',)], "value STRING")
    value = F.col("value")
    read = rows.select(reason_of(value), read_object(value, FIELDS)[OBJECT]).collect()[0]
    assert (read[0], read[1]["a"], read[1]["o"]["x"]) == (None, "2", "2")


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        pytest.param(b'{"id":"\\ud83d"}', "UTF8_INVALID", id="the first half of a pair"),
        pytest.param(b'{"id":"\\uD83D\\u0041"}', "UTF8_INVALID", id="and another character"),
        pytest.param(b'{"id":"x\\ude00"}', "UTF8_INVALID", id="the second half"),
        pytest.param(b'{"id":"\\\\\\ud83d"}', "UTF8_INVALID", id="behind a backslash"),
        pytest.param(b'{"id":"\\ude00\\ud83d"}', "UTF8_INVALID", id="both in the wrong order"),
        pytest.param(b'{"id":"\\ud83d\\ude00\\ud83d\\uDE00"}', None, id="pairs"),
        pytest.param(b'{"id":"\\\\ud83d \\u00e9"}', None, id="a backslash and text"),
    ],
)
def test_half_a_pair_is_no_character(spark: SparkSession, key: bytes, reason: str | None) -> None:
    """MSG-4: it would be the key of another row."""
    rows = spark.createDataFrame([(bytearray(key),)], "key BINARY")
    assert rows.select(half_pair(F.col("key").cast("string"))).collect()[0][0] == reason
