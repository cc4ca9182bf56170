"""A table that gets another primary key, by what Debezium, TiCDC and Canal send about it (KEY-16).

The published rows are compared with a table in plain Python, which keeps its rows whatever tells
them apart. Behind the statement rows share what was the key.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tests.support.keyed import FAMILIES, opened, ordered, without_own
from tidemark.errors import TableStoppedError
from tidemark.lake.catalog import SystemTables
from tidemark.lake.ledger import read_progress
from tidemark.model.quarantine import Selection
from tidemark.model.result import CutStatus
from tidemark.runs.cut import stage_cut
from tidemark.runs.orders import drop_entries
from tidemark.runs.publish import publish_cut
from tidemark.runs.run import CutRequest
from tidemark.runs.world import World
from tidemark.spec.until import until_of

OWN_COLUMNS = ("_tidemark_position", "_tidemark_commit_time")
KEYS = [("id",), ("code",), ("id", "code"), ("code", "id")]


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_go_on_under_the_new_key(world: World, family: str) -> None:
    """KEY-16, SCHEMA-11, KEY-6, DUP-2: by the old key up to the statement, then by the new one."""
    keyed = opened(world, family)
    keyed.cut()
    before = keyed.published()
    made = world.catalog.load_table((keyed.stream.name, "items"))
    first = made.metadata.current_snapshot_id
    assert made.schema().identifier_field_names() == {"id"}, "KEY-17"
    assert made.properties["comment"].endswith(f"by the pipeline {keyed.stream.name}")
    assert all(made.schema().find_field(name).doc for name in OWN_COLUMNS)
    keyed.put(1, code=500)
    keyed.delete(2)
    keyed.put(7, id=2, code=93, name="old key, again")
    keyed.put(3, id=33)
    keyed.key_change("code")
    keyed.put(4, name="by the new key", id=5)
    keyed.put(8, id=5, code=1, name="the same id")
    keyed.put(5, code=2)
    keyed.put(1, code=51)
    keyed.delete(7)
    keyed.put(9, id=9, code=93, name="a code that was free again")
    keyed.delete(6)
    results = keyed.cut()
    assert "another key behind the statement" in results[0].hold
    assert keyed.key == ("code",)
    table = world.catalog.load_table((keyed.stream.name, "items"))
    assert not table.schema().find_field("id").required
    assert table.schema().identifier_field_names() == set()
    older = table.scan(snapshot_id=first).to_arrow().to_pylist()
    assert ordered(without_own(older)) == before
    keyed.put(4, id=None)
    keyed.put(8, name="later")
    keyed.delete(5)
    keyed.cut()
    if family == "canal":
        return  # What is sent again cannot be told there.
    keyed.send(keyed.table.sent)
    keyed.cut()
    keyed.put(9, code=94, name="after all came again")
    keyed.put(10, id=9, code=93)
    keyed.cut()


@pytest.mark.parametrize("family", ["canal"])
def test_without_positions_rows_of_the_old_key_stop_the_table(world: World, family: str) -> None:
    """POS-11, KEY-1: it is unknown whether they were sent again."""
    keyed = opened(world, family)
    keyed.key_change("code")
    keyed.put(1, name="behind")
    keyed.cut()
    keyed.send(keyed.table.sent)
    with pytest.raises(TableStoppedError, match=r"KEY_MISMATCH"):
        keyed.stream.cut()
    keyed.compare()


def test_a_backlog_that_is_longer_than_a_run(world: World) -> None:
    """SCHEMA-11, TOP-3: the statement waits for rows below it that wait for keys that may move."""
    keyed = opened(world, "debezium", limits={"max-records": 25})
    keyed.key_change("code")
    for number in range(10, 70):
        keyed.put(number, id=number, code=1000 + number, name="behind")
    keyed.cut()


def test_random_histories(world: World, seed: int) -> None:
    """KEY-16, DUP-2: keys that grow, change and come back; at times all is sent again."""
    rng = random.Random(f"another key {seed}")  # noqa: S311  repeatable, not secret
    keyed = opened(world, ("debezium", "ticdc")[seed % 2])
    number = 1000
    for _ in range(6):
        for _ in range(rng.randint(1, 8)):
            number += 1
            known, action = rng.choice(list(keyed.rows)), rng.random()
            column = rng.choice(("id", "code"))
            if action < 0.25 and len(keyed.rows) > 3:
                keyed.delete(known)
            elif action < 0.5:
                own = dict.fromkeys(keyed.table.key, number)
                keyed.put(number, **{"id": rng.randint(1, 4), "code": rng.randint(1, 4), **own})
            elif action < 0.7:
                value = number if column in keyed.table.key else rng.randint(1, 4)
                keyed.put(known, **{column: value})
            else:
                keyed.put(known, name=f"at {number}")
        for key in rng.sample(KEYS, rng.choice((0, 1, 1, 2))):
            told = Counter(tuple(row[name] for name in key) for row in keyed.rows.values())
            if max(told.values()) == 1:
                keyed.key_change(*key)
                keyed.put(rng.choice(list(keyed.rows)), name="behind")
        if rng.random() < 0.4:
            keyed.send(keyed.table.sent)
        keyed.cut()


@pytest.mark.parametrize("family", ["debezium", "ticdc"])
def test_a_new_target_begins_below_the_statement(world: World, family: str) -> None:
    """KEY-16, SCHEMA-25: also where the first attempt made it and died, and nothing else."""
    keyed = opened(world, family)
    keyed.put(2, name="second")
    keyed.key_change("code")
    keyed.put(2, name="third", id=1)
    keyed.put(7, id=1, code=7)
    keyed.send()
    dead = stage_cut(keyed.stream.pipeline, world, CutRequest(keyed.stream.attempt()))
    assert dead.status is CutStatus.STAGED
    keyed.cut()
    assert keyed.key == ("code",)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_shadow_brings_the_key(world: World, family: str) -> None:
    """KEY-16, SCHEMA-33: as gh-ost makes it; what the shadow is filled with is nobody's change."""
    keyed = opened(world, family)
    keyed.cut()
    shadow = replace(keyed.table, name="_items_gho")
    shadow.say("CREATE TABLE _items_gho LIKE items")
    shadow.key = ("code",)
    shadow.say("ALTER TABLE _items_gho DROP PRIMARY KEY, ADD PRIMARY KEY (code)")
    for row in keyed.rows.values():
        shadow.place += 1
        shadow.sent.append(shadow.tell(shadow, "INSERT", row, None))
    keyed.table.place = shadow.place
    keyed.put(2, code=200)
    keyed.cut()
    keyed.put(3, name="below")
    keyed.delete(4)
    keyed.table.key = ("code",)
    keyed.table.say("RENAME TABLE items TO _items_del, _items_gho TO items")
    keyed.put(5, id=2, name="the same id")
    keyed.put(6, code=4)
    keyed.put(7, id=2, code=5)
    results = keyed.cut()
    assert "another key behind the statement" in results[0].hold
    assert keyed.key == ("code",)
    keyed.put(2, id=5)
    keyed.cut()


