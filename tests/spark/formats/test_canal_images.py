"""Rows of Canal-JSON records as changes of keys, against a reading of the records in Python."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidemark.fold.latest import latest_events
from tidemark.formats.canal_json.images import canal_changes, canal_image, canal_unavailable
from tidemark.formats.contradictions import contradicts
from tidemark.formats.record_schema import RecordSchema, canal_record_schema
from tidemark.formats.rows import RowImage, typed_rows
from tidemark.model.column_rename import ColumnRename
from tidemark.model.columns import (
    CONVERSION_ERROR,
    UNAVAILABLE,
    SourceColumn,
    TableSchema,
    ValueEncoding,
)
from tidemark.model.names import ColumnName
from tidemark.model.position import Position

SCHEMA = TableSchema(
    (
        SourceColumn(ColumnName("a"), "int", ValueEncoding.INTEGER, "int"),
        SourceColumn(ColumnName("b`b"), "string", ValueEncoding.TEXT, "varchar(9)"),
        SourceColumn(ColumnName("name"), "string", ValueEncoding.TEXT, "varchar(99)"),
        SourceColumn(ColumnName("note"), "string", ValueEncoding.TEXT, "text"),
    ),
    (ColumnName("a"), ColumnName("b`b")),
)
Message = Mapping[str, Any]
Key = tuple[int, str]


def at(offset: int) -> Position:
    return Position(f"0001{offset:016X}")


def message(kind: str, rows: Sequence[Mapping[str, Any]], old: Any = None) -> Message:
    return {"type": kind, "isDdl": False, "data": rows, "old": old}


def row(a: Any, b: str = "x", **columns: Any) -> dict[str, Any]:
    return {"a": a, "b`b": b, **columns}


def folded(
    spark: SparkSession, messages: Sequence[Message], column_renames: Sequence[ColumnRename] = ()
) -> tuple[int, dict[Key, Any]]:
    """How many changes ``messages`` hold, and what the newest of each key says.

    That is its op, name and note, and the columns that were misread and left out.
    """
    events = spark.createDataFrame(
        [
            (0, at(n), "D" if m["type"] == "DELETE" else "U", bytearray(json.dumps(m).encode()))
            for n, m in enumerate(messages)
        ],
        "partition INT, position STRING, op STRING, value BINARY",
    ).withColumn("commit_time", F.current_timestamp())
    schema = replace(SCHEMA, column_renames=tuple(column_renames))
    changes = canal_changes(events, schema, key_from_images=False)
    told = RowImage(canal_image(schema), canal_unavailable(schema), contradicts("value"))
    rows = typed_rows(latest_events(changes, "TRUE"), schema, told)
    found = {
        (r["a"], r["b`b"]): (
            r["_tidemark_op"],
            r["name"],
            r["note"],
            r[CONVERSION_ERROR],
            r[UNAVAILABLE],
        )
        for r in rows.collect()
    }
    return changes.count(), found


def expected(messages: Sequence[Message]) -> tuple[int, dict[Key, Any]]:
    """The same, one row after the other."""
    count, newest = 0, {}
    for m in messages:
        for key, op, image in steps(m):
            count += 1
            newest[key] = ("D", None, None) if op == "D" else ("U", image["name"], image["note"])
    return count, newest


def steps(m: Message) -> Iterator[tuple[Key, str, Mapping[str, Any]]]:
    for image, old in zip(m["data"], m["old"] or [{}] * len(m["data"]), strict=True):
        key = (int(image["a"]), image["b`b"])
        before = (int(old.get("a", image["a"])), old.get("b`b", image["b`b"]))
        if m["type"] == "UPDATE" and before != key:
            yield before, "D", image
        yield key, m["type"][0].replace("I", "U"), image


TEXTS = st.sampled_from(
    [None, "", "x", "☕ é", '"]},{', "\\u2615\n'", '{"type":"DELETE","data":[]}']
)


@st.composite
def drawn_messages(draw: st.DrawFn) -> Message:
    """A record whose rows share few keys, so that they meet; the next record may have others."""
    kind = draw(st.sampled_from(["INSERT", "UPDATE", "DELETE"]))
    lowest = draw(st.integers(0, 99))
    pairs = st.tuples(st.integers(lowest, lowest + 2), st.sampled_from(["x", "y"]))
    keys = draw(st.lists(pairs, min_size=1, max_size=4))
    rows = [row(str(a), b, name=draw(TEXTS), note=draw(TEXTS)) for a, b in keys]
    if kind != "UPDATE":
        return message(kind, rows)
    old = []
    for a, b in (draw(pairs) for _ in rows):
        images = [{}, {"name": None}, {"a": str(a)}, row(str(a), b), {"b`b": b, "note": "n"}]
        old.append(draw(st.sampled_from(images)))
    return message(kind, rows, old)


def test_records_of_many_rows_fold_like_their_rows_one_by_one(spark: SparkSession) -> None:
    """MSG-41, MSG-42, KEY-8: whatever their keys were before, and whatever text they hold."""
    history: list[Message] = []

    @settings(
        max_examples=300,
        database=None,
        phases=[Phase.generate],
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(drawn_messages())
    def collect(drawn: Message) -> None:
        history.append(drawn)

    collect()
    count, newest = folded(spark, history)
    wanted_count, wanted = expected(history)
    assert count == wanted_count
    assert newest == {key: (*end, None, None) for key, end in wanted.items()}
    assert len(wanted) > 99


def test_keys_that_move_up_one_after_the_other(spark: SparkSession) -> None:
    """KEY-8: a key that one row leaves and a later row takes is taken."""
    rows = [row(str(a + 1), name=f"was {a}", note="") for a in (3, 2, 1)]
    old = [{"a": str(a)} for a in (3, 2, 1)]
    count, newest = folded(spark, [message("UPDATE", rows, old)])
    assert count == 6
    assert {key[0]: (op, name) for key, (op, name, *_) in newest.items()} == {
        1: ("D", None),
        2: ("U", "was 1"),
        3: ("U", "was 2"),
        4: ("U", "was 3"),
    }


def test_numbers_are_read_like_their_text(spark: SparkSession) -> None:
    """TYPE-33: out of a record of several rows, too."""
    rows = '{"a": 7, "b`b": "x", "name": 12345678901234567890, "note": true}'
    value = f'{{"type": "UPDATE", "data": [{rows}, {{"a": 8, "b`b": "x"}}], "old": [null, {{}}]}}'
    events = spark.createDataFrame(
        [(0, at(0), "U", bytearray(value.encode()))],
        "partition INT, position STRING, op STRING, value BINARY",
    )
    changes = canal_changes(events, SCHEMA, key_from_images=False).where("row_key.a = 7")
    (image,) = changes.select(canal_image(SCHEMA).alias("image")).collect()
    assert tuple(image["image"]) == ("7", "x", "12345678901234567890", "true")


FULL, PARTIAL = row("1", name="n", note=None), row("1", name="n")
OLD = row("1", name="n", remark="r")
NOTE = ColumnName("note")


def joined(offset: int) -> ColumnRename:
    return ColumnRename(at(offset), added=(NOTE,))


def renamed(offset: int) -> ColumnRename:
    return ColumnRename(at(offset), renamed=((ColumnName("remark"), NOTE),))


@pytest.mark.parametrize(
    ("messages", "column_renames", "unavailable"),
    [
        pytest.param([message("UPDATE", [FULL], [{}])], [], None, id="a null that was sent"),
        pytest.param([message("UPDATE", [PARTIAL], [{}])], [], ["note"], id="left out"),
        pytest.param(
            [message("UPDATE", [row("1")], [{"name": "n"}])],
            [],
            ["name", "note"],
            id="the old image is none",
        ),
        pytest.param([message("INSERT", [PARTIAL])], [], None, id="of an insert"),
        pytest.param([message("DELETE", [row("1")])], [], None, id="of a delete"),
        pytest.param(
            [message("UPDATE", [row("2", name="n", note="n"), PARTIAL], [{}, {}])],
            [],
            ["note"],
            id="in the second row",
        ),
        pytest.param([message("UPDATE", [PARTIAL])], [joined(1)], None, id="it joined later"),
        pytest.param(
            [message("INSERT", [FULL]), message("UPDATE", [PARTIAL])],
            [joined(0)],
            ["note"],
            id="it had joined",
        ),
        pytest.param([message("UPDATE", [OLD])], [renamed(0)], None, id="under its old name"),
        pytest.param(
            [message("INSERT", [FULL]), message("UPDATE", [OLD])],
            [renamed(0)],
            ["note"],
            id="under its old name after it took the new one",
        ),
        pytest.param(
            [message("UPDATE", [PARTIAL]), message("UPDATE", [FULL])], [], None, id="whole again"
        ),
    ],
)
def test_columns_that_a_record_leaves_out(
    spark: SparkSession,
    messages: Sequence[Message],
    column_renames: Sequence[ColumnRename],
    unavailable: list[str] | None,
) -> None:
    """UNAV-4: unknown in an update, null in an insert."""
    _, newest = folded(spark, messages, column_renames)
    assert newest[1, "x"][-1] == unavailable


def test_a_record_tells_columns_types_and_key() -> None:
    """TYPE-30, UNAV-4: in the order of the row; those that it leaves out come last."""
    value = {
        "data": [{"b": "1", "a": "2"}, {"c": "3"}],
        "mysqlType": {"a": "INT", "c": "bit(8)", "b": "varchar(9)"},
        "pkNames": ["b"],
    }
    told = canal_record_schema(None, json.dumps(value).encode())
    types = {"b": "varchar(9)", "a": "INT", "c": "bit(8)"}
    assert told == RecordSchema(types=types, key=("b",))
    assert list(told.types) == list(types)
    assert canal_record_schema(None, b'{"data": [{"a": "1"}], "pkNames": null}') == RecordSchema()
