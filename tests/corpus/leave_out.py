"""Updates as a source sends them that leaves out what they do not change.

The rows that must come out stay the same, so that any recorded case tries how they are made whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tests.corpus.cases import Case, Record
from tests.corpus.source import envelope_of, is_row, source_of, table_of

PLACEHOLDER = "__debezium_unavailable_value"
FORMER_KEY = "__debezium.oldkey"
STORED_APART = {"text", "varchar", "character varying", "longtext", "mediumtext", "json", "jsonb"}
Row = Mapping[str, Any]


def without_unchanged(case: Case) -> Case:
    """``case`` with Debezium's placeholder for such texts; with Canal they are not there.

    Records in Avro are left as they are.
    """
    if case.schemas:
        return case
    leave_out = _canal if source_of(case).format.is_canal else _debezium
    return replace(case, records=tuple(leave_out(case)))


def _canal(case: Case) -> Iterator[Record]:
    """What stands in no old image, or as it is now, did not change (MSG-42)."""
    for record in case.records:
        content = envelope_of(record)
        if content.get("type") != "UPDATE" or not content.get("old"):
            yield record
            continue
        key = content["pkNames"] or ()
        rows = [
            {n: v for n, v in row.items() if n in key or (n in old and old[n] != v)}
            for row, old in zip(content["data"], content["old"], strict=True)
        ]
        yield _with(record, {**content, "data": rows})


def _debezium(case: Case) -> Iterator[Record]:
    """Texts that are as they were in the row, also under the key that it had before."""
    rows: dict[tuple[str, str], Row] = {}
    for record in case.records:
        content = envelope_of(record)
        if not is_row(content) or record.key is None:
            yield record
            continue
        key, after = _key(record.topic, record.key), content["after"]
        if after is None:  # its row is needed by the record that has it under its new key
            yield record
            continue
        former = dict(record.headers).get(FORMER_KEY)
        before: Row = {}
        if former or content["op"] == "u":
            before = rows.get(_key(record.topic, former) if former else key, {})
        rows[key] = after
        unchanged = {n for n in _texts(case, content) if after.get(n) and before.get(n) == after[n]}
        sent = {n: PLACEHOLDER if n in unchanged else value for n, value in after.items()}
        yield _with(record, {**content, "after": sent})


def _texts(case: Case, change: Mapping[str, Any]) -> Iterator[str]:
    table = case.tables.get(table_of(change))
    if table is not None:
        for column in table.columns:
            is_text = column.source_type.partition("(")[0].lower() in STORED_APART
            if is_text and column.name not in table.key:
                yield column.name


def _key(topic: str, text: bytes) -> tuple[str, str]:
    content = json.loads(text)
    return topic, json.dumps(content.get("payload", content), sort_keys=True)


def _with(record: Record, content: Mapping[str, Any]) -> Record:
    """The record with another envelope, in the schema wrapper that it has."""
    assert record.value is not None
    whole = json.loads(record.value)
    is_wrapped = "payload" in whole and "op" not in whole
    value = {**whole, "payload": content} if is_wrapped else content
    return replace(record, value=json.dumps(value, ensure_ascii=False).encode())
