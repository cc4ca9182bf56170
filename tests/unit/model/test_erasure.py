"""ERASE-1: keys in a file, of which no message shows a value."""

from __future__ import annotations

import traceback

import pytest

from tidemark.model.erasure import keys_in


def test_a_key_on_each_line() -> None:
    text = '{"region": "eu", "id": 4711}\n\n{"region": "é", "id": 1.50}\n'
    assert keys_in(text) == [{"region": "eu", "id": "4711"}, {"region": "é", "id": "1.50"}]


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85", "\x7f"])
def test_a_key_may_hold_what_ends_a_line_elsewhere(sign: str) -> None:
    """JSON writes only what stands below U+0020 by other signs."""
    text = f'{{"name": "a{sign}b"}}\r\n{{"name": "c"}}\r\n'
    assert keys_in(text) == [{"name": f"a{sign}b"}, {"name": "c"}]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it has no keys"),
        ('{"id": 4711}\n{"id": 4711', "line 2 is no JSON"),
        ('["4711"]', "line 1 is no object of columns"),
        ('{"id": {"a": "4711"}}', "line 1 is no object of columns"),
    ],
)
def test_what_holds_no_keys(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as error:
        keys_in(text)
    assert "4711" not in "".join(traceback.format_exception(error.value, limit=0))
