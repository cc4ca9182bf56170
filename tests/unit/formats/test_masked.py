"""MASK-1: what is masked goes, and all else of a payload stays as it came."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from tidemark.formats.masked import (
    PayloadMask,
    UnmaskableError,
    digest,
    hash_of,
    without_values,
)
from tidemark.formats.special import PLACEHOLDER
from tidemark.model.column_rename import ColumnRename
from tidemark.model.column_rules import ColumnRules
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import ColumnName
from tidemark.model.position import Position
from tidemark.schema.ddl import parse_ddl
from tidemark.schema.ddl_operations import Unsupported

EMAIL, REMARK, PASSWORD = (ColumnName(name) for name in ("email", "remark", "password"))
RULES = ColumnRules(excluded=(PASSWORD,), hashed=(EMAIL,), redacted=(REMARK,))
DEBEZIUM, CANAL = PayloadMask(RULES, is_canal=False), PayloadMask(RULES, is_canal=True)
JANE = "jane@example.org"
HASH = hashlib.sha256(JANE.encode()).hexdigest()
SECRET = {"email": JANE, "remark": "shy", "password": "pw"}
MASKED = "tidemark:masked"
SHOWN = {"email": f"tidemark:sha256:text:{HASH}", "remark": MASKED, "password": MASKED}


def masked(mask: PayloadMask, record: Any) -> Any:
    return json.loads(mask.masked(json.dumps(record).encode()))


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_both_images_of_debezium(is_wrapped: bool) -> None:
    record: dict[str, Any] = {"before": {"id": 1, **SECRET}, "after": {"id": 2, **SECRET}}
    record |= {"op": "u", "source": {"email": "of the log"}, "transaction": None}
    want = record | {"before": {"id": 1, **SHOWN}, "after": {"id": 2, **SHOWN}}
    if is_wrapped:
        record, want = ({"schema": {"fields": []}, "payload": part} for part in (record, want))
    assert masked(DEBEZIUM, record) == want


def test_an_image_that_is_not_there() -> None:
    assert masked(DEBEZIUM, {"before": None, "after": None}) == {"before": None, "after": None}


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_the_statement_that_a_connector_adds(is_wrapped: bool) -> None:
    """Debezium's include.query."""
    source = {"table": "people", "query": "INSERT INTO people VALUES ('jane')"}
    record: dict[str, Any] = {"after": {"id": 1}, "source": source}
    want: dict[str, Any] = {"after": {"id": 1}, "source": source | {"query": ""}}
    if is_wrapped:
        record, want = ({"schema": {}, "payload": part} for part in (record, want))
    assert masked(DEBEZIUM, record) == want
    record["source"] = {"query": None}
    assert masked(DEBEZIUM, record)["source"] == {"query": None}


@pytest.mark.parametrize(
    ("sql", "left"),
    [
        ("INSERT INTO people VALUES ('jane')", "INSERT"),
        ("/* by jane */ update people SET email = 'jane'", "update"),
        ("-- jane\n/*!50001 DELETE FROM people WHERE email = 'jane' */", "DELETE"),
        ("REPLACE INTO people SELECT 'jane'", "REPLACE"),
        ("WITH j AS (SELECT 'jane') DELETE FROM people", "WITH"),
    ],
)
@pytest.mark.parametrize("name", ["INSERT", "QUERY"])
def test_the_first_word_of_a_change_that_came_as_a_statement_stays(
    sql: str, left: str, name: str
) -> None:
    """MSG-40: it stops its table, as the whole text would."""
    record = {"type": name, "isDdl": True, "data": None, "sql": sql, "table": "people"}
    kept = CANAL.masked(without_values(json.dumps(record).encode()))
    assert json.loads(kept) == record | {"sql": left}
    (operation,) = parse_ddl(left, "shop")
    (whole,) = parse_ddl(sql, "shop")
    assert isinstance(operation, Unsupported)
    assert isinstance(whole, Unsupported)
    assert operation.table is whole.table is None


def test_statements_that_change_no_rows_stay() -> None:
    for sql in ("ALTER TABLE people ADD email text DEFAULT 'a'", "", "CREATE TABLE t (id int)"):
        value = json.dumps({"type": "QUERY", "isDdl": True, "sql": sql}).encode()
        assert without_values(value) == value


def test_all_rows_of_canal_and_the_statement_that_changed_them() -> None:
    record = {
        "type": "UPDATE",
        "data": [{"id": "1", **SECRET}, {"id": "2", **SECRET}],
        "old": [{"email": JANE}, {"remark": "x"}],
        "sql": JANE,
        "mysqlType": {"email": "text"},
    }
    assert masked(CANAL, record) == record | {
        "data": [{"id": "1", **SHOWN}, {"id": "2", **SHOWN}],
        "old": [{"email": SHOWN["email"]}, {"remark": MASKED}],
        "sql": "",
    }


