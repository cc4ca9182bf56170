"""What values lose before they are records, by type and setting (TYPE-3)."""

from __future__ import annotations

from typing import Any

import pytest

from tidemark.model.columns import SourceColumn
from tidemark.schema.losses import loss_of
from tidemark.schema.postgres_types import postgres_column, postgres_record_columns
from tidemark.schema.source_types import canal_column, debezium_column
from tidemark.spec import SourceSpec


def source(written: str, modes: dict[str, str], **options: Any) -> SourceSpec:
    topics = {"data": ["items"]}
    given = {"modes": modes} if modes else {}
    content = {"format": written, "gate": "none", "topics": topics, **given, **options}
    return SourceSpec.model_validate(content)


def column(kind: str, by: SourceSpec) -> SourceColumn:
    """A column as it is read without a record schema."""
    if by.format.is_canal:
        return canal_column("c", kind, None, by.zone)
    if by.format == "debezium-postgres":
        return postgres_column("c", kind, by.modes.postgres)
    return debezium_column("c", kind, by.modes.connector)


@pytest.mark.parametrize(
    ("written", "modes", "kind", "lost"),
    [
        ("debezium-mysql", {}, "decimal(20,4)", None),
        ("debezium-mysql", {"decimal": "string"}, "decimal(20,4)", None),
        ("debezium-mysql", {"decimal": "double"}, "decimal(20,4)", "digits beyond the 15 of a do"),
        ("debezium-mysql", {"decimal": "double"}, "double", None),
        ("debezium-mariadb", {"time": "connect"}, "datetime(6)", "microseconds"),
        ("debezium-mysql", {"time": "connect"}, "time(4)", "microseconds"),
        ("debezium-mysql", {"time": "connect"}, "datetime(3)", None),
        ("debezium-mysql", {"time": "connect"}, "date", None),
        ("debezium-mysql", {"time": "adaptive"}, "time(6)", None),
        ("debezium-mysql", {"time": "isostring"}, "time", "times outside of a day"),
        ("debezium-mysql", {"time": "isostring"}, "datetime", None),
        ("debezium-mysql", {"bigint-unsigned": "long"}, "bigint unsigned", None),
        ("debezium-postgres", {"decimal": "double"}, "numeric(9,2)[]", "digits beyond the 15"),
        ("debezium-postgres", {"decimal": "double"}, "money", "digits beyond the 15 of a double"),
        ("debezium-postgres", {"time": "connect"}, "timestamp without time zone", "microseconds"),
        ("debezium-postgres", {"time": "connect"}, "timestamp(3) without time zone", None),
        ("debezium-postgres", {"time": "connect"}, "timestamp with time zone", None),
        ("debezium-postgres", {}, "timestamp without time zone", None),
        ("debezium-postgres", {}, "interval", "months, which count as 30.4375 days"),
        ("debezium-postgres", {"interval": "string"}, "interval", None),
        ("debezium-postgres", {}, "bit varying(8)", "its length"),
        ("debezium-postgres", {}, "bit(8)", None),
        ("ticdc-canal-json", {}, "enum", "labels"),
        ("ticdc-canal-json", {}, "timestamp", "its zone"),
        ("ticdc-canal-json", {}, "binary(4)", None),
        ("ticdc-canal-json", {}, "decimal(20,4)", None),
        ("canal-json", {}, "binary(4)", "zero bytes at the end"),
        ("canal-json", {}, "datetime", None),
    ],
)
def test_what_is_lost(written: str, modes: dict[str, str], kind: str, lost: str | None) -> None:
    """TYPE-3: said where there is something, and nowhere else."""
    by = source(written, modes)
    found = loss_of(column(kind, by), by)
    assert (found or "").startswith(lost or "")
    assert (found is None) == (lost is None)


@pytest.mark.parametrize(
    ("kind", "is_nulled"),
    [
        *((f"{kind}[]", False) for kind in ("text", "varchar(9)", "char(3)", "json", "jsonb")),
        *((f"{kind}[]", False) for kind in ("bytea", "date", "int4", "int8", "uuid")),
        *((f"{kind}[]", True) for kind in ("numeric(9,2)", "numeric", "timestamp", "time")),
        *((f"{kind}[]", True) for kind in ("timestamptz", "real", "double precision", "smallint")),
        *((f"{kind}[]", True) for kind in ("boolean", "inet", "shop.mood")),
        *((kind, True) for kind in ("bit varying", "public.geometry(Point,4326)", "geography")),
        *((kind, True) for kind in ("bit varying(81)", "bit(2000)", "path", "polygon")),
        *((kind, False) for kind in ("bit(80)", "box")),
        *((kind, False) for kind in ("bit varying(9)", "point", "text", "bytea", "numeric(9,2)")),
    ],
)
def test_large_values_without_a_placeholder_are_named(kind: str, is_nulled: bool) -> None:
    """UNAV-1, UNAV-11, TYPE-3: what Debezium 3.5 sends as null for a value that did not change."""
    by = source("debezium-postgres", {})
    known = loss_of(column(kind, by), by)
    assert ("REPLICA IDENTITY FULL" in (known or "")) == is_nulled


@pytest.mark.parametrize(
    ("item", "is_nulled"),
    [
        ({"type": "string"}, False),
        ({"type": "bytes"}, False),
        ({"type": "int32", "name": "io.debezium.time.Date"}, False),
        ({"type": "string", "name": "io.debezium.data.Uuid"}, False),
        ({"type": "int32"}, False),
        ({"type": "int16"}, True),
        ({"type": "double"}, True),
        ({"type": "boolean"}, True),
        ({"type": "string", "name": "io.debezium.data.Enum"}, True),
        ({"type": "string", "name": "io.debezium.time.ZonedTimestamp"}, True),
        ({"type": "int64", "name": "io.debezium.time.MicroTimestamp"}, True),
        ({"type": "struct", "name": "io.debezium.data.VariableScaleDecimal"}, True),
    ],
)
def test_arrays_without_a_placeholder_by_their_records(
    item: dict[str, Any], is_nulled: bool
) -> None:
    """UNAV-1, TYPE-3."""
    by = source("debezium-postgres", {})
    fields = [{"field": "c", "type": "array", "items": item}]
    (known,) = postgres_record_columns(fields, by.modes.postgres)
    assert ("REPLICA IDENTITY FULL" in (loss_of(known, by) or "")) == is_nulled


def test_hashes_of_large_values_are_named() -> None:
    """UNAV-2: the hash of a placeholder looks like any other."""
    by = source("debezium-postgres", {})
    field = {"field": "c", "type": "string", "parameters": {"masked": "true"}}
    (masked,) = postgres_record_columns([field], by.modes.postgres)
    assert "column.mask.hash" in (loss_of(masked, by) or "")
    short = {**field, "name": "io.debezium.data.Uuid"}
    (masked,) = postgres_record_columns([short], by.modes.postgres)
    assert loss_of(masked, by) is None


def test_a_declared_zone_leaves_nothing_open() -> None:
    """TYPE-3, and as `configure.md` says of `source.zone`."""
    by = source("ticdc-canal-json", {}, zone="UTC")
    assert loss_of(column("timestamp", by), by) is None
