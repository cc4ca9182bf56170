"""Columns that change without a statement: what records alone tell, and what stops a table."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tidemark.errors import RowsUnknownError, TableStoppedError
from tidemark.formats.record_schema import RecordSchema
from tidemark.model.columns import SourceColumn, TableSchema
from tidemark.model.position import OFFSET_DIGITS, Place, Position
from tidemark.runs.columns.rounded import refuse_rounded
from tidemark.runs.columns.schemas import resolve
from tidemark.runs.ddl.effects import DdlEffects
from tidemark.schema.changes import describe, plan_changes
from tidemark.spec import SourceSpec, TableSpec
from tidemark.spec.modes import ModesSpec

POSTGRES = SourceSpec.model_validate(
    {"format": "debezium-postgres", "gate": "none", "topics": {"data": ["t"]}}
)
SPEC = TableSpec.model_validate({"source": "shop.items", "expectations": "none"})
TIME, DECIMAL = "io.debezium.time.", "org.apache.kafka.connect.data.Decimal"


def numeric(precision: int | None, scale: int = 2) -> dict[str, Any]:
    """precision: None where the record does not tell it."""
    told = {} if precision is None else {"connect.decimal.precision": str(precision)}
    return {"type": "bytes", "name": DECIMAL, "parameters": {"scale": str(scale), **told}}


def source(kind: str, base: str, *sizes: int) -> dict[str, Any]:
    """With the source's own type, which the connector was told to propagate."""
    own = {"type": base, **dict(zip(("length", "scale"), map(str, sizes), strict=False))}
    told = {f"__debezium.source.column.{part}": text for part, text in own.items()}
    return {"type": kind, "parameters": told}


TYPES: dict[str, dict[str, Any]] = {
    "boolean": {"type": "boolean"},
    "bytea": {"type": "bytes"},
    "int": {"type": "int32"},
    "bigint": {"type": "int64"},
    "real": {"type": "float"},
    "double": {"type": "double"},
    "text": {"type": "string"},
    "truncated": {"type": "string", "parameters": {"truncateLength": "10"}},
    "date": {"type": "int32", "name": f"{TIME}Date"},
    "timestamp(6)": {"type": "int64", "name": f"{TIME}MicroTimestamp"},
    "timestamp(3)": {"type": "int64", "name": f"{TIME}Timestamp"},
    "time(6)": {"type": "int64", "name": f"{TIME}MicroTime"},
    "time(3)": {"type": "int32", "name": f"{TIME}Time"},
    "iso time": {"type": "string", "name": f"{TIME}IsoTime"},
    "interval": {"type": "int64", "name": f"{TIME}MicroDuration"},
    "iso interval": {"type": "string", "name": f"{TIME}Interval"},
    "numeric": {"type": "struct", "name": "io.debezium.data.VariableScaleDecimal"},
    "numeric(5,2)": numeric(5),
    "numeric(12,2)": numeric(12),
    "numeric(38,2)": numeric(38),
    "numeric(64,2)": numeric(64),
    "numeric(?,2)": numeric(None),
    "numeric(12,4)": numeric(12, 4),
    "numeric(50,2)": numeric(50),
    "numeric(50,4)": numeric(50, 4),
    "text of numeric(5,2)": source("string", "NUMERIC", 5, 2),
    "text of numeric(12,2)": source("string", "NUMERIC", 12, 2),
    **{
        f"{kind}[]": {"type": "array", "items": told}
        for kind, told in {
            "numeric(5,2)": numeric(5),
            "numeric(12,2)": numeric(12),
            "bytea": {"type": "bytes"},
            "text": {"type": "string"},
            "int": {"type": "int32"},
            "bigint": {"type": "int64"},
            "real": {"type": "float"},
            "double": {"type": "double"},
        }.items()
    },
}


def told(position: str, **columns: str) -> RecordSchema:
    """A record with ``id`` and ``columns``, a ``?`` behind a type for one that may be null."""
    fields = [
        {"field": name, "optional": kind.endswith("?"), **TYPES[kind.removesuffix("?")]}
        for name, kind in {"id": "int", **columns}.items()
    ]
    told = RecordSchema(fields=fields, key=("id",), position=Position(position))
    return replace(told, schema_id=int(position))


