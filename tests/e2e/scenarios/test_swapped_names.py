"""Two followed tables that exchange their names, by what Debezium and TiCDC send about it.

Each target goes on with its table: the published rows are compared with two tables in plain Python,
which keep their rows and swap their names.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.support import tellers
from tests.support.altered import Sent
from tests.support.quarantined import TOO_MUCH, UNAVAILABLE
from tests.support.swapped import PARTS, Pair, early, go_on, opened
from tidemark.errors import TableStoppedError
from tidemark.runs.orders import all_waiting
from tidemark.runs.world import World

TABLES = ("{a} TO {b}", "{b} TO {a}")
FORMS = [("debezium", PARTS), ("ticdc", PARTS), ("ticdc", TABLES)]


@pytest.mark.parametrize(("family", "parts"), FORMS)
def test_each_target_goes_on_with_its_table(
    world: World, family: str, parts: Sequence[str]
) -> None:
    """SCHEMA-4, SCHEMA-34, DUP-2: there and, in a later cut, back; whatever is sent again."""
    pair = opened(world, family, parts)
    before = {target: pair.rows(target) for target in ("items", "others")}
    tables = {t: world.catalog.load_table((pair.stream.name, t)) for t in before}
    snapshots = {t: table.metadata.current_snapshot_id for t, table in tables.items()}
    go_on(pair, 10)
    pair.truncate(pair.two)
    pair.on(pair.two).put(5, z=55)
    pair.on(pair.one).alter("ADD a int", added={"a": ("int", None)})
    pair.on(pair.one).put(3, a=7)
    pair.swap()
    go_on(pair, 20)
    pair.on(pair.two).alter("ADD b varchar(20)", added={"b": ("varchar(20)", None)})
    pair.on(pair.two).put(2, b="above")
    pair.on(pair.one).delete(4)
    pair.declare(items="items", others="others")
    pair.cut()
    assert {target: pair.rows(target, snapshots[target]) for target in before} == before
    pair.send(pair.one.sent)
    pair.cut()
    pair.truncate(pair.one)
    go_on(pair, 30)
    pair.cut()
    pair.swap()
    go_on(pair, 40)
    pair.declare(items="others", others="items")
    pair.cut()
    go_on(pair, 50)
    pair.cut()
    pair.send(pair.one.sent)
    pair.cut()
    pair.declare()
    go_on(pair, 60)
    pair.cut()


def cut_on(pair: Pair) -> None:
    """Cut until nothing waits; each cut may end at a statement."""
    holds = [pair.stream.cut().hold]
    while holds[-1]:
        assert len(holds) < 6, holds
        holds.append(pair.stream.cut().hold)


def change_at_random(pair: Pair, rng: random.Random) -> None:
    """One statement about one of the tables."""
    table, number = pair.on(rng.choice((pair.one, pair.two))), rng.randint(1, 8)
    action = rng.random()
    if action < 0.2 and number in table.rows:
        table.delete(number)
    elif action < 0.3 and table.rows:
        pair.truncate(table)
    elif action < 0.4:
        name = f"c{len(table.columns)}"
        table.alter(f"ADD {name} int", added={name: ("int", None)})
    else:
        column = rng.choice([name for name in table.columns if name != "id"])
        value = rng.randint(1, 99)
        is_text = table.columns[column].startswith("varchar")
        table.put(number, **{column: str(value) if is_text else value})


def test_random_histories(world: World, seed: int) -> None:
    """SCHEMA-34, DUP-2: the file says so, and later no more; all is sent again at times."""
    rng = random.Random(f"swapped names {seed}")  # noqa: S311  repeatable, not secret
    pair = opened(world, *FORMS[(seed + 1) % len(FORMS)])
    for _ in range(8):
        for _ in range(rng.randint(1, 4)):
            change_at_random(pair, rng)
        if rng.random() < 0.6:
            was = {"items": pair.one.name, "others": pair.two.name}
            pair.swap()
            change_at_random(pair, rng)
            pair.declare(**was)
        elif rng.random() < 0.4:
            pair.declare()
        if rng.random() < 0.4:
            pair.send(pair.one.sent)
        pair.cut()


@pytest.mark.parametrize("family", ["debezium", "ticdc"])
def test_a_file_may_say_so_early(world: World, family: str) -> None:
    """SCHEMA-34: in however many cuts the tables have their old names still."""
    pair = opened(world, family)
    early(pair)
    for value in (10, 20):
        go_on(pair, value)
        pair.truncate(pair.one)
        pair.cut()
    go_on(pair, 30)
    pair.swap()
    go_on(pair, 40)
    pair.cut()
    pair.send(pair.one.sent)
    pair.cut()


@pytest.mark.smoke
def test_what_is_known_of_a_table_stays_with_it_from_cut_to_cut(world: World) -> None:
    """SCHEMA-34, TRUNC-3: a row below the truncate of the other table, which comes late."""
    pair = opened(world, "debezium")
    early(pair)
    pair.on(pair.two).put(6, z=6)
    late = pair.two.sent.pop()
    pair.truncate(pair.one)
    go_on(pair, 10)
    pair.send()
    pair.stream.cut()
    pair.send([late])
    pair.cut()


def test_tables_that_stand_lower_go_on_together(world: World) -> None:
    """SCHEMA-34: while others are published, and with what is quarantined of them."""
    pair = opened(world, "debezium", publish={"consistency": "table"})
    pair.on(pair.two).put(7, z=7)
    body = json.loads(pair.two.sent[-1].record.value or b"")
    body["after"]["z"] = "no number"
    bad = Sent(replace(pair.two.sent[-1].record, value=json.dumps(body).encode()))
    pair.two.sent[-1] = bad
    del pair.two.rows[7]
    go_on(pair, 10)
    pair.cut()
    pair.swap()
    pair.one, pair.two = pair.two, pair.one
    pair.declare(items="others", others="items")
    pair.one, pair.two = pair.two, pair.one
    go_on(pair, 20)
    for _ in range(2):
        pair.send()
        assert set(pair.stream.cut().stopped) == {"shop.items", "shop.others"}
        go_on(pair, 30)
    pair.declare(items="items", others="others")
    pair.cut()
    assert [entry.table for entry in all_waiting(pair.stream.pipeline, world)] == ["shop.items"]
    pair.send(pair.one.sent)
    pair.cut()


@pytest.mark.parametrize("is_early", [False, True])
def test_what_the_cut_of_an_swap_sets_aside_stays_with_its_table(
    world: World, is_early: bool
) -> None:
    """SCHEMA-34, POISON-4, UNAV-3: a later update leaves out what stands in that change alone."""
    pair = opened(world, "debezium")
    pair.on(pair.one).alter("ADD n int", added={"n": ("int", None)})
    pair.cut()
    if is_early:
        early(pair)
    pair.on(pair.one).put(1, name="in quarantine", n=1)
    pair.one.sent[-1] = tellers.with_values(pair.one.sent[-1], n=TOO_MUCH)
    if is_early:
        pair.send()
        pair.stream.cut()
    pair.swap()
    pair.declare(items="items", others="others")
    pair.send()
    pair.stream.cut()
    waiting = all_waiting(pair.stream.pipeline, world)
    assert [entry.table for entry in waiting] == [f"shop.{pair.one.name}"]
    pair.on(pair.one).put(1, n=3)
    pair.one.sent[-1] = tellers.with_values(pair.one.sent[-1], name=UNAVAILABLE)
    pair.cut()


def test_a_statement_that_was_read_in_part_stops_both(world: World) -> None:
    """MSG-23, MSG-54: neither goes on alone; the next run reads the rest."""
    pair = opened(world, "debezium")
    pair.swap()
    pair.declare(items="items", others="others")
    go_on(pair, 10)
    last = pair.one.sent.pop(
        next(n for n, s in enumerate(pair.one.sent) if b"tmp TO" in (s.record.value or b""))
    )
    pair.send()
    with pytest.raises(TableStoppedError, match="does otherwise"):
        pair.stream.cut()
    pair.send([last])
    pair.cut()


@pytest.mark.parametrize("is_declared", [False, True])
def test_a_statement_waits_until_it_is_read_whole(world: World, is_declared: bool) -> None:
    """MSG-23: what may be its first part alone ends no cut; undeclared, targets follow names."""
    pair = opened(world, "debezium", publish={"consistency": "table"})
    first = len(pair.one.sent)
    pair.swap()
    rest = pair.one.sent[first + 1 :]
    del pair.one.sent[first + 1 :]
    pair.send()
    result = pair.stream.cut()
    assert "its last part may not be read yet" in result.hold
    assert not result.stopped
    if is_declared:
        pair.declare(items="items", others="others")
    go_on(pair, 10)
    pair.send([*rest, *pair.one.sent[pair.next :]])
    cut_on(pair)
    if not is_declared:
        pair.one, pair.two = pair.two, pair.one
    pair.compare()


def test_rows_that_overtook_the_statement_stop_both(world: World) -> None:
    """GATE-N2: they were published under the names from before, and nothing undoes that.

    Where columns differ, these tell before.
    """
    pair = opened(world, "debezium")
    pair.on(pair.one).alter("ADD z int", added={"z": ("int", None)})
    pair.on(pair.two).alter("ADD name varchar(20)", added={"name": ("varchar(20)", None)})
    pair.cut()
    first = len(pair.one.sent)
    pair.swap()
    statement = pair.one.sent[first:]
    del pair.one.sent[first:]
    pair.on(pair.one).put(9, name="too early")
    pair.send()
    pair.stream.cut()
    pair.stream.options = {**pair.stream.options, "publish": {"consistency": "table"}}
    pair.declare(items="items", others="others")
    pair.send(statement)
    for _ in range(2):
        stopped = pair.stream.cut().stopped
        assert set(stopped) == {"shop.items", "shop.others"}
        assert all("was published before that was read" in why for why in stopped.values())
        go_on(pair, 10)
        pair.send()


def test_targets_that_the_file_does_not_swap_stop_both(world: World) -> None:
    """SCHEMA-34: rows of one table never go into the target of the other one."""
    pair = opened(world, "ticdc")
    pair.swap()
    go_on(pair, 10)
    pair.one, pair.two = pair.two, pair.one
    pair.declare(items="others", others="items")
    pair.one, pair.two = pair.two, pair.one
    pair.send()
    for _ in range(2):
        with pytest.raises(TableStoppedError, match="into which shop.items was never folded"):
            pair.stream.cut()
    pair.declare(items="items", others="others")
    pair.cut()


def test_there_and_back_takes_two_cuts(world: World) -> None:
    """SCHEMA-34: the file says what the first exchange does; behind it targets follow the names."""
    pair = opened(world, "ticdc")
    pair.swap()
    go_on(pair, 10)
    pair.declare(items="items", others="others")
    pair.swap()
    go_on(pair, 20)
    pair.send()
    cut_on(pair)
    pair.one, pair.two = pair.two, pair.one
    pair.compare()
