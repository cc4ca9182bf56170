"""Columns that change without a statement: what records alone tell, and what stops a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tidemark.errors import TableStoppedError
from tidemark.formats.record_schema import RecordSchema
from tidemark.model.columns import TableSchema
from tidemark.model.position import Position
from tidemark.runs.ddl_effects import DdlEffects
from tidemark.runs.schemas import resolve
from tidemark.schema.changes import describe, plan_changes
from tidemark.spec import SourceSpec, TableSpec

POSTGRES = SourceSpec.model_validate(
    {"format": "debezium-postgres", "gate": "none", "topics": {"data": ["t"]}}
)
SPEC = TableSpec.model_validate({"source": "shop.items", "expectations": "none"})
TIME = "io.debezium.time."
TYPES: dict[str, dict[str, Any]] = {
    "int": {"type": "int32"},
    "bigint": {"type": "int64"},
    "real": {"type": "float"},
    "double": {"type": "double"},
    "text": {"type": "string"},
    "timestamp(6)": {"type": "int64", "name": f"{TIME}MicroTimestamp"},
    "timestamp(3)": {"type": "int64", "name": f"{TIME}Timestamp"},
    "time(6)": {"type": "int64", "name": f"{TIME}MicroTime"},
    "time(3)": {"type": "int32", "name": f"{TIME}Time"},
}


def told(position: str, **columns: str) -> RecordSchema:
    """A record with ``id`` and ``columns``, a ``?`` behind a type for one that may be null."""
    fields = [
        {"field": name, "optional": kind.endswith("?"), **TYPES[kind.removesuffix("?")]}
        for name, kind in {"id": "int", **columns}.items()
    ]
    return RecordSchema(fields=fields, key=("id",), position=Position(position))


def schema(have: TableSchema | None, *records: RecordSchema) -> TableSchema:
    return resolve(POSTGRES, SPEC, have, DdlEffects(), records)


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        pytest.param({"a": "int"}, {"a": "int?"}, [], id="nullability"),
        pytest.param({"a": "int"}, {"a": "int", "b": "text"}, ["add b string"], id="added"),
        pytest.param({"a": "int", "b": "text"}, {"a": "int"}, [], id="gone: it stays"),
        pytest.param({"a": "text"}, {"b": "text"}, ["add b string"], id="renamed: it does both"),
        pytest.param({"a": "int"}, {"a": "bigint"}, ["widen a int to bigint"], id="wider"),
        pytest.param({"a": "real"}, {"a": "double"}, ["widen a float to double"], id="a float"),
        pytest.param({"a": "bigint"}, {"a": "int"}, [], id="narrower: the column stays"),
    ],
)
def test_what_records_tell(
    before: dict[str, str], after: dict[str, str], changes: list[str]
) -> None:
    """SCHEMA-5, SCHEMA-13, SCHEMA-15."""
    have = schema(None, told("1", **before))
    want = schema(have, told("2", **after))
    assert [describe(change) for change in plan_changes(have, want)] == changes
    assert schema(want, told("3", **after)).columns == want.columns


TWO_FORMS = [("timestamp(6)", "timestamp(3)"), ("time(3)", "time(6)"), ("real", "double")]


@pytest.mark.parametrize(("before", "after"), TWO_FORMS)
def test_two_forms_of_a_column_in_one_cut_stop_the_table(before: str, after: str) -> None:
    """SCHEMA-4: nothing divides the records that hold it in one form from the others."""
    older, newer = told("1", a=before), told("2", a=after)
    with pytest.raises(TableStoppedError, match="records of one cut hold its column a as "):
        schema(None, older, newer)


@pytest.mark.parametrize(("before", "after"), TWO_FORMS)
def test_deletes_may_have_an_older_schema(before: str, after: str) -> None:
    """SCHEMA-5: nothing is read by it but keys."""
    newer, late = told("1", a=after), replace(told("2", a=before), has_rows=False)
    assert schema(None, newer, late) == schema(None, newer)


def test_another_type_stops_the_table() -> None:
    """SCHEMA-16."""
    have = schema(None, told("1", a="int"))
    with pytest.raises(TableStoppedError, match=r"a changed from int32 .* which Iceberg cannot"):
        schema(have, told("2", a="text"))
