"""Columns that snapshots read and streamed changes lack, as generated ones of PostgreSQL do."""

from __future__ import annotations

from typing import Any

import pytest

from tidemark.errors import TableStoppedError
from tidemark.formats.record_schema import RecordSchema
from tidemark.model.columns import TableSchema
from tidemark.model.names import ColumnName
from tidemark.model.position import LAST, Place, Position
from tidemark.runs.columns.schemas import resolve
from tidemark.runs.ddl.effects import DdlEffects
from tidemark.spec import SourceSpec, TableSpec

POSTGRES = SourceSpec.model_validate(
    {"format": "debezium-postgres", "gate": "none", "topics": {"data": ["t"]}}
)
WHOLE, STREAMED = ("id", "a", "g"), ("id", "a")


def table(**more: Any) -> TableSpec:
    text = {"source": "shop.items", "expectations": "none", **more}
    return TableSpec.model_validate(text)


def record(place: str, *names: str, is_read: bool = False, has_rows: bool = True) -> RecordSchema:
    return RecordSchema(
        fields=tuple({"field": name, "type": "int32"} for name in names),
        key=("id",),
        position=Position(place),
        has_rows=has_rows,
        schema_id=len(names),
        begins_at=Place(place),
        streamed_from=None if is_read else Place(place),
    )


def after(have: TableSchema | None, *records: RecordSchema, **more: Any) -> TableSchema:
    return resolve(POSTGRES, table(**more), have, DdlEffects(), records)


SNAPSHOT = record("3", *WHOLE, is_read=True)


def test_a_column_that_changes_lack_is_withheld() -> None:
    """SCHEMA-5, SCHEMA-38: whether they come with the snapshot or later, and for good."""
    first = after(None, SNAPSHOT)
    assert first.withheld == ()
    later = after(first, record("5", *STREAMED))
    for now in (later, after(None, SNAPSHOT, record("5", *STREAMED))):
        assert (now.withheld, now["g"].unknown_below) == ((ColumnName("g"),), LAST)
    assert TableSchema.from_json(later.to_json()) == later
    assert after(later, record("7", *WHOLE, is_read=True)).withheld == ("g",)
    assert after(later).withheld == ("g",)


def test_a_change_that_has_the_column_ends_it() -> None:
    """A snapshot may be ahead of changes from before the column joined."""
    withheld = after(after(None, SNAPSHOT), record("5", *STREAMED))
    released = after(withheld, record("7", *WHOLE))
    assert (released.withheld, released["g"].unknown_below) == ((), None)
    assert after(released, record("9", *STREAMED)).withheld == ()


@pytest.mark.parametrize(
    "records",
    [
        pytest.param((SNAPSHOT, record("5", *WHOLE), record("7", *STREAMED)), id="dropped later"),
        pytest.param((record("2", *STREAMED), SNAPSHOT), id="from before it joined"),
        pytest.param((SNAPSHOT, record("4", *STREAMED, is_read=True)), id="snapshots alone"),
        pytest.param((SNAPSHOT, record("5", *STREAMED, has_rows=False)), id="a delete"),
    ],
)
def test_a_column_that_is_lacked_otherwise_stays(records: tuple[RecordSchema, ...]) -> None:
    """SCHEMA-15, SCHEMA-5."""
    assert after(None, *records).withheld == ()
    have = None
    for told in records:
        have = after(have, told)
        assert have.withheld == ()


def test_an_excluded_column_is_none_to_withhold() -> None:
    withheld = after(after(None, SNAPSHOT), record("5", *STREAMED))
    excluded = {"target-columns": {"exclude": ["g"]}}
    assert after(withheld, record("6", *STREAMED), **excluded).withheld == ()
    assert after(after(None, SNAPSHOT, **excluded), record("5", *STREAMED), **excluded)


@pytest.mark.parametrize("more", [{"mode": "history"}, {"mode": "append"}, {"key": ["id", "g"]}])
def test_a_column_that_cannot_be_withheld_stops_the_table(more: dict[str, Any]) -> None:
    """SCHEMA-38: the message says what to write into the file."""
    first = after(None, SNAPSHOT, **more)
    with pytest.raises(TableStoppedError, match="column g of shop.items comes with rows of") as why:
        after(first, record("5", *STREAMED), **more)
    assert ("another key" if "key" in more else "exclude: [g]") in str(why.value)