def schema(have: TableSchema | None, *records: RecordSchema, spec: TableSpec = SPEC) -> TableSchema:
    return resolve(POSTGRES, spec, have, DdlEffects(), records)


def encodings(column: SourceColumn) -> dict[int, str]:
    """Schema of a record -> its own variant of ``column``."""
    return {schema: variant.encoding.value for ids, variant in column.by_schema for schema in ids}


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
        *(
            pytest.param(
                {"a": f"{variant}numeric(5,2){array}"}, {"a": f"{variant}{more}{array}"}, told
            )
            for variant, more, array, told in (
                ("", "numeric(12,2)", "", ["widen a decimal(5,2) to decimal(12,2)"]),
                ("", "numeric(38,2)", "", ["widen a decimal(5,2) to decimal(38,2)"]),
                ("", "numeric(?,2)", "", []),
                ("", "numeric(5,2)", "", []),
                ("text of ", "numeric(12,2)", "", ["widen a decimal(5,2) to decimal(12,2)"]),
                (
                    *("", "numeric(12,2)", "[]"),
                    ["widen a array<decimal(5,2)> to array<decimal(12,2)>"],
                ),
            )
        ),
        pytest.param({"a": "numeric(12,2)"}, {"a": "numeric(5,2)"}, [], id="fewer digits"),
        pytest.param({"a": "numeric(50,2)"}, {"a": "numeric(12,2)"}, [], id="text takes fewer"),
        pytest.param({"a": "numeric(12,2)[]"}, {"a": "numeric(5,2)[]"}, [], id="fewer in arrays"),
        pytest.param(
            {"a": "int[]"}, {"a": "bigint[]"}, ["widen a array<int> to array<bigint>"], id="ints"
        ),
        pytest.param(
            *({"a": "real[]"}, {"a": "double[]"}, ["widen a array<float> to array<double>"]),
            id="floats",
        ),
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


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        ("int", "text", "int to string"),
        ("int", "double", "int to double"),
        ("int", "numeric(5,2)", "int to decimal(5,2)"),
        ("bigint", "numeric(12,4)", "bigint to decimal(12,4)"),
        ("numeric(5,2)", "numeric(12,4)", "decimal(5,2) to decimal(12,4)"),
        ("numeric(5,2)", "numeric(50,2)", "decimal(5,2) to string"),
        ("numeric(5,2)", "numeric", "decimal(5,2) to string"),
        ("date", "timestamp(6)", "date to timestamp_ntz"),
    ],
)
def test_rows_are_written_anew_where_iceberg_does_not_promote(
    before: str, after: str, kinds: str
) -> None:
    """SCHEMA-13: PostgreSQL refuses an ALTER TABLE with a value that does not fit."""
    old, new = told("1", a=before), told("2", a=after)
    have = schema(None, old)
    want = schema(have, old, new)
    assert [describe(change) for change in plan_changes(have, want)] == [f"rewrite a {kinds}"]
    assert encodings(want["a"]).get(1, want["a"].encoding.value) == have["a"].encoding.value
    again = schema(want, old)
    assert again == want
    assert plan_changes(want, again) == ()
    fresh = schema(None, old, new)["a"]
    assert fresh.iceberg == want["a"].iceberg
    assert encodings(fresh) == encodings(want["a"])


def placed(record: RecordSchema, place: str) -> RecordSchema:
    """``record``, with all its events at one place."""
    at = Place(place)
    return replace(record, position=Position(place + "0" * OFFSET_DIGITS), begins_at=at)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [("double", "real"), ("timestamp(6)", "timestamp(3)"), ("time(6)", "time(3)")],
)
def test_a_type_into_which_the_source_rounds_stops_the_table(wide: str, narrow: str) -> None:
    """SCHEMA-16: also amid a cut; a copy of what came before shows nothing."""
    older, newer = placed(told("1", a=wide), "1" * 20), placed(told("2", a=narrow), "2" * 20)
    have, nowhere = schema(None, older), Place("")
    with pytest.raises(RowsUnknownError, match="may have rounded the rows"):
        refuse_rounded(POSTGRES, SPEC, have, [newer], nowhere)
    with pytest.raises(RowsUnknownError, match="may have rounded the rows"):
        refuse_rounded(POSTGRES, SPEC, None, [older, newer], nowhere)
    refuse_rounded(POSTGRES, SPEC, have, [newer], Place("2" * 20))
    again = schema(None, newer)
    refuse_rounded(POSTGRES, SPEC, again, [older, newer], Place("1" * 20))
    refuse_rounded(POSTGRES, SPEC, have, [replace(newer, has_rows=False)], nowhere)
    wider = [placed(newer, "1" * 20), placed(older, "2" * 20)]
    refuse_rounded(POSTGRES, SPEC, schema(None, newer), wider, nowhere)
    stated = POSTGRES.topics.model_copy(update={"schema_changes": ("ddl",)})
    refuse_rounded(POSTGRES.model_copy(update={"topics": stated}), SPEC, have, [newer], nowhere)


