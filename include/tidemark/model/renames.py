"""Tables that the source renamed: who bears which name at which position (SCHEMA-31, SCHEMA-34)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Self

from tidemark.model.names import TableName
from tidemark.model.position import Position, event_id_of, place_of

Pairs = Sequence[tuple[TableName, TableName]]
"""The old and the new names that one statement tells."""


@dataclass(frozen=True, slots=True)
class Rename:
    """A table that is called ``new``, and that records at and below ``position`` call ``old``.

    position: None while the statement has not come; then whatever is called ``old`` is this table.
    A rename that is due at a position is made only by the statement at that position (SCHEMA-31).
    target: the Iceberg table that the file has for it; empty where an older version kept none.
    """

    old: TableName
    new: TableName
    position: Position | None = None
    target: str = ""

    def to_json(self) -> list[Any]:
        """As kept in the ledger."""
        return [str(self.old), str(self.new), self.position, self.target]

    @classmethod
    def from_json(cls, stored: Sequence[Any]) -> Self:
        """The reverse of `to_json`."""
        old, new, position, target = stored
        return cls(TableName.parse(old), TableName.parse(new), position, target)

    def is_at(self, position: Position) -> bool:
        """Whether the statement at ``position`` made it, or is a copy of that one (POS-14)."""
        return self.position is not None and event_id_of(self.position) == event_id_of(position)

    def may_be_at(self, position: Position) -> bool:
        """Whether the statement at ``position`` may make it, being due."""
        return self.position is None or self.is_at(position)


@dataclass(frozen=True, slots=True)
class Renames:
    """What the file says of former names, and what was followed of it.

    declared: renames as the file has them, without positions, and those that a statement tells
    which the cut ends with. done: with their positions, in their order.
    others: tables that the file has under one name alone.
    """

    declared: tuple[Rename, ...] = ()
    done: tuple[Rename, ...] = ()
    others: frozenset[TableName] = frozenset()

    @property
    def due(self) -> tuple[Rename, ...]:
        """Those that are declared and have not come yet.

        Tables that exchange their names may do so again, and then the file has the same names, but
        for other targets.
        """
        return tuple(rename for rename in self.declared if not self._has_come(rename))

    @property
    def table_swaps(self) -> tuple[tuple[Rename, ...], ...]:
        """Those that are due and pass their names on in a ring, ring by ring."""
        return table_swaps_of(self.due)

    def _has_come(self, rename: Rename) -> bool:
        if rename.position is not None:
            known = (done for done in self.done if done.is_at(rename.position))
            return any((done.old, done.new) == (rename.old, rename.new) for done in known)
        done = self.followed(rename.old, rename.new)
        if done is None or done.target in ("", rename.target):
            return done is not None
        return not self.is_table_swap(done)

    def is_table_swap(self, done: Rename) -> bool:
        """Whether ``done`` is of tables that passed their names on in a ring."""
        return any(done in table_swap for table_swap in table_swaps_of(self._beside(done)))

    def _beside(self, done: Rename) -> list[Rename]:
        return [rename for rename in self.done if rename.position and done.is_at(rename.position)]

    def followed(self, old: TableName, new: TableName) -> Rename | None:
        """How ``new`` got its name from ``old``; None if it did not, or has another one since."""
        about = [rename for rename in self.done if new in (rename.old, rename.new)]
        last = self._beside(about[-1]) if about else []
        return next((rename for rename in last if (rename.old, rename.new) == (old, new)), None)

    def with_renames(self, made: Iterable[Rename]) -> tuple[Rename, ...]:
        """All that tells names: what was followed, what was ``made`` now, and what is due."""
        now = Renames(self.declared, (*self.done, *made))
        return (*sorted(now.done, key=lambda rename: rename.position or ""), *now.due)

    def made_by(self, pairs: Pairs, position: Position) -> tuple[Rename, ...]:
        """What is due and one statement makes; of tables that exchange names all or none.

        No table takes a name that another one still has. Tables exchange their names where
        positions tell what is sent again, as an exchange that comes again goes back.
        """
        due = self.due
        bearers = {rename.old for rename in due}
        ringed = {rename for table_swap in table_swaps_of(due) for rename in table_swap}
        if place_of(position) is None:
            due = tuple(rename for rename in due if rename not in ringed)
        made = [
            rename
            for rename in due
            if rename.may_be_at(position)
            and way(pairs, rename.old, rename.new, bearers | self.others)
        ]
        while True:
            remaining = bearers - {rename.old for rename in made}
            free = [rename for rename in made if rename.new not in remaining]
            if free == made:
                return tuple(replace(rename, position=position) for rename in made)
            made = free


def table_swaps_of(renames: Iterable[Rename]) -> tuple[tuple[Rename, ...], ...]:
    """Those of ``renames`` that pass names on in a ring, each ring from its least name on."""
    by_old = {rename.old: rename for rename in renames}
    table_swaps = []
    for first in sorted(by_old):
        table_swap = [by_old[first]]
        while (after := by_old.get(table_swap[-1].new)) is not None and after not in table_swap:
            table_swap.append(after)
        if table_swap[-1].new == first and first == min(rename.old for rename in table_swap):
            table_swaps.append(tuple(table_swap))
    return tuple(table_swaps)


def steps(
    renames: Iterable[Rename],
) -> Iterator[tuple[Position | None, dict[TableName, TableName]]]:
    """Old -> new names by position, those of one statement at once; renames: in their order."""
    for _, group in groupby(
        renames, key=lambda rename: rename.position and event_id_of(rename.position)
    ):
        together = list(group)
        yield together[-1].position, {rename.old: rename.new for rename in together}


def names_now(
    renames: Iterable[Rename],
) -> Iterator[tuple[TableName, Position | None, TableName | None]]:
    """What a name of then is now: the name, the last position at which that holds, the name of now.

    By name and position; positions: None where it holds up to the newest one. Names of now: None
    where the table is none that is known. What is in no line has its name still.
    """
    done = list(steps(renames))
    for then in sorted({name for _, names in done for pair in names.items() for name in pair}):
        lines = [(at, _now(then, done[number:])) for number, (at, _) in enumerate(done)]
        ends = [*lines[1:], None]
        for line, after in zip(lines, ends, strict=True):
            if after is None or after[1] != line[1]:
                yield then, *line


def _now(
    name: TableName, done: Iterable[tuple[Position | None, Mapping[TableName, TableName]]]
) -> TableName | None:
    for position, names in done:
        if position is not None and name in names.values() and name not in names:
            return None
        name = names.get(name, name)
    return name


def way(pairs: Pairs, old: TableName, new: TableName, bearers: Collection[TableName]) -> Pairs:
    """The pairs by which the table ``old`` comes to be ``new``; empty where it does not.

    bearers: tables that are there, so that no other one passes through their names. The pairs of
    one statement may come in any order (MSG-54).
    """
    ways: dict[TableName, Pairs] = {old: ()}
    reached = [old]
    for name in reached:
        for pair in pairs:
            if pair[0] != name:
                continue
            if pair[1] == new:
                return (*ways[name], pair)
            if pair[1] not in ways and pair[1] not in bearers:
                ways[pair[1]] = (*ways[name], pair)
                reached.append(pair[1])
    return ()


def unexplained(
    pairs: Pairs, moves: Mapping[TableName, TableName]
) -> list[tuple[TableName, TableName]]:
    """The pairs that are no part of ``moves``, old -> new names of tables.

    A table may be told by the name that it had before the statement at each step of it (MSG-54);
    then its last pair counts.
    """
    used = {pair for old, new in moves.items() for pair in way(pairs, old, new, moves)}
    last = {pair[0]: number for number, pair in enumerate(pairs) if pair in used}
    return [
        pair
        for number, pair in enumerate(pairs)
        if pair not in used and (pair[1] in moves or number > last.get(pair[0], -1))
    ]


def swapped_tables(
    pairs: Pairs, table: TableName, tables: Collection[TableName]
) -> list[TableName]:
    """``table``, the one of ``tables`` whose name it takes by ``pairs``, and so on around a ring.

    Empty where that leads back to no other table, or where it is in doubt.
    """
    named = {name for pair in pairs for name in pair} & set(tables)
    table_swap = [table]
    while True:
        after = [
            name for name in named - {table_swap[-1]} if way(pairs, table_swap[-1], name, named)
        ]
        if len(after) != 1 or after[0] in table_swap[1:]:
            return []
        if after[0] == table:
            return table_swap
        table_swap.append(after[0])


def listed(table_swap: Iterable[Rename]) -> str:
    """The tables of a ring, as a message names them."""
    return " and ".join(sorted(str(rename.old) for rename in table_swap))