@pytest.mark.parametrize("cuts", [1, 2])
@pytest.mark.parametrize("family", ["debezium", "ticdc"])
def test_what_is_quarantined_has_to_be_settled_first(world: World, family: str, cuts: int) -> None:
    """KEY-16, POISON-4: the new key cannot tell whose row it was; cuts: in which all of it is."""
    keyed = opened(world, family)
    keyed.cut()
    standing = keyed.rows[2]
    keyed.put(2, code="seven")
    keyed.rows[2] = standing
    if cuts == 2:
        keyed.cut()
    keyed.key_change("id", "code")
    keyed.put(3, name="behind")
    keyed.send()
    with pytest.raises(TableStoppedError, match="1 of its changes are quarantined, of row") as why:
        keyed.stream.cut()
    told = re.search(r"tidemark cut \S+ --until (\S+), which", str(why.value))
    assert (told is not None) == (cuts == 1)
    if told is not None:
        keyed.stream.cut(until=until_of(keyed.stream.pipeline, told[1]))
    assert "code" not in keyed.key
    assert drop_entries(keyed.stream.pipeline, world, Selection(), "a test sent it") == 1
    keyed.cut()
    assert keyed.key == ("id", "code")


@pytest.mark.smoke
def test_an_attempt_that_died_leaves_no_key_behind(world: World) -> None:
    """SCHEMA-10: the key shows with the rows of its cut, and publishing twice changes nothing."""
    keyed = opened(world, "ticdc")
    keyed.cut()
    keyed.key_change("code")
    keyed.put(2, id=1, name="behind")
    keyed.send()
    stage_cut(keyed.stream.pipeline, world, CutRequest(keyed.stream.attempt()))
    assert keyed.key == ("id",)
    attempt = keyed.stream.attempt()
    stage_cut(keyed.stream.pipeline, world, CutRequest(attempt))
    publish_cut(keyed.stream.pipeline, world, attempt)
    publish_cut(keyed.stream.pipeline, world, attempt)
    assert keyed.key == ("code",)
    keyed.cut()