def test_all_else_stays_byte_by_byte() -> None:
    """Space, escapes, digits and what stands twice: nothing is written anew."""
    text = (
        ' { "after" : {"n": 1.50,"\\u0065mail":"a", "e\\u00e9":"\\/", "email" : "b" } ,"x":1e5}\n'
    )
    want = text.replace('"a"', json.dumps(hash_of("a"))).replace('"b"', json.dumps(hash_of("b")))
    assert DEBEZIUM.masked(text.encode()).decode() == want


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        ('"x"', "text"),
        ('"7"', "integer"),
        ("7", "integer"),
        ("-70", "integer"),
        ('"007"', "number"),
        ('"-0"', "number"),
        ('" +7"', "number"),
        (str(2**63 - 1), "integer"),
        (str(-(2**63)), "integer"),
        (str(2**63), "other"),
        (f'"{2**63}"', "text"),
        (f'"{"1" * 5000}"', "text"),
        ("-0", "other"),
        ("1.5", "other"),
        ("7.0", "other"),
        ("true", "number"),
        ('"false"', "number"),
        ('"True"', "text"),
        ('["x"]', "other"),
        ('{"x":1}', "other"),
        ('"\\ud800"', "other"),
    ],
)
def test_a_hash_says_what_it_is_of(token: str, kind: str) -> None:
    value = DEBEZIUM.masked(f'{{"after":{{"email":{token}}}}}'.encode())
    assert json.loads(value)["after"]["email"].split(":")[2] == kind


def test_a_number_in_another_text_has_both_hashes() -> None:
    """TYPE-9."""
    for text, number in (("007", "7"), ("true", "1"), ("false", "0"), ("-0", "0")):
        hashes = [hashlib.sha256(of.encode()).hexdigest() for of in (text, number)]
        assert hash_of(text) == f"tidemark:sha256:number:{':'.join(hashes)}"


def test_a_value_that_looks_like_a_hash_is_hashed() -> None:
    assert masked(DEBEZIUM, {"after": {"email": SHOWN["email"]}})["after"]["email"] == hash_of(
        str(SHOWN["email"])
    )


def test_what_was_not_sent_stays_to_be_seen() -> None:
    """UNAV-1."""
    record = {"after": {"email": PLACEHOLDER}}
    assert masked(DEBEZIUM, record) == record


def test_rules_mean_columns_in_any_case() -> None:
    record = {"after": {"id": 1, "Email": JANE, "REMARK": "shy", "Password": "pw"}}
    assert masked(DEBEZIUM, record)["after"] == {
        "id": 1,
        "Email": SHOWN["email"],
        "REMARK": MASKED,
        "Password": MASKED,
    }
    mask = PayloadMask(ColumnRules(included=(ColumnName("ID"),)), is_canal=False)
    assert masked(mask, {"after": {"id": 1, "any": 2}}) == {"after": {"id": 1, "any": MASKED}}


def test_what_rules_hide_and_no_row_has() -> None:
    """The values of such a column may stand under another name."""
    value = json.dumps({"payload": {"after": {"id": 1, "e-mail": JANE, "Password": "pw"}}})
    seen = DEBEZIUM.columns_of(value.encode())
    assert seen == {"id", "e-mail", "password"}
    assert DEBEZIUM.absent(seen) == ("email", "remark")
    assert DEBEZIUM.absent(()) == ()
    assert DEBEZIUM.absent(seen | {"email", "remark"}) == ()
    published = replace(DEBEZIUM, known=frozenset({"id", "email", "remark"}))
    assert published.unresolved({"id"}) == ("password",)
    assert published.absent({"id", "email"}) == ()
    assert published.absent({"id", "pass"}) == ("password",)
    assert published.absent({"id", "password"}) == ()


def test_the_columns_of_canal() -> None:
    """UNAV-4: a row may lack some, of which its types tell."""
    record = {"type": "INSERT", "data": [{"id": "1"}], "mysqlType": {"EMAIL": "text"}}
    assert CANAL.columns_of(json.dumps(record).encode()) == {"id", "email"}
    for value in (json.dumps({**record, "type": "DELETE"}), "no json", '{"data":null}', "[]"):
        assert CANAL.columns_of(value.encode()) == frozenset()