@pytest.mark.parametrize("declared", ["double precision", "float"])
def test_a_declared_type_is_none_that_the_source_had(declared: str) -> None:
    """SCHEMA-16: with a column of ``real``, which the file calls ``double precision``."""
    spec = SPEC.model_copy(update={"columns": {"a": declared}})
    first, second = placed(told("1", a="real"), "1" * 20), placed(told("2", a="real"), "2" * 20)
    have = resolve(POSTGRES, spec, None, DdlEffects(), [first])
    assert have["a"].encoding.value == "double"
    refuse_rounded(POSTGRES, spec, have, [second], Place("1" * 20))
    wider = placed(told("1", a="double"), "1" * 20)
    with pytest.raises(RowsUnknownError, match="may have rounded the rows"):
        refuse_rounded(POSTGRES, spec, have, [wider, second], Place(""))


@pytest.mark.parametrize("mode", ["connect", "microseconds"])
def test_a_form_of_times_that_a_setting_gives_is_none_of_another_type(mode: str) -> None:
    """SCHEMA-4, SCHEMA-16."""
    by_setting = POSTGRES.model_copy(update={"modes": ModesSpec.model_validate({"time": mode})})
    newer = placed(told("2", a="timestamp(3)"), "2" * 20)
    have = schema(None, told("1", a="timestamp(6)"))
    refuse_rounded(by_setting, SPEC, have, [newer], Place(""))


TWO_FORMS = [
    ("timestamp(6)", "timestamp(3)", "timestamp-micros", "timestamp-millis"),
    ("time(3)", "time(6)", "time-millis", "time-micros"),
    ("time(6)", "iso time", "time-micros", "time-text"),
    ("real", "double", "float", "double"),
]


@pytest.mark.parametrize(("before", "after", "older", "newer"), TWO_FORMS)
def test_each_schema_of_a_cut_has_its_own_form(
    before: str, after: str, older: str, newer: str
) -> None:
    """SCHEMA-4: whatever the order, and also that of deletes."""
    published_place, told_after = told("1", a=before), told("2", a=after)
    column = schema(None, published_place, told_after)["a"]
    assert (column.encoding.value, encodings(column)) == (newer, {1: older})
    late = replace(told("3", a=before), has_rows=False)
    column = schema(None, told_after, late)["a"]
    assert (column.encoding.value, encodings(column)) == (newer, {3: older})
    assert SourceColumn.from_json(json.loads(json.dumps(column.to_json()))) == column


@pytest.mark.parametrize(("before", "after", "older", "newer"), TWO_FORMS[:-1])
def test_a_form_that_comes_later_is_that_of_its_schemas_alone(
    before: str, after: str, older: str, newer: str
) -> None:
    """SCHEMA-4: what the changelog holds from before stays readable."""
    have = schema(None, told("1", a=before))
    want = schema(have, told("2", a=after))
    assert (want["a"].encoding.value, encodings(want["a"])) == (older, {2: newer})
    assert plan_changes(have, want) == ()
    back = schema(want, told("3", a=before), told("4", a=after))
    assert (back["a"].encoding.value, encodings(back["a"])) == (older, {2: newer, 4: newer})
    assert schema(back, told("5", a=before))["a"] == back["a"]


def test_texts_of_numbers_keep_the_scale_of_their_own_schema() -> None:
    """TYPE-4: they are text in the target, so that nothing else stops them."""
    column = schema(None, told("1", a="numeric(50,2)"), told("2", a="numeric(50,4)"))["a"]
    ((ids, variant),) = column.by_schema
    assert (column.iceberg, column.digits, ids, variant.digits) == ("string", 4, (1,), 2)


