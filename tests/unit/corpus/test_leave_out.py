"""What updates leave out when they are told to: what did not change, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.corpus.cases import Case, Column, Record, Stage, Table
from tests.corpus.leave_out import PLACEHOLDER, without_unchanged

COLUMNS = (Column("id", "int"), Column("doc", "text"), Column("n", "int"))


def case_of(*records: Record) -> Case:
    stage = Stage("end", len(records), {"d.t": Table(("id",), COLUMNS, ())})
    return Case("folder/case", "json", records, (stage,), {"p": 1})


def debezium(op: str, key: int, doc: str | None, former: int | None = None) -> Record:
    image = {"id": key, "doc": doc, "n": 1}
    value = {
        "op": op,
        "before": image if op == "d" else None,
        "after": None if op == "d" else image,
        "source": {"connector": "mysql", "db": "d", "table": "t", "file": "b.1", "pos": 4},
    }
    told = () if former is None else (("__debezium.oldkey", b'{"id": %d}' % former),)
    return Record("p", 0, json.dumps({"id": key}).encode(), json.dumps(value).encode(), told)


def docs(*records: Record) -> list[Any]:
    sent = without_unchanged(case_of(*records)).records
    values = [json.loads(record.value or b"{}") for record in sent]
    return [(value["after"] or {}).get("doc") for value in values]


def test_texts_of_debezium_that_are_as_they_were() -> None:
    """UNAV-1, UNAV-6"""
    first, moved = debezium("c", 1, "a"), debezium("c", 2, "a", former=1)
    assert docs(first, debezium("u", 1, "a")) == ["a", PLACEHOLDER]
    assert docs(first, debezium("u", 1, "b"), debezium("u", 1, None)) == ["a", "b", None]
    assert docs(first, debezium("d", 1, "a"), moved) == ["a", None, PLACEHOLDER]
    assert docs(first, debezium("d", 1, "a"), debezium("c", 1, "a")) == ["a", None, "a"]
    assert docs(debezium("u", 1, "a")) == ["a"], "nobody could tell it"


@pytest.mark.parametrize(
    ("old", "sent"),
    [
        pytest.param({"n": "1"}, {"id": "1", "n": "2"}, id="Canal: only what changed"),
        pytest.param({"id": "1", "doc": "a", "n": "1"}, {"id": "1", "n": "2"}, id="TiCDC: all"),
        pytest.param({"id": "9", "n": "2"}, {"id": "1"}, id="the key stays"),
    ],
)
def test_columns_of_canal_that_are_as_they_were(
    old: Mapping[str, str], sent: Mapping[str, str]
) -> None:
    """UNAV-4, MSG-42"""
    row = {"id": "1", "doc": "a", "n": "2"}
    value = {"id": 7, "database": "d", "table": "t", "isDdl": False, "pkNames": ["id"]}
    value |= {"type": "UPDATE", "data": [row], "old": [old]}
    (record,) = without_unchanged(case_of(Record("p", 0, None, json.dumps(value).encode()))).records
    assert json.loads(record.value or b"")["data"] == [sent]
