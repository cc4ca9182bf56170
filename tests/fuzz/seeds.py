"""What the fuzzer starts from: the texts of the recorded cases."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.corpus.cases import Case, find_cases

CASES = Path(__file__).parents[1] / "corpus" / "cases"


@cache
def _cases() -> tuple[Case, ...]:
    return find_cases([CASES])


def _contents() -> Iterator[Mapping[str, Any]]:
    for case in _cases():
        for record in case.records:
            if record.value is not None:
                content = json.loads(record.text or record.value)
                if isinstance(content, dict):
                    yield content


def _bodies() -> Iterator[Mapping[str, Any]]:
    return (content.get("payload") or content for content in _contents())


def statements() -> list[str]:
    """DDL."""
    return _each(body.get("ddl") or body.get("sql") for body in _bodies())


def types() -> list[str]:
    """Column types."""
    columns = (c for case in _cases() for table in case.tables.values() for c in table.columns)
    told = (text for body in _bodies() for text in (body.get("mysqlType") or {}).values())
    return _each((*(column.source_type for column in columns), *told))


def avro_schemas() -> list[str]:
    """Schemas of keys and values."""
    return _each(json.dumps(schema) for case in _cases() for schema in case.schemas.values())


def wrapped() -> list[str]:
    """Records with their schema beside them; of each schema one."""
    found = {json.dumps(c["schema"]): json.dumps(c) for c in _contents() if c.get("schema")}
    return list(found.values())


def canal_rows() -> list[str]:
    """Rows of Canal-JSON; of each set of types one."""
    rows = (body for body in _bodies() if body.get("mysqlType") and body.get("data"))
    return list({json.dumps(row["mysqlType"]): json.dumps(row) for row in rows}.values())


def table_states() -> list[str]:
    """Tables as Debezium's schema changes tell them."""
    changes = (change for body in _bodies() for change in body.get("tableChanges") or ())
    return _each(json.dumps(change["table"]) for change in changes if change["table"])


def _each(texts: Any) -> list[str]:
    return sorted({text for text in texts if text})
