"""Which statements a cut of one table followed, and what they say."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.support.records import ticdc_ddl, ticdc_row
from tidemark.lake.landing import LandedStatement
from tidemark.lake.target_cuts import TargetCut
from tidemark.model.cut import Frontier, GateMode
from tidemark.model.names import AttemptId, TableName, TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Position, commit_bound
from tidemark.model.progress import Progress
from tidemark.model.result import CutResult, CutStatus, TableResult
from tidemark.runs.ddl.effects import DdlRecord
from tidemark.runs.ddl.records import Statement, read_statement
from tidemark.runs.table_history import followed_by, read_by, table_in
from tidemark.schema.session_schemas import FollowedNames
from tidemark.spec import SourceSpec

ITEMS, OTHERS = TableName("shop", "items"), TableName("shop", "others")
PLACE = TopicPartition(TopicName("shop"), 0)
ALTER = Statement("ALTER TABLE items ADD COLUMN n int", frozenset({ITEMS}))
TICDC = SourceSpec.model_validate(
    {"format": "ticdc-canal-json", "gate": "watermark", "topics": {"data": ["shop"]}}
)
FOLLOWED = FollowedNames({ITEMS, OTHERS}, TICDC.shadowed)


def landed(landing: int, offset: int, commit_ts: int = 0) -> LandedStatement:
    position = Position(f"{commit_bound(commit_ts)}X")
    return LandedStatement(landing, PLACE, offset, position, "shop", b"")


def cut(before: Progress | None, after: Progress | None) -> TargetCut:
    of = TableResult(str(ITEMS), "shop.items", 7)
    result = CutResult(CutStatus.PUBLISHED, AttemptId("a"), 2, tables=(of,))
    return TargetCut(result, of, 0, "", before, after)


OFFSETS = [Progress(cut=n, landing=n, frontier=Frontier(offsets={PLACE: 10 * n})) for n in range(4)]
COMMITS = [Progress(cut=n, landing=n, frontier=Frontier(commit_ts=100 * n)) for n in range(4)]


@pytest.mark.parametrize(
    ("landing", "offset", "is_followed"),
    [(1, 9, False), (2, 10, True), (2, 19, True), (2, 20, False), (3, 15, False)],
)
def test_with_gate_none_offsets_tell(landing: int, offset: int, is_followed: bool) -> None:
    texts = followed_by(GateMode.NONE, cut(*OFFSETS[1:3]), [(landed(landing, offset), ALTER)])
    assert list(texts) == [ALTER.text] * is_followed


@pytest.mark.parametrize(
    ("landing", "commit_ts", "is_followed"),
    [(1, 99, False), (1, 150, True), (2, 150, True), (2, 250, False), (3, 150, False)],
)
def test_with_a_gate_positions_tell(landing: int, commit_ts: int, is_followed: bool) -> None:
    """GATE-1: what was held by the cut in which it was landed is followed by a later one."""
    statements = [(landed(landing, 0, commit_ts), ALTER)]
    texts = followed_by(GateMode.WATERMARK, cut(*COMMITS[1:3]), statements)
    assert list(texts) == [ALTER.text] * is_followed


def test_a_table_that_stood_lower_follows_what_others_have_followed() -> None:
    before = replace(COMMITS[2], behind={ITEMS: COMMITS[1].frontier}, landings={ITEMS: 1})
    statements = [(landed(2, 0, 150), ALTER)]
    assert list(followed_by(GateMode.WATERMARK, cut(before, COMMITS[3]), statements))
    assert not list(followed_by(GateMode.WATERMARK, cut(*COMMITS[2:4]), statements))


def test_copies_and_statements_about_other_tables_are_left_out() -> None:
    other = Statement("DROP TABLE others", frozenset({OTHERS}))
    one = landed(2, 12)
    statements = [(one, ALTER), (replace(one, offset=13), ALTER), (landed(2, 14), other)]
    assert list(followed_by(GateMode.NONE, cut(*OFFSETS[1:3]), statements)) == [ALTER.text]
    assert not list(followed_by(GateMode.NONE, cut(None, OFFSETS[2]), statements))


def test_landings_that_no_shown_cut_read_are_left_out() -> None:
    """Of a table that changes seldom: all between its cuts was landed for others."""
    old = cut(Progress(cut=1, landing=1, oldest_held=1), Progress(cut=2, landing=3))
    new = cut(Progress(cut=8, landing=90, oldest_held=88), Progress(cut=9, landing=91))
    assert list(read_by([new, cut(None, COMMITS[1]), old])) == [(88, 91), (1, 3)]


def test_a_record_tells_its_text_and_its_tables() -> None:
    value = ticdc_ddl("ALTER TABLE `items` ADD COLUMN n int", 150).value or b""
    record = DdlRecord(Position(""), "shop", value.decode(), TopicName("shop"))
    assert read_statement(TICDC, record, FOLLOWED) == Statement(
        "ALTER TABLE `items` ADD COLUMN n int", frozenset({ITEMS})
    )
    row = replace(record, text=(ticdc_row("INSERT", 1, 150).value or b"").decode())
    assert read_statement(TICDC, row, FOLLOWED) is None


def test_a_database_that_goes_takes_its_tables_along() -> None:
    value = ticdc_ddl("DROP DATABASE shop", 150).value or b""
    record = DdlRecord(Position(""), "shop", value.decode(), TopicName("shop"))
    statement = read_statement(TICDC, record, FOLLOWED)
    assert statement is not None
    assert statement.tables >= {ITEMS, OTHERS}


@pytest.mark.parametrize(("snapshot", "is_told"), [("true", False), ("false", True)])
def test_what_a_snapshot_describes_is_no_statement(snapshot: str, is_told: bool) -> None:
    """MSG-24"""
    source = SourceSpec.model_validate(
        {
            "format": "debezium-mysql",
            "gate": "none",
            "topics": {"data": ["shop.items"], "schema-changes": ["shop"]},
        }
    )
    text = json.dumps(
        {
            "source": {"snapshot": snapshot, "server_id": 0 if snapshot == "true" else 1},
            "databaseName": "shop",
            "ddl": "CREATE TABLE items (id int)",
            "tableChanges": [{"id": '"shop"."items"', "table": {}}],
        }
    )
    record = DdlRecord(Position(""), "shop", text, TopicName("shop"))
    assert (read_statement(source, record, FOLLOWED) is not None) is is_told


@pytest.mark.parametrize(
    ("command", "table"),
    [
        ("resync shop.items", "shop.items"),
        ("resync shop.order lines --complete", "shop.order lines"),
        ("refold shop.items --into items_2 --as-of 7", "shop.items"),
        ("refold shop.items --cancel", "shop.items"),
        ("quarantine replay --table shop.order lines --code TX", "shop.order lines"),
        ("quarantine replay --code TX", None),
        ("quarantine replay", None),
        ("erase shop.items, 1 key: asked for, as of shop.others, 2 keys: too", "shop.items"),
        ("erase shop.order lines, 1,200 keys: two\nlines", "shop.order lines"),
        ("skip --record shop:0:7 --reason 'as before in shop.others --table x'", None),
        ("skip --statement 0001 --reason 'resync shop.others later'", None),
        ("handover --gap", None),
    ],
)
def test_an_order_names_a_table_outside_of_its_reason(command: str, table: str | None) -> None:
    assert table_in(command) == table
