"""What Canal-JSON's envelope says of a record, Canal's own and TiCDC's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from tests.support.records import RECORDS
from tidemark.formats.canal_json.envelope import canal_envelope
from tidemark.formats.topic_roles import TopicRoles

ROLES = TopicRoles(frozenset(), frozenset())
AT_OFFSET_7 = "0001" + "0000000000000007"
ROW = {"id": "1", "name": "a"}
MESSAGE: dict[str, Any] = {
    "id": 31,
    "database": "shop",
    "table": "items",
    "pkNames": ["id"],
    "isDdl": False,
    "type": "INSERT",
    "es": 1_700_000_000_123,
    "ts": 1_700_000_000_450,
    "sql": "",
    "sqlType": {"id": 4, "name": 12},
    "mysqlType": {"id": "int(11)", "name": "varchar(20)"},
    "data": [ROW],
    "old": None,
    "gtid": "",
}
STATEMENT = {"data": None, "mysqlType": None, "sqlType": None, "pkNames": None}
TRUNCATE = {**STATEMENT, "isDdl": True, "type": "TRUNCATE", "sql": "TRUNCATE TABLE items"}


def read(spark: SparkSession, *messages: Any, by_commit: bool = False) -> list[Row]:
    """``messages`` and their envelopes, in their order; every record stands at offset 7."""
    values = [
        m if isinstance(m, bytes) else json.dumps({**MESSAGE, **m}).encode() for m in messages
    ]
    records = spark.createDataFrame(
        [("t", n, 7, None, None, None, bytearray(value)) for n, value in enumerate(values)],
        RECORDS,
    )
    rows = canal_envelope(records, ROLES, by_commit=by_commit).orderBy("partition").collect()
    assert [row["value"] for row in rows] == values
    return rows


def test_rows_stand_at_their_offset_however_many_there_are(spark: SparkSession) -> None:
    """MSG-41, POS-11: one event a record, and one position for all its rows."""
    rows = read(
        spark,
        {},
        {"data": [ROW] * 9},
        {"type": "UPDATE", "data": [ROW] * 2, "old": [{"name": None}, {}]},
        {"type": "DELETE"},
        {"type": "DELETE", "old": [ROW]},
    )
    assert [(r["kind"], r["op"], r["position"], r["reason"]) for r in rows] == [
        ("row", op, AT_OFFSET_7, None) for op in "UUUDD"
    ]
    assert {(r["source_schema"], r["source_table"]) for r in rows} == {("shop", "items")}
    assert {r["commit_time"].microsecond for r in rows} == {123_000}


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        pytest.param(TRUNCATE, "ddl", id="ddl"),
        pytest.param({**TRUNCATE, "type": None}, "ddl", id="ddl whatever its type says"),
        pytest.param({**TRUNCATE, "type": "GTID", "table": ""}, "ddl", id="ddl comes first"),
        pytest.param({**STATEMENT, "type": "GTID", "database": None}, "control", id="gtid"),
        pytest.param({**STATEMENT, "type": "XACOMMIT"}, "control", id="xa commit"),
        pytest.param({**STATEMENT, "type": "XAROLLBACK"}, "control", id="xa rollback"),
        pytest.param({**STATEMENT, "type": "MHEARTBEAT"}, "control", id="heartbeat"),
        pytest.param({"type": "UPDATE", "old": [{}]}, "row", id="an old image without columns"),
        pytest.param({"sql": "INSERT INTO items VALUES (1)"}, "row", id="rows beside their text"),
        pytest.param(
            {**STATEMENT, "type": "DELETE", "sql": "DELETE FROM items"}, "ddl", id="text alone"
        ),
        pytest.param({"data": [], "type": "UPDATE", "sql": "UPDATE items"}, "ddl", id="no rows"),
    ],
)
def test_kinds(spark: SparkSession, message: dict[str, Any], kind: str) -> None:
    """MSG-40."""
    (row,) = read(spark, message)
    assert (row["kind"], row["reason"]) == (kind, None)
    assert (row["position"] is None) == (kind == "control")


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        pytest.param(b" ", "EMPTY_VALUE", id="blank"),
        pytest.param(b'{"data": [', "JSON_INVALID", id="cut off"),
        pytest.param(b"[1]", "JSON_NOT_OBJECT", id="no object"),
        pytest.param(json.dumps(MESSAGE).encode() * 2, "JSON_INVALID", id="two in one"),
        pytest.param(
            json.dumps({**MESSAGE, "sql": "?"}).encode().replace(b"?", b"\xff"),
            "UTF8_INVALID",
            id="no text",
        ),
        pytest.param({"data": ["text"]}, "ENVELOPE_INVALID", id="rows that are no objects"),
        pytest.param(b'{"op": "c"}', "FORMAT_MISMATCH", id="another format"),
        pytest.param({"database": None}, "FORMAT_MISMATCH", id="no database"),
        pytest.param({"type": "insert"}, "OP_UNKNOWN", id="another spelling"),
        pytest.param({"type": "QUERY", **STATEMENT}, "OP_UNKNOWN", id="neither ddl nor rows"),
        pytest.param({"table": ""}, "ENVELOPE_INVALID", id="no table"),
        pytest.param({"data": None}, "IMAGE_MISSING", id="no rows"),
        pytest.param({"data": [], "sql": "  "}, "IMAGE_MISSING", id="neither rows nor text"),
        pytest.param({**TRUNCATE, "sql": None}, "ENVELOPE_INVALID", id="ddl without text"),
        pytest.param(
            {"type": "UPDATE", "data": [ROW, ROW], "old": [ROW]},
            "CANAL_ARRAY_MISMATCH",
            id="an old image too few",
        ),
        pytest.param(
            {"type": "UPDATE", "old": [ROW, ROW]}, "CANAL_ARRAY_MISMATCH", id="one too many"
        ),
    ],
)
def test_refused(spark: SparkSession, message: Any, reason: str) -> None:
    """MSG-40, MSG-41."""
    (row,) = read(spark, message)
    assert (row["kind"], row["reason"], row["op"]) == ("unreadable", reason, None)


def test_types_and_key_tell_record_schemas_apart(spark: SparkSession) -> None:
    """MSG-43: the order of ``mysqlType`` tells nothing, what stands in it does."""
    turned = dict(reversed(MESSAGE["mysqlType"].items()))
    first, again, wider, keyless = read(
        spark,
        {},
        {"mysqlType": turned, "data": [ROW] * 3},
        {"mysqlType": {**turned, "id": "bigint"}},
        {"pkNames": []},
    )
    assert first["schema_id"] == again["schema_id"]
    assert len({r["schema_id"] for r in (first, wider, keyless)}) == 3


def test_ticdc_places_changes_at_their_commit(spark: SparkSession) -> None:
    """POS-2, POS-10, MSG-50, UNAV-9: what has no commitTs is refused where there should be one."""
    commit = {"_tidb": {"commitTs": (1 << 59) + 1}}
    pointer = {"commitTs": 9, "claimCheckLocation": "s3://x/y"}
    rows = read(
        spark,
        commit,
        {**commit, "type": "DELETE"},
        {**commit, **TRUNCATE},
        {},
        {"type": "TIDB_WATERMARK", "database": "", "_tidb": {"watermarkTs": (1 << 59) + 3}},
        {"_tidb": {"commitTs": 9, "onlyHandleKey": True}},
        {"type": "DELETE", "_tidb": {"commitTs": 9, "onlyHandleKey": True}},
        {"_tidb": pointer},
        {"type": "DELETE", "data": [{"id": "1"}], "_tidb": pointer},
        {"type": "DELETE", "pkNames": None, "data": [{}], "_tidb": pointer},
        {**TRUNCATE, "type": "DELETE", "pkNames": ["id"], "_tidb": pointer},
        by_commit=True,
    )
    at = "0001" + "0800000000000001"
    assert [(r["kind"], r["position"] and r["position"][:21]) for r in rows[:3]] == [
        ("row", at + "1"),
        ("row", at + "0"),
        ("ddl", at + "2"),
    ]
    assert rows[4]["watermark"] == (1 << 59) + 3
    assert [r["reason"] for r in rows[3:]] == [
        "POSITION_MISSING",
        None,
        "HANDLE_KEY_ONLY",
        None,
        "CLAIM_CHECK_MISSING",
        None,
        "CLAIM_CHECK_MISSING",
        "CLAIM_CHECK_MISSING",
    ]
