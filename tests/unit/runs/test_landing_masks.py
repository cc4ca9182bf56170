"""MASK-1: which records of a landing are kept without what, and which are refused."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest
from pydantic import ValidationError

from tidemark.errors import PreflightError
from tidemark.lake.landing import SCHEMA
from tidemark.model.names import TableName
from tidemark.model.renames import Rename
from tidemark.runs.landing.masks import LandingMasks, masks_by_table
from tidemark.runs.preview import masked_note
from tidemark.spec import PipelineSpec

PEOPLE = ("shop", "people")
KEY, ROW = b'{"id":1}', b'{"after":{"id":1,"email":"jane"}}'


def pipeline(source: dict[str, Any] | None = None, **table: Any) -> PipelineSpec:
    people: dict[str, Any] = {"source": "shop.people", "expectations": "none"}
    people |= {"target-columns": {"hash": ["email"]}, **table}
    others = {"source": "shop.others", "expectations": "none"}
    read = {"format": "debezium-mysql", "gate": "none", "topics": {"data": ["shop"]}}
    return PipelineSpec.model_validate(
        {
            "name": "shop",
            "description": "a test",
            "owner": "tests",
            "schedule": None,
            "source": read | (source or {}),
            "changelog": {"payload": "masked"},
            "tables": [people, others],
        }
    )


def masks(source: dict[str, Any] | None = None, **table: Any) -> LandingMasks:
    return LandingMasks.of_tables(pipeline(source, **table), ())


def test_the_columns_that_are_hidden() -> None:
    """So that of all others, and of tables without rules, no text is taken for a mask."""
    assert masks().hidden == {("shop.people", "email")}
    rules = {"exclude": ["Pw"], "redact": ["note"]}
    assert masks(**{"target-columns": rules}).hidden == {
        ("shop.people", "pw"),
        ("shop.people", "note"),
    }
    assert masks(**{"target-columns": {"include": ["id"]}}).hidden == {("shop.people", "*")}


def test_rows_of_the_table_alone() -> None:
    key, value = masks().masked("row", PEOPLE, KEY, ROW)
    assert key == KEY
    assert value is not None
    assert b"jane" not in value
    assert masks().masked("row", ("shop", "others"), KEY, ROW) == (KEY, ROW)
    assert masks().masked("tombstone", (None, None), KEY, None) == (KEY, None)
    assert masks().masked("control", (None, None), None, b"{}") == (None, b"{}")


def test_what_cannot_be_read_leaves_hashes() -> None:
    kept = masks().masked("unreadable", (None, None), KEY, b"jane")
    assert all(part is not None and b"sha256:payload:" in part for part in kept)
    _, value = masks().masked("row", PEOPLE, KEY, b'{"after":["jane"]}')
    assert value is not None
    assert b"sha256:payload:" in value


@pytest.mark.parametrize(
    ("key", "why"),
    [(None, "have no key"), (b'{"email":"jane"}', "have email in their keys")],
)
def test_records_whose_key_would_go_are_refused(key: bytes | None, why: str) -> None:
    """And leave nothing in a file that is thrown away with the landing."""
    read = masks()
    kept = read.masked("row", PEOPLE, key, ROW)
    assert all(part is None or b"sha256:payload:" in part for part in kept)
    task = pickle.loads(pickle.dumps(read))  # noqa: S301  as Spark does
    whole = masks()
    whole.findings.add(task.findings)
    for found in (read, whole):
        refusal = found.refusal()
        assert isinstance(refusal, PreflightError)
        assert f"records of shop.people {why}" in str(refusal)


def test_a_declared_key_is_in_the_row() -> None:
    _, value = masks(key=["id"]).masked("row", PEOPLE, None, ROW)
    assert value is not None
    assert b"jane" not in value


def test_types_of_masked_columns_are_not_told_by_values() -> None:
    """SCHEMA-1."""
    source = {"untyped": "infer"}
    with pytest.raises(ValidationError) as refused:
        pipeline(source)
    at = [fault["loc"] for fault in refused.value.errors()]
    assert at == [("tables", 0, "target-columns", "hash", 0)]
    pipeline(source, columns={"email": "varchar(80)"})


def test_a_declared_key_has_no_masked_column() -> None:
    with pytest.raises(ValidationError) as refused:
        pipeline(key=["id", "email"])
    assert [fault["loc"] for fault in refused.value.errors()] == [("tables", 0, "key", 1)]


def test_former_names_of_a_table() -> None:
    """SCHEMA-31."""
    names = [TableName("shop", name) for name in ("first", "second", "people", "others")]
    first, second, people, others = names
    renames = [Rename(first, second), Rename(second, people), Rename(others, people)]
    by_table = masks_by_table(pipeline(), renames, {})
    assert set(by_table) == {(name.schema, name.table) for name in (first, second, people)}


def test_a_rule_for_a_column_that_is_not_there_is_refused() -> None:
    read = masks(**{"target-columns": {"hash": ["mail"]}})
    read.masked("row", PEOPLE, KEY, ROW)
    assert "records of shop.people have no column mail, for" in str(read.refusal())
    read.masked("row", PEOPLE, KEY, b'{"after":{"id":1,"mail":"jane"}}')
    assert read.refusal() is None
    read = masks(**{"target-columns": {"hash": ["Email"]}})
    _, value = read.masked("row", PEOPLE, KEY, ROW)
    assert value is not None
    assert b"jane" not in value
    assert read.refusal() is None


def test_changes_that_came_as_statements_whatever_table_they_name() -> None:
    """MSG-40."""
    text = b'{"type":"QUERY","isDdl":true,"data":null,"sql":"UPDATE people SET email=\'jane\'"}'
    _, value = masks({"format": "canal-json"}).masked("ddl", ("shop", ""), None, text)
    assert value == b'{"type":"QUERY","isDdl":true,"data":null,"sql":"UPDATE"}'


@pytest.mark.parametrize("name", ["_people_gho", "_people_new", "__people_new", "_people_old"])
def test_shadows_hold_the_rows_of_their_table(name: str) -> None:
    """SCHEMA-32."""
    _, value = masks().masked("row", ("shop", name), KEY, ROW)
    assert value is not None
    assert b"jane" not in value
    assert masks().masked("row", ("other", name), KEY, ROW) == (KEY, ROW)


def test_shadows_by_patterns_of_the_file() -> None:
    """SCHEMA-32: and by no others; PostgreSQL has none."""
    own = masks({"shadow-tables": ["*_copy"]})
    _, value = own.masked("row", ("shop", "people_copy"), KEY, ROW)
    assert value is not None
    assert b"jane" not in value
    for other in (own, masks({"format": "debezium-postgres"})):
        assert other.masked("row", ("shop", "_people_gho"), KEY, ROW) == (KEY, ROW)


def test_tables_that_exchange_names_hide_the_same_columns() -> None:
    """SCHEMA-34."""
    people, others = (
        {"source": f"shop.{new}", "was": f"shop.{old}", "target": old, "expectations": "none"}
        for new, old in (("people", "others"), ("others", "people"))
    )
    document = pipeline().model_dump(mode="json", by_alias=True, exclude_unset=True)
    hides = {"target-columns": {"hash": ["email"]}}
    PipelineSpec.model_validate({**document, "tables": [people | hides, others | hides]})
    with pytest.raises(ValidationError, match="hide the same columns"):
        PipelineSpec.model_validate({**document, "tables": [people | hides, others]})


def test_a_batch_keeps_all_other_columns() -> None:
    rows: list[dict[str, Any]] = [
        {"offset": 1, "kind": "row", "source_schema": "shop", "source_table": "people"},
        {"offset": 2, "kind": "unreadable", "source_schema": None, "source_table": None},
    ]
    payload = {"key": KEY, "value": ROW, "headers": [{"key": "h", "value": b"x"}]}
    (batch,) = pa.Table.from_pylist([row | payload for row in rows], SCHEMA).to_batches()
    kept = masks().masked_batch(batch)
    assert kept.schema == batch.schema
    others = [name for name in batch.schema.names if name not in payload or name == "headers"]
    assert kept.select(others) == batch.select(others)
    assert b"jane" not in b"".join(kept.column("value").to_pylist())


@pytest.mark.parametrize(
    "source",
    [{"avro": {"registry": {"url": "http://registry:8081"}}}, {"compacted": "allow"}],
)
def test_formats_that_cannot_be_masked_are_refused(source: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as refused:
        pipeline(source)
    assert ("changelog", "payload") in [fault["loc"] for fault in refused.value.errors()]


def test_a_plan_names_the_columns() -> None:
    hidden = masked_note(pipeline(**{"target-columns": {"include": ["id", "a"], "hash": ["a"]}}))
    assert hidden.startswith("shop.people: all but id, a, a. Their values are not landed")
    assert "no table has" in masked_note(pipeline(**{"target-columns": {}}))
