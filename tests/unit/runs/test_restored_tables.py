"""FLASHBACK TABLE and RECOVER TABLE: which tables have the rows that come back (SCHEMA-18)."""

from __future__ import annotations

import json

import pytest

from tidemark.model.names import TableName, TopicName
from tidemark.model.position import Position
from tidemark.runs.ddl.effects import DdlEffects, DdlRecord
from tidemark.runs.ddl.records import add_up
from tidemark.spec import SourceSpec

ITEMS, OTHERS = TableName("shop", "items"), TableName("shop", "others")
MADE = "CREATE TABLE items (x int PRIMARY KEY)"
DROP = "DROP TABLE items"
BACK = "FLASHBACK TABLE items"
AS_OTHERS = "FLASHBACK TABLE items TO others"
TICDC = SourceSpec.model_validate(
    {"format": "ticdc-canal-json", "gate": "watermark", "topics": {"data": ["t"]}}
)


def position(number: int, offset: int = 0) -> Position:
    return Position(f"0001{number:016X}2{0:020X}{offset:016X}")


def told(*statements: str, begins: int = 1) -> list[DdlRecord]:
    return [
        DdlRecord(
            position(number),
            "shop",
            json.dumps({"isDdl": True, "sql": statement}),
            TopicName("items"),
        )
        for number, statement in enumerate(statements, start=begins)
    ]


def effects_of(*statements: str, before: tuple[str, ...] = ()) -> DdlEffects:
    """before: statements of earlier cuts."""
    earlier = told(*before)
    return add_up(TICDC, told(*statements, begins=len(before) + 1), earlier)


@pytest.mark.parametrize("back", [BACK, "RECOVER TABLE `shop`.`items`"])
def test_a_table_that_came_back_in_the_cut_goes_on(back: str) -> None:
    for statements in ([DROP, back], [DROP, back, DROP, back], ["CREATE DATABASE x", DROP, back]):
        effects = effects_of(*statements)
        assert (effects.stops, effects.dropped, effects.remade) == ({}, {}, set())
        assert effects.dropped_at(ITEMS, None) is None
        assert ITEMS in effects.tables
    made = effects_of(MADE, DROP, BACK)
    assert (made.made, set(made.created), made.stops) == ({ITEMS}, {ITEMS}, {})
    assert not any(made.ended.values())


def test_a_table_that_was_made_again_before_it_came_back_is_the_new_one() -> None:
    effects = effects_of(DROP, MADE, DROP, BACK)
    assert effects.dropped_at(ITEMS, None) == position(1)
    assert effects.created[ITEMS].position == position(2)
    assert effects.remade == {ITEMS}


def test_a_table_that_came_back_after_its_drop_was_published_goes_on() -> None:
    """As long as the earlier DROP is the one that the target knows."""
    effects = effects_of(BACK, before=(MADE, DROP))
    assert effects.stops == {}
    copy = position(2, offset=7)
    assert [effects.dropped_at(ITEMS, at) for at in (copy, position(1))] == [None, position(1)]
    unknown = effects_of(BACK)
    assert (unknown.unseen_drops, set(unknown.stops)) == ({ITEMS}, {ITEMS})


@pytest.mark.parametrize(
    ("before", "statements"),
    [
        ((DROP, MADE), (AS_OTHERS,)),
        ((), (DROP, MADE, AS_OTHERS)),
        ((), ("TRUNCATE items", AS_OTHERS)),
        ((DROP, "TRUNCATE items"), (AS_OTHERS,)),
        ((DROP,), (MADE, AS_OTHERS)),
        ((DROP, "RENAME TABLE u TO items"), (AS_OTHERS,)),
        ((), (DROP, "RENAME TABLE u TO items", AS_OTHERS)),
        ((DROP, "DROP DATABASE shop"), (AS_OTHERS,)),
        ((), ("DROP DATABASE shop", "CREATE DATABASE shop", AS_OTHERS)),
        ((DROP,), ("DROP DATABASE shop", "CREATE DATABASE shop", AS_OTHERS)),
        ((), (DROP, "DROP DATABASE shop", "CREATE DATABASE shop", AS_OTHERS)),
    ],
)
def test_rows_that_no_record_has_stop_the_table_that_gets_them(
    before: tuple[str, ...], statements: tuple[str, ...]
) -> None:
    """And no other one: what the name has since goes on."""
    stops = effects_of(*statements, before=before).stops
    assert "rows come back without events" in stops[OTHERS].why
    assert {table for table, stop in stops.items() if stop.by is None} == {OTHERS}


def test_a_table_that_comes_back_under_another_name_takes_its_rows_with_it() -> None:
    """SCHEMA-31: it is renamed, as if it had never gone."""
    for before, statements in (((), (DROP, AS_OTHERS)), ((DROP,), (AS_OTHERS,))):
        effects = effects_of(*statements, before=before)
        by = effects.stops[OTHERS].by
        assert by is not None
        assert by.pairs == ((ITEMS, OTHERS),)


def test_without_positions_nothing_tells_which_drop_came_last() -> None:
    canal = SourceSpec.model_validate(
        {"format": "ticdc-canal-json", "gate": "none", "topics": {"data": ["t"]}}
    )
    records = [
        DdlRecord(
            Position(f"0001{number:016X}"),
            "shop",
            json.dumps({"isDdl": True, "sql": statement}),
            TopicName("items"),
        )
        for number, statement in enumerate((DROP, BACK), start=1)
    ]
    effects = add_up(canal, records)
    assert (set(effects.stops), effects.unseen_drops) == ({ITEMS}, set())