def test_former_names_of_columns() -> None:
    """SCHEMA-30: records of before a rename may come again."""
    columns = tuple(
        SourceColumn(ColumnName(name), "string", ValueEncoding.TEXT, "text")
        for name in ("id", "email", "remark", "password", "first")
    )
    names = [ColumnName(name) for name in ("first", "second", "email")]
    renames = tuple(
        ColumnRename(Position(str(at)), ((old, new),))
        for at, (old, new) in enumerate(pairwise(names))
    )
    schema = TableSchema(columns, column_renames=renames)
    mask = PayloadMask.of(RULES, is_canal=False, is_keyed=False, published=schema)
    assert mask is not None
    shown = masked(mask, {"after": {"second": JANE, "first": "another one now"}})
    assert shown == {"after": {"second": SHOWN["email"], "first": "another one now"}}


def test_columns_that_are_not_included_go() -> None:
    mask = PayloadMask(ColumnRules(included=(ColumnName("id"),)), is_canal=False)
    assert masked(mask, {"after": {"id": 1, "any": 2}}) == {"after": {"id": 1, "any": MASKED}}


@pytest.mark.parametrize(
    "value", [b"\xff", b"", b"1", b"[]", b"{", b'{"after":1}', b'{"after":[]}', b"{} {}"]
)
def test_what_is_no_record_cannot_be_masked(value: bytes) -> None:
    with pytest.raises(UnmaskableError):
        DEBEZIUM.masked(value)


def test_a_deep_payload_cannot_be_masked() -> None:
    with pytest.raises(UnmaskableError):
        DEBEZIUM.masked(b'{"after":' * 100_000)


def test_keys_that_nobody_can_keep() -> None:
    assert DEBEZIUM.why_refused(b'{"id":1}', b"") == ""
    wrapped = b'{"schema":{},"payload":{"id":1,"email":"x","remark":1}}'
    assert DEBEZIUM.why_refused(wrapped, b"") == "have email, remark in their keys"
    assert DEBEZIUM.why_refused(b"no json", b"") == ""
    assert DEBEZIUM.why_refused(None, b"") == "have no key"
    assert CANAL.why_refused(None, b'{"pkNames":["id"]}') == ""
    named = b'{"pkNames":["id","Remark"]}'
    for mask in (CANAL, replace(CANAL, is_keyed=True)):
        assert mask.why_refused(None, named) == "have Remark in their keys"
    for value in (b'{"pkNames":null}', b'{"pkNames":[]}', b"{}"):
        assert CANAL.why_refused(None, value) == "have no key"
    for mask in (DEBEZIUM, CANAL):
        assert replace(mask, is_keyed=True).why_refused(None, b"{}") == ""


@pytest.mark.parametrize(
    "key",
    [
        {"id": 1},
        {"schema": {"type": "struct"}, "payload": {"id": 1}},
        {"id": 1, "__dbz__physicalTableIdentifier": "shop.people"},
    ],
)
def test_keys_of_columns_that_are_included(key: dict[str, Any]) -> None:
    mask = PayloadMask(ColumnRules(included=(ColumnName("id"),)), is_canal=False)
    assert mask.why_refused(json.dumps(key).encode(), b"") == ""


def test_a_statement_that_changes_a_table_stays() -> None:
    record = {"type": "ALTER", "data": None, "sql": "ALTER TABLE people ADD email text"}
    assert masked(CANAL, record) == record


def test_a_payload_that_cannot_be_read_leaves_its_hash() -> None:
    assert digest(None) is None
    hashed = hashlib.sha256(b"secret").hexdigest()
    assert digest(b"secret") == f'"tidemark:sha256:payload:{hashed}"'.encode()


def test_no_rules_no_mask() -> None:
    renamed = ColumnRules(renamed=((EMAIL, ColumnName("mail")),))
    assert PayloadMask.of(renamed, is_canal=False, is_keyed=True) is None
    assert PayloadMask.of(RULES, is_canal=True, is_keyed=False) == CANAL


def test_no_value_is_left_whatever_form_a_record_has() -> None:
    rng = random.Random(7)  # noqa: S311  repeatable, not secret
    for _ in range(2_000):
        canary = f"{rng.getrandbits(64):x}é"
        row = {"id": 1, "email": canary, "remark": [canary], "password": {"p": canary}, "n": "n"}
        rows = [row] * rng.randint(1, 3)
        record: Any = {"type": "INSERT", "data": rows, "old": None, "sql": canary}
        mask = CANAL
        if rng.random() < 0.6:
            mask, record = DEBEZIUM, {"op": "c", "before": row, "after": row}
            record = {"schema": {}, "payload": record} if rng.random() < 0.5 else record
        indent, is_ascii = rng.choice((None, 2)), rng.random() < 0.5
        text = mask.masked(json.dumps(record, indent=indent, ensure_ascii=is_ascii).encode())
        for form in (canary, json.dumps(canary)[1:-1]):
            assert form.encode() not in text
