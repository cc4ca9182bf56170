"""Tables that take another name: what goes on under it, and what stops."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tidemark.model.cut import Frontier
from tidemark.model.names import TableName
from tidemark.model.position import Position
from tidemark.model.progress import Progress
from tidemark.model.renames import Rename, Renames
from tidemark.runs.ddl import add_up
from tidemark.runs.ddl_effects import DdlEffects, DdlRecord, DdlStop
from tidemark.spec import SourceSpec

A, B, C = (TableName("shop", name) for name in "abc")
CANAL = SourceSpec.model_validate(
    {"format": "canal-json", "gate": "none", "topics": {"data": ["t"]}}
)


def told(*statements: str, names: Renames, first: int = 1) -> DdlEffects:
    """Of statements at positions from ``first`` on."""
    records = [
        DdlRecord(Position(str(place)), "shop", json.dumps({"isDdl": True, "sql": text}))
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
    assert [one.shift.position for one in effects.shifts[B]] == ["2", "4"]
    assert (effects.types, effects.made) == ({B: {"id": "int"}, A: {"z": "text"}}, {A, B})


def test_what_stood_under_the_new_name_is_forgotten() -> None:
    """SCHEMA-31: it was another table, which nobody follows."""
    texts = ["ALTER TABLE b ADD c int", "DROP TABLE b", "ALTER TABLE a RENAME TO b"]
    effects = told(*texts, names=declared(A, B))
    assert (effects.shifts, effects.dropped, effects.stops) == ({}, {}, {})


def test_a_name_that_the_file_has_early_is_that_of_the_table() -> None:
    effects = told("CREATE TABLE a (id int)", names=declared(A, B))
    assert (effects.types, effects.renames) == ({B: {"id": "int"}}, [])


def test_a_rename_that_was_followed_is_not_followed_again() -> None:
    """SCHEMA-25: a table that stands lower meets it again, and a copy of it changes nothing."""
    names = declared(A, B, Rename(A, B, Position("2")))
    again = told("ALTER TABLE a DROP x", "RENAME TABLE a TO b", names=names)
    assert (list(again.shifts), again.renames, again.stops) == ([B], [], {})
    copy = told("ALTER TABLE b DROP x", "RENAME TABLE a TO b", names=names, first=7)
    assert (list(copy.shifts), copy.renames, copy.stops) == ([B], [], {})


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
    assert stops[A] == DdlStop(
        f"it is called shop.b now (CONTENT_DDL): {statement} (at position 1)", None, B
    )
    why = f"its rows are those that shop.a had (CONTENT_DDL): {statement} (at position 1)"
    assert stops[B] == DdlStop(why, None)


def test_a_rename_the_other_way_round_stops_the_table() -> None:
    """SCHEMA-31: the file has both names for one table, and this is not what it said."""
    stops = told("RENAME TABLE a TO b", names=declared(B, A)).stops
    assert [(table, stop.renamed_to) for table, stop in stops.items()] == [(A, B)]


def test_a_swap_stops_both() -> None:
    """SCHEMA-34."""
    swap = "RENAME TABLE a TO tmp, b TO a, tmp TO b"
    stops = told(swap, names=Renames()).stops
    assert {A, B} <= stops.keys()
    assert stops[A].renamed_to == TableName("shop", "tmp")


def test_names_come_and_go() -> None:
    """What is due: that of which the newest change of name is another one."""
    there, back = Rename(A, B, Position("1")), Rename(B, A, Position("2"))
    again = Rename(A, B, Position("3"))
    assert declared(A, B).due == (Rename(A, B),)
    assert declared(A, B, there).due == ()
    assert declared(A, B, there, back).due == (Rename(A, B),)
    assert declared(A, B, there, back, again).followed(A, B) == again
    assert declared(A, B, there).with_found([]) == (there,)
    assert declared(B, A, there).with_found([back]) == (there, back)
    assert declared(B, C, there).with_found([]) == (there, Rename(B, C))


def test_what_is_kept_of_a_table_goes_with_its_name() -> None:
    """GATE-4: as soon as the file has the new one."""
    lower = Frontier(commit_ts=7)
    progress = Progress(
        behind={A: lower},
        truncated={A: Position("1"), B: Position("7"), C: Position("2")},
        blocked={A: "late"},
    )
    renamed = progress.under((Rename(A, B),))
    assert renamed.behind == {B: lower}
    assert renamed.truncated == {B: "1", C: "2"}
    assert renamed.blocked == {B: "late"}
    done = replace(renamed, renames=(Rename(A, B, Position("5")),))
    assert done.under((Rename(A, B),)) == done == Progress.from_json(done.to_json())
