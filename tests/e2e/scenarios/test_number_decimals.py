"""Decimals that a converter writes as JSON numbers, through whole cuts."""

from __future__ import annotations

import json
from base64 import b64encode
from decimal import Decimal
from typing import Any

import pytest

from tests.support.records import Record, debezium_row, postgres_row, ticdc_row
from tests.support.stack import Stream
from tidemark.runs.world import World

DECIMAL = {"type": "bytes", "optional": True, "name": "org.apache.kafka.connect.data.Decimal"}
AMOUNT = {**DECIMAL, "parameters": {"scale": "0", "connect.decimal.precision": "10"}}
PRICE = {**DECIMAL, "parameters": {"scale": "8", "connect.decimal.precision": "30"}}


def in_base64(unscaled: int) -> str:
    size = (unscaled + (unscaled < 0)).bit_length() // 8 + 1
    return b64encode(unscaled.to_bytes(size, "big", signed=True)).decode()


def row(number: int, lsn: int, amount: str, price: str) -> Record:
    """A row with its schema; amount and price: as they stand in the JSON."""
    plain = postgres_row("c", number, (lsn, lsn + 1), amount=0, price=1)
    fields = [
        {"type": "int32", "optional": False, "field": "id"},
        {"type": "string", "optional": True, "field": "name"},
        {**AMOUNT, "field": "amount"},
        {**PRICE, "field": "price"},
    ]
    images = [
        {"type": "struct", "fields": fields, "optional": True, "field": image}
        for image in ("before", "after")
    ]
    schema = json.dumps({"type": "struct", "fields": images, "optional": False})
    payload = (plain.value or b"").decode().replace('"amount": 0', f'"amount": {amount}')
    payload = payload.replace('"price": 1', f'"price": {price}')
    return Record(f'{{"schema":{schema},"payload":{payload}}}'.encode(), plain.key)


def values(stream: Stream, *names: str) -> dict[Any, tuple[Any, ...]]:
    rows = stream.published()
    return {row["id"]: tuple(row[name] for name in names) for row in rows}


@pytest.mark.smoke
def test_each_decimal_is_read_in_the_form_that_it_has(world: World) -> None:
    """MSG-4, TYPE-9: whatever stands in the record that tells the schema, and in one cut both."""
    stream = Stream(world, format="debezium-postgres", gate="none").create()
    digits = in_base64(int.from_bytes(b"\xd7\x6d\xf8", "big", signed=True))
    assert digits == "1234"
    stream.send(
        [
            row(1, 100, "null", "null"),
            row(2, 200, "1234", "1234567890123456789012.34567891"),
            row(3, 300, f'"{digits}"', f'"{in_base64(-5)}"'),
            row(4, 400, f'"{in_base64(1234)}"', "1E-8"),
            row(5, 500, "-12345678", "0"),
            row(6, 600, "null", "null"),
        ]
    )
    stream.cut()
    stream.send([row(3, 700, "12345678", "null"), row(7, 800, f'"{digits}"', '"AA=="')])
    stream.cut()
    eight = Decimal("0.00000001")
    assert values(stream, "amount", "price") == {
        1: (None, None),
        2: (Decimal(1234), Decimal("1234567890123456789012.34567891")),
        3: (Decimal(12345678), None),
        4: (Decimal(1234), eight),
        5: (Decimal(-12345678), 0 * eight),
        6: (None, None),
        7: (Decimal(int.from_bytes(b"\xd7\x6d\xf8", "big", signed=True)), 0 * eight),
    }


def keyed(op: str, pos: int, key: str, price: str) -> Record:
    """A row without schema whose key and price stand in the JSON as they are."""
    plain = debezium_row(op, 7, pos)
    image, told = '{"id": 7, "name": "x"}', f'{{"id": {key}, "price": {price}}}'
    value = (plain.value or b"").decode().replace(image, told)
    return Record(value.encode(), f'{{"id": {key}}}'.encode())


def test_a_key_is_the_same_in_either_form(world: World) -> None:
    """MSG-4, KEY-2: without a schema as well."""
    columns = {"id": "decimal(10,0)", "price": "decimal(12,2)"}
    for key in ([], ["id"]):
        table = {"columns": columns, "key": key}
        stream = Stream(world, format="debezium-mysql", gate="none", table=table).create()
        stream.send(
            [
                keyed("c", 100, "1234", "1.10"),
                keyed("c", 200, "5678", "2.20"),
                keyed("u", 300, f'"{in_base64(1234)}"', f'"{in_base64(330)}"'),
                keyed("d", 400, f'"{in_base64(5678)}"', f'"{in_base64(220)}"'),
            ]
        )
        stream.cut()
        assert values(stream, "price") == {Decimal(1234): (Decimal("3.30"),)}


def test_numbers_of_canal_json_keep_their_digits(world: World) -> None:
    """MSG-4, TYPE-33."""
    table = {"columns": {"price": "decimal(30,8)"}}
    stream = Stream(world, gate="none", table=table).create()
    plain = ticdc_row("INSERT", 1, 1000)
    content = json.loads(plain.value or b"")
    content["mysqlType"] |= {"id": "bigint unsigned", "price": "decimal"}
    content["data"] = [{"id": 1, "name": "x", "price": 2}]
    text = json.dumps(content).replace('"id": 1,', f'"id": {2**64 - 1},')
    text = text.replace('"price": 2}', '"price": 1234567890123456789012.34567891}')
    stream.send([Record(text.encode())])
    stream.cut()
    price = Decimal("1234567890123456789012.34567891")
    assert values(stream, "price") == {Decimal(2**64 - 1): (price,)}