def test_a_form_of_another_type_stops_the_table_with_a_way_out() -> None:
    """SCHEMA-4, SCHEMA-1: interval.handling.mode."""
    both = told("1", a="interval"), told("2", a="iso interval")
    for have, records in ((schema(None, both[0]), both[1:]), (None, both)):
        with pytest.raises(TableStoppedError, match="a changed from .* cannot promote") as stopped:
            schema(have, *records)
        way_out = "declare a: text in columns: of shop.items, give the table another target"
        assert way_out in str(stopped.value)
    declared = SPEC.model_copy(update={"columns": {"a": "text"}})
    assert schema(None, *both, spec=declared)["a"].iceberg == "string"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("text", "int"),
        ("bigint", "text"),
        ("numeric(12,4)", "numeric(5,2)"),
        ("numeric(5,2)[]", "numeric(12,2)"),
        ("numeric(5,2)", "text"),
        ("numeric(5,2)", "double"),
        ("numeric(5,2)", "real"),
        ("bytea", "text"),
        ("bytea[]", "text[]"),
        ("boolean", "int"),
        ("int", "boolean"),
    ],
)
def test_another_type_stops_the_table(before: str, after: str) -> None:
    """SCHEMA-16: no row of it is quarantined for a type that its column no longer has."""
    have = schema(None, told("1", a=before))
    with pytest.raises(TableStoppedError, match=r"a changed from .* which Iceberg cannot"):
        schema(have, told("2", a=after))
    with pytest.raises(TableStoppedError, match=r"a changed from .* which Iceberg cannot"):
        schema(None, told("1", a=before), told("2", a=after))


@pytest.mark.parametrize(
    ("modes", "before", "after", "encoding"),
    [
        ({"decimal": "string"}, "numeric(5,2)", "text", "decimal-text"),
        ({"decimal": "double"}, "numeric(5,2)", "double", "decimal-text"),
        ({"binary": "hex"}, "bytea", "text", "hex"),
        ({"binary": "base64-url-safe"}, "bytea", "text", "base64-url"),
    ],
)
def test_a_connector_that_is_told_to_write_in_another_way(
    modes: dict[str, str], before: str, after: str, encoding: str
) -> None:
    """SCHEMA-4: the file says so too, else it might be another type of the source."""
    have = schema(None, told("1", a=before))
    says_so = POSTGRES.model_copy(update={"modes": ModesSpec.model_validate(modes)})
    want = resolve(says_so, SPEC, have, DdlEffects(), [told("2", a=after)])
    assert (want["a"].iceberg, encodings(want["a"])) == (have["a"].iceberg, {2: encoding})
    with pytest.raises(TableStoppedError, match=r"source\.modes"):
        schema(have, told("2", a=after))


@pytest.mark.parametrize("declared", [{}, {"a": "text"}])
def test_a_text_that_a_connector_begins_to_truncate(declared: dict[str, str]) -> None:
    """UNAV-2, SCHEMA-4: the placeholder is truncated too, in records of that schema alone."""
    spec = SPEC.model_copy(update={"columns": declared})
    have = schema(None, told("1", a="text"), spec=spec)
    want = schema(have, told("2", a="truncated"), spec=spec)
    ((ids, variant),) = want["a"].by_schema
    assert (want["a"].most_chars, ids, variant.most_chars) == (0, (2,), 10)
    fresh = schema(None, told("2", a="truncated"), spec=spec)["a"]
    assert (fresh.most_chars, fresh.by_schema) == (10, ())


def test_what_no_record_tells_stays() -> None:
    """SCHEMA-13: Avro's converters write 64 digits where a record's schema tells none."""
    have = schema(None, told("1", a="numeric(5,2)"))
    assert schema(have, told("2", a="numeric(64,2)"))["a"].iceberg == "decimal(5,2)"


def test_a_person_declares_fewer_digits_than_records_tell() -> None:
    """SCHEMA-1: what does not fit is told as misread."""
    declared = SPEC.model_copy(update={"columns": {"a": "numeric(5,2)"}})
    have = schema(None, told("1", a="numeric(5,2)"), spec=declared)
    assert schema(have, told("2", a="numeric(12,2)"), spec=declared)["a"].iceberg == "decimal(5,2)"
