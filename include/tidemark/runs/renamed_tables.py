"""Tables that the source renamed and whose file says nothing of it: targets follow the names.

The target of a table is at every cut what the source calls so at that cut (SCHEMA-31). So a cut
ends at the statement. For this one cut the table is taken as if its file had the former name
(`was:`, SCHEMA-31), and as the cut is published, its target gets the name that belongs to the new
one, together with the targets of all tables of the statement. No data file is rewritten, and what
had the name before stays, under another one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from tidemark.errors import TableStoppedError
from tidemark.lake.catalog import TableId
from tidemark.lake.evolve import TargetHead, read_target
from tidemark.lake.history import History, read_history
from tidemark.lake.refs import Displaced, TargetRename
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.position import LAST, Place, Position, place_of
from tidemark.model.profile import BatchProfile
from tidemark.model.renames import Pairs, Rename, Renames
from tidemark.model.until import Barrier, Behind
from tidemark.runs.ddl.effects import DdlEffects, RenamedBy
from tidemark.runs.run import FollowedRename, Run
from tidemark.runs.targets import followed_targets, is_folded, spec_of, targets_of


@dataclass(frozen=True, slots=True)
class RenameStatement:
    """One statement, and what becomes of the tables that it renames.

    freed_at: where a table with one of the new names was dropped before, in the same cut.
    """

    table: TableName
    position: Position
    freed_at: Position | None
    renames: tuple[FollowedRename, ...]

    def waits_for(self, run: Run, effects: DdlEffects, profile: BatchProfile) -> str:
        """Why the cut must end before the statement; empty where it need not.

        Debezium tells a list of renames by one record each, at one place (MSG-23). What may be the
        last record of its topic and was landed just now may have others behind it.
        """
        if effects.renames:
            return "the renames that the file tells come first"
        if run.pipeline.source.format.is_canal:
            return ""  # They are one barrier, and the watermark stands above it (MSG-54).
        place = place_of(self.position) or Place("")
        ddl = [entry for entry in profile.profile_entries if entry.kind is Kind.DDL]
        is_last = all((entry.highest_place or place) <= place for entry in ddl)
        is_new = any(entry.is_new for entry in ddl if entry.highest_place == place)
        return "its last part may not be read yet" if is_last and is_new else ""

    @property
    def barrier(self) -> Barrier:
        """Where the cut ends: at the statement, or before it where a name has to be freed first."""
        if self.freed_at is not None:
            return Barrier(self.table, self.freed_at, Behind.DROPPED)
        return Barrier(self.table, self.position, Behind.OTHER_NAME)


def first_rename(
    run: Run, effects: DdlEffects, profile: BatchProfile, before: Place
) -> RenameStatement | None:
    """The first statement that the file does not explain and that can be followed all the same.

    profile: what the cut holds. before: as of `published_place`. What stands at it came again. None
    also where it is unknown which rows a table had, or which target; then the tables stop with the
    statement (SCHEMA-31).
    """
    statements = {
        stop.by.position: stop.by
        for table, stop in effects.stops.items()
        if stop.by is not None and table not in run.progress.behind
    }
    names = _Names(run, effects, profile) if statements else None
    for position in sorted(statements):
        place = place_of(position)
        if names is None or place is None or place <= before:
            continue
        try:
            renames = tuple(names.followed(statements[position]))
        except TableStoppedError:  # A target of one of the names is not ours.
            continue
        if renames:
            freed = [
                at for at in statements[position].freed.values() if (place_of(at) or "") > before
            ]
            table = renames[0].spec.source
            return RenameStatement(table, position, max(freed, default=None), renames)
    return None


def _first_seen(effects: DdlEffects, profile: BatchProfile) -> Mapping[tuple[str, str], Place]:
    """Where each table comes first in the cut, by its changes or by the statement that made it.

    By the schema and table that records name, which may be invalid for a target.
    """
    seen: dict[tuple[str, str], Place] = {}
    for entry in profile.profile_entries:
        if entry.status is CheckpointStatus.PENDING and entry.is_change and entry.table:
            place = entry.lowest_place or Place("")
            seen[entry.table] = min(place, seen.get(entry.table, place))
    for table, created in effects.created.items():
        name, place = (table.schema, table.table), place_of(created.position) or Place("")
        seen[name] = min(place, seen.get(name, place))
    return seen


class _Names:
    """Who bears which name before a statement, and which target each has."""

    def __init__(self, run: Run, effects: DdlEffects, profile: BatchProfile) -> None:
        self._run, self._effects = run, effects
        self._first_seen = _first_seen(effects, profile)
        done = (*run.progress.renames, *effects.renames)
        due = Renames(run.renames, done).due
        self._due = {name for rename in due for name in (rename.old, rename.new)}
        self._history = read_history(run.world.catalog, run.system)
        self._targets = targets_of(run.pipeline, self._history, run.progress)
        self._heads: dict[TableId, TargetHead | None] = {}

    def followed(self, by: RenamedBy) -> Iterator[FollowedRename]:
        """What becomes of each table of a statement; nothing unless all of it can be followed."""
        bearers = {name for pair in by.pairs for name in pair if self._is_borne(name, by)}
        moves = net_moves(by.pairs, bearers)
        if not self._explains(by.pairs, moves, bearers):
            return
        remaining = frozenset(
            (table, target)
            for table, target in self._history.folded
            if table not in {str(old) for old in moves}
        )
        history = replace(self._history, folded=remaining)
        for old, new in moves.items():
            target = self._current_target(old)
            becomes = self._target_of(new, history) if self._is_folded(new) else target
            rename = self._renamed(becomes, moves) if becomes != target else None
            spec = spec_of(self._run.pipeline, new if self._is_folded(new) else old)
            update = {"source": new, "was": old, "target": target.table}
            due = Rename(old, new, by.position, becomes.table)
            yield FollowedRename(due, spec.model_copy(update=update), rename, self._is_folded(new))

    def _is_borne(self, name: TableName, by: RenamedBy) -> bool:
        """Whether a table of the pipeline bears ``name`` before the statement ``by``."""
        if not self._is_folded(name) or name in by.freed:
            return False
        head = self._head(self._current_target(name))
        dropped = head.source_schema.dropped_at if head is not None else None
        is_back = dropped is None or self._effects.is_undone(name, dropped)
        is_there = head is not None and is_back
        return is_there or self._first_seen.get((name.schema, name.table), LAST) < by.position

    def _explains(
        self,
        pairs: Pairs,
        moves: Mapping[TableName, TableName],
        bearers: Collection[TableName],
    ) -> bool:
        """Whether every table that gets a name of the pipeline is known, and the name is free."""
        if not moves or not self._run.asks_for({*moves, *moves.values()}):
            return False
        if self._due & {name for pair in pairs for name in pair}:
            return False
        if any(self._run.stands_apart(table) for table in moves):
            return False
        arrive = {new for _, new in pairs if self._is_folded(new)}
        passing = {old for old, _ in pairs} - moves.keys()
        return arrive - passing <= set(moves.values()) and all(
            new in moves or new not in bearers for new in moves.values()
        )

    def _renamed(self, becomes: TableId, moves: Mapping[TableName, TableName]) -> TargetRename:
        """Who has the name that a target gets keeps its rows, under the number of the cut."""
        leaving = set(map(self._current_target, moves))
        head = self._head(becomes)
        if head is None or becomes in leaving:
            return TargetRename(becomes)
        number = self._run.progress.cut + 1
        displaced_id = TableId(becomes.namespace, f"{becomes.table}__until_cut_{number}")
        return TargetRename(becomes, Displaced(head.metadata, displaced_id))

    def _current_target(self, table: TableName) -> TableId:
        """Of a table that bears its name so far; one without rows was never published."""
        return self._targets.get(table) or self._target_of(table, self._history)

    def _target_of(self, table: TableName, history: History) -> TableId:
        declared = {spec.source: spec.target for spec in self._run.pipeline.tables}
        pipeline = self._run.pipeline
        name = declared.get(table) or followed_targets(pipeline, history, {table})[table]
        return TableId(pipeline.target_namespace, name)

    def _is_folded(self, name: TableName) -> bool:
        return is_folded(self._run.pipeline, (name.schema, name.table))

    def _head(self, target: TableId) -> TargetHead | None:
        if target not in self._heads:
            self._heads[target] = read_target(self._run.world.catalog, target)
        return self._heads[target]


def net_moves(pairs: Pairs, bearers: Collection[TableName]) -> dict[TableName, TableName]:
    """Old -> new names of ``bearers``, the tables that are there, after all of ``pairs``.

    A name that no table bears is passed through, in whatever order the pairs come, and once. Of
    several pairs with one old name the last counts (MSG-54).

    >>> a, b, c = (TableName("s", name) for name in "abc")
    >>> net_moves([(a, c), (b, a), (c, b)], {a, b}) == {a: b, b: a}
    True
    """
    leads = dict(pairs)
    moves = {}
    for old in sorted(set(leads) & set(bearers)):
        new, passed = leads[old], {old}
        while new in leads and new not in {*bearers, *passed}:
            passed.add(new)
            new = leads[new]
        if new != old:
            moves[old] = new
    return moves