@pytest.mark.parametrize("family", ["debezium", "debezium with gate", "ticdc"])
def test_the_key_goes_and_comes_by_two_statements(world: World, family: str) -> None:
    """KEY-16: as TiDB makes it; a row between them stops the table."""
    keyed = opened(world, family)
    keyed.cut()
    keyed.put(2, name="below")
    keyed.table.say("ALTER TABLE items DROP PRIMARY KEY")
    keyed.send()
    with pytest.raises(TableStoppedError, match="it has none any more: ALTER TABLE items DROP P"):
        keyed.cut()
    keyed.table.key = ("code",)
    keyed.table.say("ALTER TABLE items ADD PRIMARY KEY (code)")
    keyed.put(3, id=2)
    keyed.cut()
    keyed.table.say("ALTER TABLE items DROP PRIMARY KEY")
    keyed.put(3, name="between")
    keyed.table.key = ("id", "code")
    keyed.table.say("ALTER TABLE items ADD PRIMARY KEY (id, code)")
    keyed.put(4, name="behind")
    keyed.send()
    with pytest.raises(TableStoppedError, match="rows came between the loss of the old one and"):
        keyed.stream.cut()


@pytest.mark.parametrize("family", ["debezium", "debezium with gate", "ticdc"])
def test_a_table_that_stood_lower_gets_its_key_alone(world: World, family: str) -> None:
    """KEY-16, SCHEMA-11: the statement stands below what the others have published."""
    tables: list[dict[str, Any]] = [
        {"source": "shop.items", "expectations": "none", "column-changes": "freeze"},
        {
            "source": "shop.others",
            "expectations": "none",
            "key": ["id"],
            "columns": {"id": "bigint", "z": "int"},
        },
    ]
    keyed = opened(world, family, tables=tables, publish={"consistency": "table"})
    other = replace(
        keyed.table, name="others", columns={"id": "bigint", "z": "int"}, rows={}, key=("id",)
    )

    def put_other(number: int) -> None:
        other.place = keyed.table.place
        other.put(number, z=number)
        keyed.table.place = other.place

    put_other(1)
    keyed.cut()
    keyed.put(2, name="below")
    keyed.key_change("code")
    keyed.put(3, id=2, name="behind")
    put_other(2)
    keyed.send()
    stopped = [keyed.stream.cut() for _ in range(3)]
    assert "(key code), and its policy is freeze" in stopped[0].stopped["shop.items"]
    others = world.catalog.load_table((keyed.stream.name, "others")).scan().to_arrow()
    assert others.num_rows == 2
    put_other(3)
    keyed.put(4, id=2)
    keyed.put(5, code=4)
    keyed.send()
    keyed.stream.cut()
    tables[0]["column-changes"] = "evolve"
    keyed.put(6, name="last")
    keyed.cut()
    assert keyed.key == ("code",)
    progress = read_progress(world.catalog, SystemTables.of(keyed.stream.pipeline.name))
    assert progress.behind == {}
    assert world.catalog.load_table((keyed.stream.name, "others")).scan().to_arrow().num_rows == 3


def test_a_key_that_does_not_tell_rows_apart_is_not_published(world: World) -> None:
    """KEY-16: then rows are missing or too many, and the audit blocks the cut."""
    keyed = opened(world, "ticdc")
    keyed.cut()
    before = keyed.published()
    keyed.put(2, code=keyed.rows[1]["code"])
    keyed.key_change("code")
    keyed.send()
    blocked = keyed.stream.cut()
    assert blocked.status is CutStatus.BLOCKED
    assert (keyed.key, keyed.published()) == (("id",), before)


@pytest.mark.parametrize("mode", ["soft-delete", "history", "append"])
def test_targets_that_keep_what_ended(world: World, mode: str) -> None:
    """KEY-16, KEY-11: a key with all columns of the old one is followed, and ends what it ends."""
    tables = [{"source": "shop.items", "expectations": "none", "mode": mode}]
    keyed = opened(world, "ticdc", tables=tables)
    keyed.send()
    keyed.stream.cut()
    keyed.delete(2)
    keyed.key_change("id", "code")
    keyed.put(3, name="behind")
    keyed.put(7, id=3, code=1, name="the same id")
    keyed.delete(4)
    keyed.put(5, code=2)
    keyed.send()
    for _ in range(2):
        keyed.stream.cut()
    assert keyed.key == ("id", "code")
    rows = world.catalog.load_table((keyed.stream.name, "items")).scan().to_arrow().to_pylist()
    if mode == "append":
        told = Counter((row["_tidemark_op"], row["id"], row["code"]) for row in rows)
        first = Counter(("upsert", number, 100 - 7 * number) for number in range(1, 7))
        assert told - first == Counter(
            [
                *(("delete", 2, None), ("upsert", 3, 79), ("upsert", 3, 1)),
                *(("delete", 4, 72), ("delete", 5, 65), ("upsert", 5, 2)),
            ]
        )
        return
    ended = "_tidemark_deleted" if mode == "soft-delete" else "_tidemark_end_position"
    standing = [row for row in rows if not row[ended]]
    assert ordered(without_own(standing)) == ordered(keyed.rows.values())
    gone = {(row["id"], row["code"]) for row in rows if row[ended]}
    assert gone - {(3, 79)} == {(2, 86), (4, 72), (5, 65)}
