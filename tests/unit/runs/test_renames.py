"""Tables that take another name: what goes on under it, and what stops."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from tidemark.model.cut import Frontier
from tidemark.model.names import TableName, TopicName
from tidemark.model.position import Position
from tidemark.model.progress import Progress
from tidemark.model.renames import Rename, Renames, swapped_tables
from tidemark.runs.ddl.effects import DdlEffects, DdlRecord, DdlStop, RenamedBy
from tidemark.runs.ddl.records import add_up
from tidemark.runs.renamed_tables import net_moves
from tidemark.spec import SourceSpec

TOPIC = TopicName("items")
A, B, C = (TableName("shop", name) for name in "abc")
CANAL = SourceSpec.model_validate(
    {"format": "canal-json", "gate": "none", "topics": {"data": ["t"]}}
)


def told(*statements: str, names: Renames, first: int = 1) -> DdlEffects:
    """Of statements at positions from ``first`` on."""
    records = [
        DdlRecord(Position(str(place)), "shop", json.dumps({"isDdl": True, "sql": text}), TOPIC)
        for place, text in enumerate(statements, start=first)
    ]
    return add_up(CANAL, records, names=names)


def declared(old: TableName, new: TableName, *done: Rename) -> Renames:
    return Renames((Rename(old, new),), done)


def test_what_is_told_of_a_table_goes_with_its_name() -> None:
    """SCHEMA-31: before the statement and behind it; another table of the old name is another."""
    effects = told(
        "CREATE TABLE a (id int, x int)",
        "ALTER TABLE a RENAME COLUMN x TO y",
        "RENAME TABLE a TO b",
        "ALTER TABLE b DROP COLUMN y",
        "CREATE TABLE a (z text)",
        names=declared(A, B),
    )
    assert (effects.stops, effects.renames) == ({}, [Rename(A, B, Position("3"))])
    assert [one.column_rename.position for one in effects.column_renames[B]] == ["2", "4"]
    assert (effects.types, effects.made) == ({B: {"id": "int"}, A: {"z": "text"}}, {A, B})


def test_what_stood_under_the_new_name_is_forgotten() -> None:
    """SCHEMA-31: it was another table, which nobody follows."""
    texts = ["ALTER TABLE b ADD c int", "DROP TABLE b", "ALTER TABLE a RENAME TO b"]
    effects = told(*texts, names=declared(A, B))
    assert (effects.column_renames, effects.dropped, effects.stops) == ({}, {}, {})


def test_a_name_that_the_file_has_early_is_that_of_the_table() -> None:
    effects = told("CREATE TABLE a (id int)", names=declared(A, B))
    assert (effects.types, effects.renames) == ({B: {"id": "int"}}, [])


def test_a_rename_that_was_followed_is_not_followed_again() -> None:
    """SCHEMA-25: a table that stands lower meets it again, and a copy of it changes nothing."""
    names = declared(A, B, Rename(A, B, Position("2")))
    again = told("ALTER TABLE a DROP x", "RENAME TABLE a TO b", names=names)
    assert (list(again.column_renames), again.renames, again.stops) == ([B], [], {})
    copy = told("ALTER TABLE b DROP x", "RENAME TABLE a TO b", names=names, first=7)
    assert (list(copy.column_renames), copy.renames, copy.stops) == ([B], [], {})


def test_a_copy_of_a_rename_may_know_a_later_commit() -> None:
    """POS-9: in PostgreSQL its LSN alone shows that it is one."""

    def at(commit: int, offset: int) -> Position:
        return Position(f"0001{commit:016X}1{20:016X}{offset:016X}")

    names = declared(A, B, Rename(A, B, at(5, 1)))
    assert names.done[0].is_at(at(9, 7))
    assert not names.done[0].is_at(Position(f"0001{5:016X}1{21:016X}{1:016X}"))


def test_a_name_that_comes_back_in_one_statement() -> None:
    """SCHEMA-31."""
    assert net_moves([(A, B), (B, C), (C, B)], {A}) == {A: B}


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        pytest.param("RENAME TABLE a TO b", Renames(), id="not declared"),
        pytest.param("RENAME TABLE a TO b", declared(C, B), id="declared of another one"),
        pytest.param(
            "RENAME TABLE a TO b",
            declared(B, A, Rename(A, B, Position("0")), Rename(B, A, Position("00"))),
            id="it was called so before, and back",
        ),
        pytest.param("ALTER TABLE a RENAME AS b", Renames(), id="by ALTER"),
    ],
)
def test_a_rename_that_nobody_declared_stops_both(statement: str, names: Renames) -> None:
    """SCHEMA-31: a message names the new name, as the file may be told to go on under it."""
    stops = told(statement, names=names).stops
    by = RenamedBy(((A, B),), f"{statement} (at position 1)", Position("1"))
    why = f"it is called shop.b now (CONTENT_DDL): {by.text}"
    assert stops[A] == DdlStop(why, None, B, by)
    why = f"its rows are those that shop.a had (CONTENT_DDL): {by.text}"
    assert stops[B] == DdlStop(why, None, None, by)


def test_a_rename_the_other_way_round_stops_the_table() -> None:
    """SCHEMA-31: the file has both names for one table, and this is not what it said."""
    stops = told("RENAME TABLE a TO b", names=declared(B, A)).stops
    assert [(table, stop.renamed_to) for table, stop in stops.items()] == [(A, B)]


def swapped(*texts: str, names: Renames) -> DdlEffects:
    """Of statements with their places, ``3: text``; several at one place are of one statement."""
    told = [text.partition(": ") for text in texts]
    records = [
        DdlRecord(
            Position(f"{1:04X}{int(place):016X}2{0:04X}{offset:016X}"),
            "shop",
            json.dumps({"isDdl": True, "sql": text}),
            TOPIC,
        )
        for offset, (place, _, text) in enumerate(told)
    ]
    return add_up(CANAL, records, names=names)


AS_LIST = ["3: RENAME TABLE a TO tmp, b TO a, tmp TO b"]
AS_PARTS = ["3: RENAME TABLE a TO tmp", "3: RENAME TABLE b TO a", "3: RENAME TABLE tmp TO b"]
AS_TABLES = ["3: RENAME TABLE a TO b", "3: RENAME TABLE b TO a"]
FILE = Renames((Rename(A, B, target="x"), Rename(B, A, target="y")))


@pytest.mark.parametrize("swap", [AS_LIST, AS_PARTS, AS_TABLES])
def test_what_is_told_of_tables_that_swapped_tables_names_goes_along(swap: list[str]) -> None:
    """MSG-54, SCHEMA-34: at once, whatever stood under the other name before and comes behind."""
    effects = swapped(
        *("1: ALTER TABLE a ADD x int", "2: TRUNCATE TABLE a", "2: DROP TABLE b", *swap),
        *("4: ALTER TABLE a ADD y int", "5: TRUNCATE TABLE b"),
        names=FILE,
    )
    at = effects.renames[0].position
    assert effects.renames == [Rename(A, B, at, "x"), Rename(B, A, at, "y")]
    assert effects.stops == {}
    assert (effects.types, list(effects.dropped)) == ({B: {"x": "int"}, A: {"y": "int"}}, [A])
    assert [place[4:20].lstrip("0") for place in effects.truncated[B]] == ["2", "5"]


@pytest.mark.parametrize("swap", [AS_LIST, AS_PARTS, AS_TABLES])
def test_an_swapped_tables_that_the_file_has_early(swap: list[str]) -> None:
    """SCHEMA-34: what is told before the statement is of the tables as the file calls them."""
    effects = swapped("1: ALTER TABLE a ADD x int", "2: DROP TABLE b", names=FILE)
    assert (effects.types, list(effects.dropped)) == ({B: {"x": "int"}}, [A])
    assert (effects.renames, effects.stops) == ([], {})
    done = replace(FILE, done=tuple(swapped(*swap, names=FILE).renames))
    again = swapped("1: ALTER TABLE a ADD x int", *swap, "4: ALTER TABLE a ADD y int", names=done)
    assert (again.types, again.renames, again.stops) == ({B: {"x": "int"}, A: {"y": "int"}}, [], {})


@pytest.mark.parametrize("swap", [AS_LIST, AS_PARTS, AS_TABLES])
def test_an_swapped_tables_that_the_file_does_not_say_stops_both(swap: list[str]) -> None:
    """SCHEMA-34: as does one that comes when the file still says the one before."""
    done = replace(FILE, done=tuple(swapped(*swap, names=FILE).renames))
    for names in (Renames(), done):
        effects = swapped(*(text.replace("3:", "4:") for text in swap), names=names)
        assert {A, B} <= effects.stops.keys()
        assert effects.renames == []
        for table in (A, B):
            by = effects.stops[table].by
            assert by is not None
            assert set(swapped_tables(by.pairs, table, [A, B])) == {A, B}


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        pytest.param(AS_PARTS[:1], "does otherwise", id="first part"),
        pytest.param(AS_PARTS[:2], "does otherwise", id="two parts"),
        pytest.param(AS_TABLES[1:], "does otherwise", id="one of two records"),
        pytest.param(["3: RENAME TABLE a TO c"], "does otherwise", id="another one"),
        pytest.param(
            [*AS_LIST, "5: RENAME TABLE a TO tmp, b TO a, tmp TO b"],
            "now .CONTENT_DDL.*RENAME",
            id="twice",
        ),
        pytest.param([*AS_LIST, "5: RENAME TABLE a TO c"], "shop.c now", id="and on"),
    ],
)
def test_what_is_no_whole_swapped_tables_stops_its_tables(texts: list[str], why: str) -> None:
    """MSG-54, SCHEMA-34: none goes on alone."""
    stops = swapped(*texts, names=FILE).stops
    assert re.search(why, stops[A].why)
    assert stops[A].fix
    assert B in stops or texts[-1].endswith("TO c")


def test_a_swap_that_comes_again_before_another_one_changes_nothing() -> None:
    """SCHEMA-34, POS-14: of a table that the statement at the end of the cut swaps as well."""
    earlier = ["3: RENAME TABLE b TO tmp", "3: RENAME TABLE c TO b", "3: RENAME TABLE tmp TO c"]
    later = ["7: RENAME TABLE a TO tmp", "7: RENAME TABLE b TO a", "7: RENAME TABLE tmp TO b"]
    file = Renames((Rename(B, C, target="y"), Rename(C, B, target="z")))
    done = tuple(swapped(*earlier, names=file).renames)
    at = swapped(*earlier, *later, names=FILE).renames[0].position
    due = Rename(A, B, at, "x"), Rename(B, A, at, "y")
    effects = swapped(*earlier, *later, names=Renames(due, done))
    assert effects.stops == {}
    assert effects.renames == [*due]


def test_an_swapped_tables_without_place_stops_both() -> None:
    """POS-12: a copy of it would look like one that goes back."""
    stops = told("RENAME TABLE a TO tmp, b TO a, tmp TO b", names=FILE).stops
    assert "it is unknown" in stops[A].why
    assert stops[A] == stops[B]


def test_names_come_and_go() -> None:
    """What is due: that of which the newest change of name is another one."""
    there, back = Rename(A, B, Position("1")), Rename(B, A, Position("2"))
    again = Rename(A, B, Position("3"))
    assert declared(A, B).due == (Rename(A, B),)
    assert declared(A, B, there).due == ()
    assert declared(A, B, there, back).due == (Rename(A, B),)
    assert declared(A, B, there, back, again).followed(A, B) == again
    assert declared(A, B, there).with_renames([]) == (there,)
    assert declared(B, A, there).with_renames([back]) == (there, back)
    assert declared(B, C, there).with_renames([]) == (there, Rename(B, C))


def test_what_is_kept_of_a_table_goes_with_its_name() -> None:
    """GATE-4: as soon as the file has the new one."""
    lower = Frontier(commit_ts=7)
    progress = Progress(
        behind={A: lower},
        landings={A: 3},
        truncated={A: Position("1"), B: Position("7"), C: Position("2")},
        blocked={A: "late"},
    )
    renamed = progress.under((Rename(A, B),))
    assert (renamed.behind, renamed.landings) == ({B: lower}, {B: 3})
    assert renamed.truncated == {B: "1", C: "2"}
    assert renamed.blocked == {B: "late"}
    assert renamed.as_stored((Rename(A, B),)).behind == progress.behind
    done = replace(renamed, renames=(Rename(A, B, Position("5")),))
    assert done.under((Rename(A, B),)) == done == Progress.from_json(done.to_json())


def test_what_is_kept_of_tables_that_swapped_tables_names_goes_along() -> None:
    """SCHEMA-34: each run reads it so, however many of them come before the statement does."""
    progress = Progress(
        behind={A: Frontier(commit_ts=7)},
        truncated={A: Position("1"), B: Position("7")},
        quarantined=frozenset({B}),
    )
    swap = (Rename(A, B), Rename(B, A))
    renamed = progress.under(swap)
    assert renamed.behind == {B: Frontier(commit_ts=7)}
    assert renamed.truncated == {B: "1", A: "7"}
    assert renamed.quarantined == {A}
    assert renamed.as_stored(swap) == progress
