"""The recorded streams as the samples send them."""

from __future__ import annotations

import pytest

from embedded.sample import CASES, Stream, inventory_stream, shop_stream
from tests.corpus.cases import Case, read_case

INVENTORY = read_case(CASES / "recorded-debezium-mysql" / "my-inventory", "json-noschema")
SHOP = read_case(CASES / "ticdc-made" / "shop", "3p")


@pytest.mark.parametrize(
    ("stream", "case"),
    [
        pytest.param(inventory_stream(), INVENTORY, id="inventory"),
        pytest.param(shop_stream(), SHOP, id="shop"),
    ],
)
def test_a_stream_is_its_case_byte_for_byte(stream: Stream, case: Case) -> None:
    as_sent = [
        (record.topic, record.partition, _bytes(record.key), _bytes(record.value))
        for record in stream.records
    ]
    assert as_sent == [
        (record.topic, record.partition, record.key, record.value) for record in case.records
    ]
    assert stream.partitions == case.partitions


@pytest.mark.parametrize("stream", [inventory_stream(), shop_stream()], ids=["inventory", "shop"])
def test_stages_end_where_the_records_do(stream: Stream) -> None:
    ends = [stage.end for stage in stream.stages]
    assert ends == sorted(ends)
    assert ends[-1] == len(stream.records)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()
