"""Another key of a table: where a cut ends for it, and when its target follows (KEY-16)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tidemark.errors import TableStoppedError
from tidemark.gate.next_cut import ended_at
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.cut import Cut, Frontier, GateMode
from tidemark.model.key_change import KeyChange, first_key_change
from tidemark.model.names import ColumnName, TableName, TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Place, Position
from tidemark.model.until import Barrier, Behind
from tidemark.runs.ddl.barriers import barrier_of, published_place
from tidemark.runs.ddl.effects import DdlEffects
from tidemark.runs.tables.key_changes import behind_key_change, below_key_change, is_copy
from tidemark.schema.changes import ChangeKey, plan_changes
from tidemark.spec import PipelineSpec, TableSpec

ITEMS = TableName("shop", "items")
P0, P1 = (TopicPartition(TopicName("db.t"), number) for number in range(2))


def at(pos: int, offset: int = 0) -> Position:
    """A place of a binlog."""
    return Position(f"0001{9:08X}{pos:016X}1{offset:016X}")


def key_change(pos: int, key: str, offset: int = 0) -> KeyChange:
    return KeyChange(at(pos, offset), tuple(map(ColumnName, key.split())), f"ALTER {pos}")


def schema(key: str, columns: str = "id code Name") -> TableSchema:
    return TableSchema(
        tuple(
            SourceColumn(ColumnName(name), "bigint", ValueEncoding.INTEGER, "bigint")
            for name in columns.split()
        ),
        tuple(map(ColumnName, key.split())),
    )


def pipeline(**table: Any) -> PipelineSpec:
    return PipelineSpec.model_validate(
        {
            "name": "p",
            "description": "a test",
            "owner": "tests",
            "schedule": None,
            "source": {
                "format": "debezium-mysql",
                "gate": "none",
                "topics": {"data": ["t"], "schema-changes": ["s"]},
            },
            "tables": [{"source": "shop.items", "expectations": "none", **table}],
        }
    )


@pytest.mark.parametrize(
    ("told", "found"),
    [
        pytest.param([], None, id="nothing"),
        pytest.param([key_change(1, "a")], (at(1), at(1), "a"), id="one statement"),
        pytest.param(
            [key_change(1, ""), key_change(3, "a b")], (at(3), at(1), "a b"), id="two statements"
        ),
        pytest.param([key_change(1, "a"), key_change(3, "b")], (at(1), at(1), "a"), id="two keys"),
        pytest.param([key_change(1, "")], None, id="no key any more"),
        pytest.param(
            [key_change(1, ""), key_change(2, ""), key_change(3, "a")],
            (at(3), at(1), "a"),
            id="lost twice",
        ),
    ],
)
def test_which_statement_is_followed_first(
    told: list[KeyChange], found: tuple[Position, Position, str] | None
) -> None:
    """KEY-16, SCHEMA-11: two keys need two cuts."""
    first = first_key_change(told)
    assert (first and (first.position, first.begins_at, " ".join(first.key))) == found


@pytest.mark.parametrize(
    ("table", "other", "is_one"),
    [
        pytest.param({}, "items", True, id="a table that is followed"),
        pytest.param({"key": ["id"]}, "items", False, id="the file has a key, which stays"),
        pytest.param({}, "others", False, id="a table that is not followed"),
    ],
)
def test_where_a_cut_ends(table: dict[str, Any], other: str, is_one: bool) -> None:
    named = TableName("shop", other)
    effects = DdlEffects(key_changes={named: [key_change(5, "code")]})
    wanted = Barrier(named, at(5), Behind.OTHER_KEY) if is_one else None
    assert barrier_of(pipeline(**table), named, effects, Place("")) == wanted


def test_no_cut_ends_twice_at_a_statement() -> None:
    """SCHEMA-25, POS-20: copies of the newest one that is published are read again."""
    schemas, rows = (TopicPartition(TopicName(name), 0) for name in ("s", "t"))
    frontier = Frontier(
        reached={schemas: Place(at(5)[:-16]), rows: Place(at(8)[:-16])},
        streamed={schemas: Place(at(5)[:-16]), rows: Place(at(8)[:-16])},
    )
    before = published_place(frontier, [schemas.topic])
    assert before == at(5)[:-16]
    again = DdlEffects(key_changes={ITEMS: [key_change(5, "code", offset=7), key_change(6, "id")]})
    assert barrier_of(pipeline(), ITEMS, again, before) == Barrier(ITEMS, at(6), Behind.OTHER_KEY)
    unplaced = Position(f"0001{9:016X}")
    effects = DdlEffects(key_changes={ITEMS: [replace(key_change(5, "code"), position=unplaced)]})
    assert barrier_of(pipeline(), ITEMS, effects, Place("")) == Barrier(
        ITEMS, unplaced, Behind.OTHER_KEY
    )


@pytest.mark.parametrize(
    ("mode", "cut", "expected"),
    [
        pytest.param(
            *(GateMode.TRANSACTION, Frontier(bound=at(9)), Frontier(bound=at(5)[:-16] + "~")),
            id="transactions above wait",
        ),
        pytest.param(
            *(GateMode.TRANSACTION, Frontier(bound=at(4)), Frontier(bound=at(4))),
            id="the cut ends before",
        ),
        pytest.param(
            *(GateMode.NONE, Frontier(offsets={P0: 9, P1: 9}), Frontier(offsets={P0: 7, P1: 9})),
            id="a partition ends where it is passed",
        ),
    ],
)
def test_a_table_that_stands_lower_ends_at_the_statement(
    mode: GateMode, cut: Frontier, expected: Frontier
) -> None:
    """SCHEMA-11: the others go on."""
    old = Frontier(offsets={P0: 7, P1: 2})
    found = ended_at(Cut(3, mode, cut), Barrier(ITEMS, at(5), Behind.OTHER_KEY), old, {P0: 4})
    assert found == Cut(3, mode, expected)


def test_commits_behind_the_statement_wait() -> None:
    commit = Position(f"0001{500:016X}2{0:04X}{0:016X}")
    cut = Cut(3, GateMode.WATERMARK, Frontier(commit_ts=900))
    ended = ended_at(cut, Barrier(ITEMS, commit, Behind.OTHER_KEY), Frontier(), {})
    assert ended.frontier == Frontier(commit_ts=501)


def test_the_target_takes_the_key_of_the_statement() -> None:
    """KEY-16: whichever case it writes; what was the key may hold null from now on."""
    have = schema("id")
    followed = key_change(5, "CODE name")
    now = behind_key_change(pipeline().source, spec(), followed, have, DdlEffects())
    assert (now.key, now.former_key, now.key_changed_at) == (("code", "Name"), ("id",), at(5))
    assert TableSchema.from_json(now.to_json()) == now
    assert plan_changes(have, now) == (ChangeKey(now.key, have.key),)
    assert plan_changes(now, now) == ()


def test_more_columns_leave_none_free() -> None:
    have = schema("id")
    now = behind_key_change(pipeline().source, spec(), key_change(5, "id code"), have, DdlEffects())
    assert plan_changes(have, now) == (ChangeKey(now.key, ()),)


def test_another_order_is_no_other_key() -> None:
    have = schema("id code")
    assert (
        behind_key_change(pipeline().source, spec(), key_change(5, "code id"), have, DdlEffects())
        == have
    )
    told = replace(have, key=(ColumnName("code"), ColumnName("id")))
    assert plan_changes(have, told) == ()


@pytest.mark.parametrize(
    ("mode", "key", "state", "why"),
    [
        pytest.param("mirror", "other", None, "lack one of it", id="an unknown column"),
        pytest.param("mirror", "code", "id", "SCHEMA_MISMATCH", id="the state tells another one"),
        pytest.param("history", "code", None, "may share the new one", id="ended versions"),
        pytest.param("soft-delete", "code", None, "may share the new one", id="flagged rows"),
        pytest.param("history", "code id", None, None, id="versions stay apart"),
        pytest.param("soft-delete", "id code", "code id", None, id="rows stay apart"),
        pytest.param("append", "code", None, None, id="changes have no key"),
    ],
)
def test_what_cannot_be_followed(mode: str, key: str, state: str | None, why: str | None) -> None:
    """KEY-16, SCHEMA-27."""
    table = spec(mode=mode)
    effects = DdlEffects(schemas={ITEMS: schema(state)} if state else {})
    have, followed = replace(schema("id"), mode=table.mode), key_change(5, key)
    if why is None:
        now = behind_key_change(pipeline().source, table, followed, have, effects)
        assert set(now.key) == set(key.split())
        return
    with pytest.raises(TableStoppedError, match=why) as stopped:
        behind_key_change(pipeline().source, table, followed, have, effects)
    assert "it changes the key" in str(stopped.value)
    assert "ALTER 5 (at position" in str(stopped.value)


def test_a_column_that_the_target_cannot_read_is_no_key() -> None:
    table = spec(**{"target-columns": {"hash": ["code"]}})
    have = replace(schema("id"), rules=table.target_columns.rules)
    with pytest.raises(TableStoppedError, match="column code is part of its key"):
        behind_key_change(pipeline().source, table, key_change(5, "code"), have, DdlEffects())


def test_the_rows_of_the_cut_have_the_key_of_before() -> None:
    """KEY-16: also where an attempt that died made the target for those behind it."""
    effects = DdlEffects(schemas={ITEMS: schema("code")}, keys={ITEMS: (ColumnName("code"),)})
    have = schema("id")
    below, told = below_key_change(ITEMS, key_change(5, "code"), have, effects)
    assert (below, told.schemas[ITEMS].key, told.keys) == (have, (), {})
    assert effects.schemas[ITEMS].key == ("code",)
    made = replace(schema("code"), key_changed_at=at(5, 1), former_key=have.key)
    again = key_change(5, "code", offset=8)
    assert is_copy(again, made)
    assert not is_copy(key_change(6, "code"), made)
    below, _ = below_key_change(ITEMS, again, made, effects)
    assert below == replace(made, key=have.key)


def spec(**table: Any) -> TableSpec:
    return TableSpec.model_validate({"source": "shop.items", "expectations": "none", **table})
