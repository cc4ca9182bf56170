"""What msgspec takes in parts that it skips, and must not pass: MSG-3, MSG-4, POISON-1."""

from __future__ import annotations

import pytest

from tidemark.formats.json_guards import has_long_number, has_twice, is_deep, is_utf8


@pytest.mark.parametrize("text", [b"plain", "caf\u00e9 \U0001f30a".encode()])
def test_text_is_text(text: bytes) -> None:
    assert is_utf8(text)


@pytest.mark.parametrize("text", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"caf\xc3"])
def test_bytes_that_stand_for_no_character(text: bytes) -> None:
    assert not is_utf8(text)


@pytest.mark.parametrize("depth", [63, 64, 65, 300])
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_depth(depth: int, brackets: str) -> None:
    opens = "[" if brackets == "[]" else '{"a":'
    text = opens * depth + "1" + brackets[1] * depth
    assert is_deep(text.encode()) == (depth > 64)


def test_brackets_beside_each_other_and_in_strings_are_not_deep() -> None:
    wide = ("[" + ",".join(["[1]"] * 200) + "]").encode()
    quoted = b'{"a":"' + b"[{" * 100 + b'\\"[","b":[]}'
    assert not is_deep(wide)
    assert not is_deep(quoted)


@pytest.mark.parametrize("start", [0, 1, 998, 999, 1000, 1500, 1999])
@pytest.mark.parametrize("length", [999, 1000, 1001, 2500])
def test_a_long_number_is_found_wherever_it_stands(start: int, length: int) -> None:
    text = b" " * start + b"7" * length + b" " * 700
    assert has_long_number(text) == (length >= 1000)


def test_many_short_numbers_are_not_one_long_one() -> None:
    assert not has_long_number(b"123456789," * 1000)


@pytest.mark.parametrize(
    "text", [b'{"a":1,"a":1}', b'{"b":[{"a":1,"a":2}]}', b'{"a":1,"\\u0061":2}', b"{", b"[" * 9999]
)
def test_names_that_may_stand_twice(text: bytes) -> None:
    assert has_twice(text)


@pytest.mark.parametrize("text", [b'{"a":{"a":1}}', b'[{"a":1},{"a":1}]', b"7"])
def test_names_that_stand_once(text: bytes) -> None:
    assert not has_twice(text)
