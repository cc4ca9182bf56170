"""What Debezium's schema changes mean for tables whose records name columns in another way."""

from __future__ import annotations

import json
from typing import Any

from tidemark.model.names import TableName
from tidemark.model.position import Position
from tidemark.runs.ddl import add_up
from tidemark.runs.ddl_effects import DdlEffects, DdlRecord
from tidemark.spec import SourceSpec

ITEMS = TableName("shop", "items")


def effects_of(*columns: str, **source: Any) -> DdlEffects:
    """Of a change after which shop.items has ``columns``, the first of them its key."""
    told = [
        {"name": name, "typeName": "INT", "typeExpression": "INT", "length": None, "scale": None}
        for name in columns
    ]
    table = {"columns": told, "primaryKeyColumnNames": [columns[0]]}
    change = {
        "source": {"snapshot": "false"},
        "databaseName": "shop",
        "ddl": "ALTER TABLE items ADD COLUMN late INT",
        "tableChanges": [{"type": "ALTER", "id": '"shop"."items"', "table": table}],
    }
    spec = SourceSpec.model_validate(
        {"format": "debezium-mysql", "gate": "none", "topics": {"data": ["t"]}, **source}
    )
    record = DdlRecord(Position("0001"), "shop", json.dumps({"payload": change}))
    return add_up(spec, [record], spec.modes.connector)


def test_columns_are_named_as_in_avro_records() -> None:
    """MSG-20"""
    avro = effects_of("item-id", "2nd", avro={"folder": "/schemas"})
    assert (avro.schemas[ITEMS].names, avro.schemas[ITEMS].key) == (
        ("item_id", "_2nd"),
        ("item_id",),
    )
    assert effects_of("item-id").schemas[ITEMS].names == ("item-id",)
    assert avro.stops == {}


def test_names_that_become_one_stop_their_table() -> None:
    """MSG-20: and no other."""
    stopped = effects_of("a-b", "a.b", avro={"folder": "/schemas"})
    assert stopped.stops == {
        ITEMS: "the columns a-b and a.b are both written as a_b (COLUMN_COLLISION)"
    }
