"""A table whose columns change at random, in all ways that are followed."""

from __future__ import annotations

import random
from typing import Any

from tests.support.altered import AlteredTable, quoted
from tests.support.tellers import canal_ddl

NAMES = ("a", "b", "c", "odd `name", "e")
TYPES = {"int": 7, "varchar(20)": "it's"}


def change_at_random(table: AlteredTable, rng: random.Random) -> None:
    """One statement: mostly rows, now and then columns."""
    if rng.random() < 0.7:
        _change_rows(table, rng)
    elif table.shadow is not None:
        table.end_migration(as_parts=table.tell_ddl is not canal_ddl)
    elif rng.random() < 0.25:
        _begin_migration(table, rng)
    else:
        _change_columns(table, rng)


def _change_rows(table: AlteredTable, rng: random.Random) -> None:
    number = rng.randint(1, 8)
    if number in table.rows and rng.random() < 0.25:
        table.delete(number)
        return
    values = {
        name: None if rng.random() < 0.2 else _value(kind, rng)
        for name, kind in table.columns.items()
        if name != "id" and rng.random() < 0.7
    }
    table.put(number, **values)


def _value(kind: str, rng: random.Random) -> Any:
    return rng.randint(-99, 99) if kind == "int" else rng.choice("xyz") * rng.randint(0, 3)


def _change_columns(  # noqa: C901  one branch a kind of change
    table: AlteredTable, rng: random.Random
) -> None:
    others = [name for name in table.columns if name != "id"]
    free = [name for name in NAMES if name not in table.columns]
    action = rng.choice(("add", "add", "fill", "rename", "swap", "drop", "again", "move", "anew"))
    if action in ("add", "fill") and free:
        kind = rng.choice(list(TYPES))
        _add(table, rng.choice(free), kind, TYPES[kind] if action == "fill" else None)
    elif action == "rename" and others and free:
        old, new = rng.choice(others), rng.choice(free)
        if (old, new) in table.renames:
            return
        items = f"RENAME COLUMN {quoted(old)} TO {quoted(new)}"
        if rng.random() < 0.5:
            items = f"CHANGE {quoted(old)} {quoted(new)} {table.columns[old]}"
        table.alter(items, renamed={old: new})
    elif action == "swap" and len(others) > 1:
        one, two = rng.sample(others, 2)
        if {(one, two), (two, one)} & table.renames:
            return
        items = f"RENAME COLUMN {quoted(one)} TO {quoted(two)}"
        items += f", RENAME COLUMN {quoted(two)} TO {quoted(one)}"
        table.alter(items, renamed={one: two, two: one})
    elif action == "drop" and len(others) > 1:
        gone = rng.choice(others)
        table.alter(f"DROP COLUMN {quoted(gone)}", dropped=[gone])
    elif action == "again" and others:
        gone, kind = rng.choice(others), rng.choice(list(TYPES))
        items = f"DROP {quoted(gone)}, ADD {quoted(gone)} {kind}"
        table.alter(items, dropped=[gone], added={gone: (kind, None)})
    elif action == "anew" and table.tell_ddl is not canal_ddl:
        names = rng.sample(NAMES, rng.randint(1, 3))
        table.drop()
        table.make_anew({"id": "bigint"} | {name: rng.choice(list(TYPES)) for name in names})
    elif action == "move" and others:
        name = rng.choice(others)
        kind = table.columns[name]
        table.alter(f"MODIFY {quoted(name)} {kind} NULL DEFAULT NULL COMMENT 'x' FIRST")


def _begin_migration(table: AlteredTable, rng: random.Random) -> None:
    """By gh-ost or pt-online-schema-change; a column goes, if another one is left, one joins."""
    others = [name for name in table.columns if name != "id"]
    free = [name for name in NAMES if name not in table.columns]
    dropped = [rng.choice(others)] if len(others) > 1 else []
    kind = rng.choice(list(TYPES))
    backfill = rng.choice((None, TYPES[kind]))
    added = dict.fromkeys(rng.sample(free, min(1, len(free))), (kind, backfill))
    default = "" if backfill is None else f" DEFAULT {_literal(backfill)}"
    items = [f"DROP {quoted(name)}" for name in dropped]
    items += [f"ADD {quoted(name)} {kind}{default}" for name in added]
    text = ", ".join([*items, "ADD INDEX i (id)"])
    table.begin_migration(rng.choice(("gho", "new")), text, dropped=dropped, added=added)


def _add(table: AlteredTable, name: str, kind: str, backfill: Any) -> None:
    default = "" if backfill is None else f" NOT NULL DEFAULT {_literal(backfill)}"
    table.alter(f"ADD COLUMN {quoted(name)} {kind}{default}", added={name: (kind, backfill)})


def _literal(backfill: Any) -> str:
    return "'" + backfill.replace("'", "''") + "'" if isinstance(backfill, str) else str(backfill)
