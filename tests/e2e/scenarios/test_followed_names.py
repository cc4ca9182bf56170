"""Renamed tables that nobody declared: the target of a name is what the source calls so.

Every target is compared with a few tables in plain Python, which keep their rows under whatever
name they have. What reads the targets is pyiceberg.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.support.renaming import FAMILIES, Source, change_at_random, filled
from tests.support.smoke import first_in_smoke
from tidemark.errors import TableStoppedError
from tidemark.lake.catalog import SystemTables
from tidemark.lake.history import read_history
from tidemark.runs.preview import preview_cut
from tidemark.runs.status import pipeline_status
from tidemark.runs.world import World


def uuid_of(source: Source, target: str) -> str:
    table = source.stream.world.catalog.load_table((source.stream.name, target))
    return str(table.metadata.table_uuid)


@pytest.mark.parametrize("family", first_in_smoke(*FAMILIES))
def test_a_target_follows_its_name(world: World, family: str) -> None:
    """SCHEMA-31, DUP-2: rows before and behind the statement, and all of it once more."""
    source = filled(world, family, "code", "other")
    table = uuid_of(source, "code")
    source.on("code").put(4, name="before")
    source.on("code").delete(1)
    source.rename(("code", "codex"))
    source.on("codex").put(5, name="behind")
    source.on("other").put(9, name="untouched")
    unfit = replace(source.on("other"), name="un/fit", rows={})
    unfit.put(1, name="of a table that can have no target")
    source.send()
    planned = preview_cut(source.stream.pipeline, world).tables
    renamed = {row.target: row.renamed_from for row in planned if row.renamed_from}
    name = source.stream.name
    # Debezium may have more to say of the newest statement of its topic.
    assert renamed == ({f"{name}.codex": f"{name}.code"} if family == "ticdc" else {})
    first, *_ = source.cut()
    assert "has another name behind the statement" in first.hold
    assert uuid_of(source, "codex") == table
    assert not world.catalog.table_exists((source.stream.name, "code"))
    source.send(source.sent)
    source.cut()
    assert not world.catalog.table_exists((source.stream.name, "code"))
    source.on("codex").put(2, name="at last")
    source.cut()
    history = read_history(world.catalog, SystemTables.of(source.stream.pipeline.name))
    assert {target.rpartition(".")[2] for _, target in history.folded} == {"codex", "other"}


@pytest.mark.parametrize("family", FAMILIES)
def test_names_that_tables_exchange(world: World, family: str) -> None:
    """SCHEMA-31: there and back, in one cut each or in none between, with rows on both sides."""
    source = filled(world, family, "a", "b")
    one, two = uuid_of(source, "a"), uuid_of(source, "b")
    for number in (10, 20):
        source.on("a").put(number, name="a")
        source.rename(("a", "tmp"), ("b", "a"), ("tmp", "b"))
        source.on("b").put(number + 1, name="b")
        source.on("a").delete(number + 1) if number + 1 in source.tables["a"].rows else None
    source.cut()
    assert (uuid_of(source, "a"), uuid_of(source, "b")) == (one, two)
    source.rename(("a", "tmp"), ("b", "a"), ("tmp", "b"))
    source.cut()
    assert (uuid_of(source, "a"), uuid_of(source, "b")) == (two, one)
    source.send(source.sent)
    source.cut()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_table_without_rows_exchanges_its_name(world: World, family: str) -> None:
    """SCHEMA-31: it was made in the same cut, so its target is as new and as empty."""
    source = filled(world, family, "a")
    source.create("n")
    source.rename(("n", "tmp"), ("a", "n"), ("tmp", "a"))
    source.on("n").put(7, name="of the old one")
    source.on("a").put(1, name="of the new one")
    source.cut()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_recreated_table_exchanges_its_name(world: World, family: str) -> None:
    """SCHEMA-18, SCHEMA-31: dropped, made again and renamed, before any of it is read."""
    source = filled(world, family, "a", "b")
    source.drop("a")
    source.create("a", {"id": "bigint", "z": "int"})
    source.on("a").put(1, z=1)
    source.rename(("a", "tmp"), ("b", "a"), ("tmp", "b"))
    source.on("b").put(2, z=2)
    source.on("a").put(4, name="of b")
    source.cut()


@pytest.mark.parametrize("family", FAMILIES)
def test_names_that_pass_from_table_to_table(world: World, family: str) -> None:
    """SCHEMA-31: a ring of three, a chain, a name that is left and borne again, all in one read."""
    source = filled(world, family, "a", "b", "c")
    source.rename(("c", "tmp"), ("b", "c"), ("a", "b"), ("tmp", "a"))
    source.on("a").put(7, name="a")
    source.rename(("b", "d"), ("a", "b"))
    source.create("a", {"id": "bigint", "z": "int"})
    source.on("a").put(1, z=1)
    source.on("b").put(8, name="b")
    source.cut()
    assert set(source.tables) == {"a", "b", "c", "d"}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_table_that_somebody_made_takes_the_name(world: World, family: str) -> None:
    """SCHEMA-31: made, filled, and put in the place of another one, before any of it is read."""
    source = filled(world, family, "items")
    source.create("items_new")
    source.on("items_new").put(1, name="copied")
    source.rename(("items", "items_old"), ("items_new", "items"))
    source.on("items").put(2, name="behind")
    source.cut()
    source.drop("items_old")
    source.on("items").put(3, name="more")
    source.cut()


@pytest.mark.parametrize("family", FAMILIES)
def test_who_had_the_name_before_stays_under_another(world: World, family: str) -> None:
    """SCHEMA-31, SCHEMA-18: nothing that a statement takes away is destroyed."""
    source = filled(world, family, "a", "b")
    dropped = source.tables["a"].expected
    source.drop("a")
    source.on("b").put(6, name="b")
    source.rename(("b", "a"))
    source.on("a").put(7, name="a")
    source.cut()
    aside = [
        name
        for _, name in world.catalog.list_tables(source.stream.name)
        if name.startswith("a__until_cut_")
    ]
    assert [source.rows(name) for name in aside] == [dropped]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_name_that_nobody_follows_leaves_the_target_as_it_is(world: World, family: str) -> None:
    """SCHEMA-31: with what came before the statement; the others go on."""
    declared = [{"source": f"shop.{name}", "expectations": "none"} for name in ("a", "b")]
    options = {"tables": declared, "other-tables": "ignore"}
    source = filled(world, family, "a", "b", **options)
    source.on("a").put(6, name="before")
    kept = source.tables["a"].expected
    source.rename(("a", "archive"))
    gone = source.tables.pop("archive")
    source.tables["archive"] = gone
    source.on("archive").put(7, name="behind")
    source.on("b").put(6, name="b")
    del source.tables["archive"]
    source.kept["a"] = kept
    source.cut()
    source.send(source.sent)
    source.cut()
    status = pipeline_status(source.stream.pipeline, world)
    (dropped,) = (row for row in status.tables if row.dropped)
    assert dropped.target == f"{source.stream.name}.a"
    assert dropped.dropped.startswith("is called shop.archive at the source, which is not folded")


def test_a_table_that_nobody_followed_stops_under_a_name_that_somebody_does(world: World) -> None:
    """SCHEMA-31: of its rows nothing is known; nothing of the statement is followed."""
    declared = [{"source": f"shop.{name}", "expectations": "none"} for name in ("a", "b")]
    source = filled(world, "debezium", "a", "b", **{"tables": declared, "other-tables": "ignore"})
    source.create("unknown")
    source.rename(("a", "archive"), ("unknown", "a"))
    source.send()
    with pytest.raises(TableStoppedError, match=r"shop\.a cannot be followed: it is called"):
        source.stream.cut()


def test_random_histories(world: World, seed: int) -> None:
    """SCHEMA-31, SCHEMA-18, DUP-2: whatever names pass, and whatever is sent again."""
    rng = random.Random(f"followed names {seed}")  # noqa: S311  repeatable, not secret
    source = filled(world, FAMILIES[seed % 2], "a", "b", "c")
    for _ in range(4):
        for _ in range(rng.randint(2, 8)):
            change_at_random(source, rng)
        if rng.random() < 0.3:
            source.send(source.sent)
        source.cut()
