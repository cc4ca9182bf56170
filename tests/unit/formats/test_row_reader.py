"""Rows in plain Python: which tables are read so, and which of their records are left alone.

What values become is compared with the source in tests/spark/properties.
"""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tidemark.formats.row_reader import ODD, RowReader, can_read, row_fields
from tidemark.formats.special import PLACEHOLDER
from tidemark.model.column_rename import ColumnRename
from tidemark.model.column_rules import ColumnRules, Mask
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import ColumnName
from tidemark.model.position import Position

ID, NAME, PRICE = (ColumnName(name) for name in ("id", "name", "price"))
COLUMNS = (
    SourceColumn(ID, "int", ValueEncoding.INTEGER, "int"),
    SourceColumn(NAME, "string", ValueEncoding.TEXT, "text", may_be_unavailable=True),
    SourceColumn(PRICE, "decimal(12,2)", ValueEncoding.DECIMAL_BASE64, "numeric(12,2)", 2),
)
SCHEMA = TableSchema(COLUMNS, (ID,))


def record(row: object, **others: Any) -> bytes:
    return json.dumps({"before": None, "after": row, "op": "c"} | others).encode()


def read(schema: TableSchema, key: bytes, value: bytes) -> list[Any] | None:
    """The row as an array has it; None where the record leaves none. Raises ODD."""
    reader = RowReader(schema)
    image = reader.image(value)
    if image is None:
        return None
    row = reader.typed(reader.key(key), image)
    return [array.to_pylist()[0] for array in reader.arrays([[one] for one in row])]


def test_a_row_is_read_by_its_columns() -> None:
    """TYPE-2: with a record's own schema or without."""
    value, key = record({"price": "8Aw=", "name": "a", "id": 1, "gone": [1]}), b'{"id": 1}'
    expected = [1, "a", Decimal("-40.84")]
    assert read(SCHEMA, key, value) == expected
    wrapped_key = b'{"schema":{"type":"struct"},"payload":{"id":1}}'
    assert (
        read(SCHEMA, wrapped_key, b'{"schema":{"type":"struct"},"payload":%b}' % value) == expected
    )
    assert read(SCHEMA, key, record(None)) is None
    assert [field.name for field in row_fields(SCHEMA)] == ["id", "name", "price"]


@pytest.mark.parametrize(
    ("key", "row"),
    [
        (b'{"id":1}', {"id": 2}),
        (b'{"id":1}', {"id": 1, "name": 7}),
        (b'{"id":1}', {"id": 1, "name": PLACEHOLDER}),
        (b'{"id":1}', {"id": 1, "price": 1.5}),
        (b'{"id":1}', {"id": 1, "price": "AP//////////"}),
        (b'{"id":"1"}', {"id": 1}),
        (b'{"id":null}', {"id": 1}),
        (b'{"id":1,"shard":"a"}', {"id": 1}),
        (b"1", {"id": 1}),
    ],
)
def test_what_is_odd_is_not_read(key: bytes, row: dict[str, Any]) -> None:
    """KEY-1, UNAV-1, TYPE-2: none of them becomes a value, and none a null."""
    with pytest.raises(ODD):
        read(SCHEMA, key, record(row))


def test_a_placeholder_is_seen_behind_escapes() -> None:
    """UNAV-1: JSON may write any character as an escape."""
    escaped = record({"id": 1, "name": "NAME"}).replace(
        b"NAME", rb"\u005f" + PLACEHOLDER[1:].encode()
    )
    with pytest.raises(ODD, match="not sent"):
        read(SCHEMA, b'{"id":1}', escaped)
    assert read(SCHEMA, b'{"id":1}', record({"id": 1, "name": "\x01"})) == [1, "\x01", None]


@pytest.mark.parametrize(
    ("op", "is_read"), [("r", True), ("c", False), ("u", False)], ids=["snapshot", "c", "u"]
)
def test_a_null_that_may_stand_for_a_large_value_is_not_read(op: str, *, is_read: bool) -> None:
    """UNAV-11: Debezium has no placeholder for this type; what a snapshot reads is whole."""
    sizes = SourceColumn(PRICE, "array<double>", ValueEncoding.DOUBLE, "double precision[]")
    schema = replace(SCHEMA, columns=(*COLUMNS[:2], sizes))
    assert can_read(schema)
    value = record({"id": 1, "name": "a", "price": None}, op=op)
    if is_read:
        assert read(schema, b'{"id":1}', value) == [1, "a", None]
    else:
        with pytest.raises(ODD, match="not sent"):
            read(schema, b'{"id":1}', value)
    assert read(schema, b'{"id":1}', record({"id": 1, "price": [1.5]}, op=op)) == [1, None, [1.5]]
    marked = replace(sizes, iceberg="array<int>", encoding=ValueEncoding.INTEGER)
    schema = replace(schema, columns=(*COLUMNS[:2], replace(marked, source_type="integer[]")))
    assert read(schema, b'{"id":1}', value) == [1, "a", None]


