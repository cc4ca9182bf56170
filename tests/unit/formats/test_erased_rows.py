"""ERASE-1: rows go out of a record that holds others, and these stay as they are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tidemark.formats.canal_json.erased import without_rows
from tidemark.formats.canal_json.images import whole_rows

GONE = {"_tidemark_erased": "row"}


def shortened(record: dict[str, Any], *rows: int) -> Any:
    return json.loads(without_rows(json.dumps(record).encode(), rows))


def test_a_row_goes_with_what_it_was() -> None:
    rows = [{"id": str(number), "name": "n"} for number in range(3)]
    record = {"type": "UPDATE", "data": rows, "old": [{"name": "o"}] * 3, "sql": "", "es": 1}
    assert shortened(record, 0, 2) == record | {
        "data": [GONE, rows[1], GONE],
        "old": [None, {"name": "o"}, None],
    }


def test_the_statement_that_wrote_the_rows_goes() -> None:
    record = {"type": "INSERT", "data": [{"id": "1"}, {"id": "2"}], "old": None, "sql": "of Jane"}
    assert shortened(record, 1) == record | {"data": [{"id": "1"}, GONE], "sql": ""}


def test_what_stays_is_the_same_byte_by_byte() -> None:
    text = b'{ "data" : [ {"a":1.50}, {"a":"\\u0041"} ], "x":1e5,"old":null}'
    gone = json.dumps(GONE).encode()
    assert without_rows(text, [0]) == text.replace(b'{"a":1.50}', gone)


@pytest.mark.parametrize("value", [b'{"data":[{"a":1}]}', b'{"data":null}', b"{}", b"1"])
def test_a_row_that_is_not_there(value: bytes) -> None:
    with pytest.raises((ValueError, IndexError)):
        without_rows(value, [1])


def test_a_row_that_has_another_key_as_well_stays() -> None:
    """KEY-8: an update from one key to another is two parts of one row."""
    assert whole_rows([2, 4], [0, 2, 4, 5]) == {1}