def test_tables_with_other_columns_are_left_alone() -> None:
    """Whatever of them the expressions alone know."""
    assert can_read(SCHEMA)
    assert not can_read(replace(SCHEMA, key=()))
    assert can_read(replace(SCHEMA, key=(PRICE,)))
    assert not can_read(
        replace(SCHEMA, columns=(replace(COLUMNS[0], encoding=ValueEncoding.FLOAT),))
    )
    for other in (
        replace(COLUMNS[1], mask=Mask.HASH),
        replace(COLUMNS[2], iceberg="array<decimal(12,2)>"),
        replace(COLUMNS[1], encoding=ValueEncoding.GEOMETRY),
        replace(COLUMNS[2], encoding=ValueEncoding.MAP),
    ):
        changed = tuple(other if other.name == one.name else one for one in COLUMNS)
        assert not can_read(replace(SCHEMA, columns=changed))


def test_columns_are_read_by_what_records_of_now_call_them() -> None:
    """SCHEMA-4: up to a change of name or type, a record is none of the reader's."""
    renamed = replace(
        SCHEMA,
        columns=(*COLUMNS[:2], replace(COLUMNS[2], former=COLUMNS[2], changed_at=Position("7"))),
        column_renames=(ColumnRename(Position("5"), ((ColumnName("title"), NAME),)),),
        rules=ColumnRules(renamed=((NAME, ColumnName("label")),)),
    ).in_target
    assert renamed.names == ("id", "label", "price")
    assert can_read(renamed)
    assert RowReader(renamed).above == "7"
    assert read(renamed, b'{"id":1}', record({"id": 1, "name": "a"})) == [1, "a", None]


def test_a_number_with_a_scale_of_its_own_is_read_once() -> None:
    """TYPE-4, POISON-1: each name of the object stands once, beside rows where there is none."""
    column = SourceColumn(
        PRICE, "string", ValueEncoding.DECIMAL_SCALED, "numeric", may_be_unavailable=True
    )
    schema = replace(SCHEMA, columns=(*COLUMNS[:2], column))
    reader = RowReader(schema)
    for sent, expected in (
        ({"scale": 2, "value": "8Aw="}, "-40.84"),
        (None, None),
        ({"value": "AA==", "scale": -3}, "0"),
        ({"scale": 5, "value": "AQ=="}, "0.00001"),
        ({"scale": -2, "value": "/w=="}, "-100"),
    ):
        image = reader.image(record({"id": 1, "name": None, "price": sent}))
        assert image is not None
        assert reader.typed((1,), image)[2] == expected
    twice = b'{"before":null,"after":{"id":1,"name":null,"price":%b},"op":"c"}'
    for odd in (
        b'{"scale":2,"value":"AQ==","scale":2}',
        b'{"scale":2}',
        b'{"scale":16384,"value":"AQ=="}',
        b'{"scale":2,"value":""}',
        b'{"scale":2,"value":"AQ==","unit":"x"}',
        b"1.5",
        b'null,"name":null,"name":null',
    ):
        with pytest.raises(ODD):
            reader.image(twice % odd)


@pytest.mark.parametrize(
    ("iceberg", "encoding"),
    [
        ("array<binary>", ValueEncoding.BASE64),
        ("binary", ValueEncoding.BASE64),
        ("binary", ValueEncoding.BASE64_URL),
        ("binary", ValueEncoding.HEX),
    ],
)
def test_a_placeholder_in_base64_is_no_value(iceberg: str, encoding: ValueEncoding) -> None:
    """UNAV-1: whatever its bytes are decoded into."""
    column = replace(COLUMNS[1], iceberg=iceberg, encoding=encoding)
    schema = replace(SCHEMA, columns=(COLUMNS[0], column))
    assert can_read(schema)
    text = b64encode(PLACEHOLDER.encode()).decode()
    sent = [text] if iceberg.startswith("array") else text
    with pytest.raises(ODD):
        read(schema, b'{"id":1}', record({"id": 1, "name": sent}))


def test_arrays_are_read_where_they_were_sent() -> None:
    """TYPE-24, UNAV-2: an array of the placeholder's bytes is none of the row's."""
    column = replace(COLUMNS[1], iceberg="array<int>", encoding=ValueEncoding.INTEGER)
    schema = replace(SCHEMA, columns=(COLUMNS[0], column))
    assert can_read(schema)
    assert not can_read(replace(schema, key=(NAME,)))
    for sent in ([], [1, None, 3], None):
        assert read(schema, b'{"id":1}', record({"id": 1, "name": sent})) == [1, sent]
    for odd in (list(PLACEHOLDER.encode()), [PLACEHOLDER], [[1]], [1.5], 1):
        with pytest.raises(ODD):
            read(schema, b'{"id":1}', record({"id": 1, "name": odd}))


def test_truncated_placeholders_are_left_to_the_expressions() -> None:
    """UNAV-2: by far not all tables have such columns; one that holds a whole one is no such."""
    for most, is_read in ((10, False), (27, False), (100, True), (0, True)):
        columns = (COLUMNS[0], replace(COLUMNS[1], most_chars=most), COLUMNS[2])
        assert can_read(TableSchema(columns, (ID,))) is is_read
