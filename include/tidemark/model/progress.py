"""How far a pipeline is: the state of its gate, kept in the ledger with its head (PUB-1, PUB-9)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tidemark.model.cut import Frontier, frontier_from_json, frontier_to_json
from tidemark.model.expansion import PartitionExpansions, expansions_from_json, expansions_to_json
from tidemark.model.fingerprint import Fingerprints, fingerprints_from_json, fingerprints_to_json
from tidemark.model.log_end import LogEnd
from tidemark.model.names import ColumnName, TableName, TopicName
from tidemark.model.offsets import Offsets, TopicPartition, offsets_from_json, offsets_to_json
from tidemark.model.position import EPOCH, OrderedBy, Place, Position
from tidemark.model.quarantine import Selection
from tidemark.model.reconcile import Snapshots
from tidemark.model.refold import Refold, TableState
from tidemark.model.renames import Rename, Renames
from tidemark.model.stored_state import Stored, from_stored, to_stored

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LandingMark:
    """How far topics are landed: next offsets, topic ids, and the number of the newest landing.

    ordered_by: None until changes were landed (POS-12). snapshot_lsn: PostgreSQL, the highest LSN
    of a snapshot row that was landed (POS-7). expansions: with gate ``none`` (TOP-3).
    fingerprints: the newest record of each partition (TOP-5). caught_up: where topics may be
    compacted, when each partition was last read to its end, or begun, in ms since 1970 (KEY-12).
    """

    number: int = 0
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    ordered_by: OrderedBy | None = None
    snapshot_lsn: int = 0
    expansions: PartitionExpansions = field(default_factory=dict)
    fingerprints: Fingerprints = field(default_factory=dict)
    caught_up: Mapping[TopicPartition, int] = field(default_factory=dict)

    def to_json(self) -> str:
        """As kept in the changelog."""
        return json.dumps(
            to_stored(
                {
                    "landing": self.number,
                    "offsets": offsets_to_json(self.offsets),
                    "topic_ids": dict(sorted(self.topic_ids.items())),
                    "ordered_by": self.ordered_by,
                    "snapshot_lsn": self.snapshot_lsn,
                    "expansions": expansions_to_json(self.expansions),
                    "fingerprints": fingerprints_to_json(self.fingerprints),
                    "caught_up": offsets_to_json(self.caught_up),
                }
            )
        )

    @classmethod
    def from_json(cls, text: str) -> LandingMark:
        """The reverse of `to_json`."""
        stored = from_stored(Stored.LANDING, json.loads(text))
        ordered_by = stored["ordered_by"]
        return cls(
            number=stored["landing"],
            offsets=offsets_from_json(stored["offsets"]),
            topic_ids=stored["topic_ids"],
            ordered_by=OrderedBy(ordered_by) if ordered_by else None,
            snapshot_lsn=stored["snapshot_lsn"],
            expansions=expansions_from_json(stored["expansions"]),
            fingerprints=fingerprints_from_json(stored["fingerprints"]),
            caught_up=offsets_from_json(stored["caught_up"]),
        )


@dataclass(frozen=True, slots=True)
class Progress:
    """What is published, and what the gate must remember until the next cut.

    landing: newest landing whose records were gated; oldest_held: oldest landing that may still
    hold a record above the frontier. behind: tables that stand lower than the frontier.
    landings: of these, where it is an older one, the newest landing that was gated as they came to
    their frontiers; what came later and stands below these is new to them (GATE-3).
    newest_ms: greatest source time of any change that was streamed and is published; read_ms:
    when the newest row of a snapshot of the source was read. epochs: per hand-over the offsets at
    which the log's next epoch begins (POS-17).
    watermarks: greatest seen per partition (GATE-4). truncated: per table the position of its
    newest truncate, or of the snapshot that it was reconciled with (TRUNC-3, SNAP-6). snapshots:
    tables that are re-snapshotted. window_bounds: of truncated tables, the position below which
    incremental rows above the truncate fall (SNAP-7). blocked: tables that stay stopped (GATE-5)
    -> why. skipped: keys of transactions that a person gives up (GATE-T8). acknowledged: positions
    of statements that a person takes for ones without effect -> why (SCHEMA-26); judged_records:
    likewise, until the next cut, places of records that cannot be read (POISON-3). renames: of
    tables that were followed, in their order (SCHEMA-31). quiet_settles: the next run may settle
    more though it finds nothing new (GATE-T6, SNAP-5, SCHEMA-38). quarantined: tables of which
    changes ever were. replays: what of it the next cut tries again (POISON-4). followed: the tables
    that the file declared; None where an older version did not keep them. withheld: table -> its
    columns of which values are unknown (SCHEMA-38). refolds: tables that are folded again from the
    changelog; what else is said of them is of the refold (REFOLD-1). void: places of snapshots that
    were broken off and replaced (TOP-7), and given_up: keys of transactions that were, for tables
    that stand lower. topics: table -> the topic by whose offsets its rows are ordered (POS-11).
    dropped: tables that the source has no more, of which the targets stay -> where they went, or
    got names that nobody follows (SCHEMA-18, SCHEMA-31).
    """

    cut: int = 0
    landing: int = 0
    oldest_held: int = 1
    frontier: Frontier = field(default_factory=Frontier)
    behind: Mapping[TableName, Frontier] = field(default_factory=dict)
    landings: Mapping[TableName, int] = field(default_factory=dict)
    newest_ms: int = 0
    read_ms: int = 0
    epochs: tuple[Offsets, ...] = ()
    watermarks: Mapping[TopicPartition, int] = field(default_factory=dict)
    truncated: Mapping[TableName, Position] = field(default_factory=dict)
    snapshots: Snapshots = field(default_factory=Snapshots)
    window_bounds: Mapping[TableName, Position] = field(default_factory=dict)
    blocked: Mapping[TableName, str] = field(default_factory=dict)
    skipped: frozenset[str] = frozenset()
    acknowledged: Mapping[Position, str] = field(default_factory=dict)
    acknowledged_records: Mapping[str, str] = field(default_factory=dict)
    renames: tuple[Rename, ...] = ()
    quiet_settles: bool = False
    quarantined: frozenset[TableName] = frozenset()
    replays: tuple[Selection, ...] = ()
    followed: frozenset[TableName] | None = None
    withheld: Mapping[TableName, tuple[ColumnName, ...]] = field(default_factory=dict)
    refolds: Mapping[TableName, Refold] = field(default_factory=dict)
    void: frozenset[Place] = frozenset()
    given_up: frozenset[str] = frozenset()
    topics: Mapping[TableName, TopicName] = field(default_factory=dict)
    dropped: Mapping[TableName, Position] = field(default_factory=dict)

    @property
    def epoch(self) -> int:
        """The source's newest one (POS-15)."""
        return EPOCH + len(self.epochs)

    @property
    def log_end(self) -> LogEnd:
        """Where what is published of the source's log ends."""
        frontier = self.frontier
        return LogEnd(frontier.reached, frontier.streamed, self.newest_ms, self.read_ms)

    def in_new_log(self, starts: Offsets) -> Progress:
        """The same with another epoch; starts: the offset per partition at which it begins.

        A partition that they do not name begins it at its first record (POS-17).
        """
        frontier = replace(self.frontier, numbers={}, gaps={})
        return replace(self, epochs=(*self.epochs, starts), frontier=frontier)

    def frontier_of(self, table: TableName) -> Frontier:
        """How far ``table`` is published."""
        return self.behind.get(table, self.frontier)

    def landing_of(self, table: TableName) -> int:
        """The newest landing that was gated as ``table`` came to its frontier."""
        return self.landings.get(table, self.landing)

    def added(self, declared: Iterable[TableName]) -> frozenset[TableName]:
        """Those of ``declared`` that came into the file since the newest cut (SCHEMA-35)."""
        if self.followed is None or not self.cut:
            return frozenset()
        return frozenset(declared) - self.followed - self.behind.keys()

    def with_added(self, added: Collection[TableName]) -> Progress:
        """The same, where the tables ``added`` stand below all that was ever landed."""
        if not added:
            return self
        behind = {**self.behind, **dict.fromkeys(added, Frontier())}
        return replace(self, behind=behind, oldest_held=1)

    def state_of(self, table: TableName) -> TableState:
        """What is known of ``table``."""
        return TableState(
            self.frontier_of(table),
            self.truncated.get(table),
            self.window_bounds.get(table),
            self.blocked.get(table, ""),
            self.landing_of(table),
        )

    def with_state(self, table: TableName, state: TableState) -> Progress:
        """The same where ``table`` is as ``state`` says."""
        return replace(
            self,
            behind={**self.behind, table: state.frontier},
            truncated=_with(self.truncated, table, state.truncated),
            window_bounds=_with(self.window_bounds, table, state.window_bound),
            blocked=_with(self.blocked, table, state.blocked or None),
            landings=_with(
                self.landings, table, state.landing if state.landing < self.landing else None
            ),
        )

    def with_refold(self, table: TableName, refold: Refold, begins: TableState) -> Progress:
        """The same where ``table`` is folded again from ``begins`` on (REFOLD-1)."""
        begun = self.with_state(table, begins)
        return replace(begun, refolds={**self.refolds, table: refold}, oldest_held=1)

    def without_refold(self, table: TableName) -> Progress:
        """The same where ``table`` goes on as it did before its refold; KeyError without one."""
        refolds = {other: refold for other, refold in self.refolds.items() if other != table}
        return replace(self.with_state(table, self.refolds[table].paused), refolds=refolds)

    def with_refold_done(self, table: TableName) -> Progress:
        """The same where the refold of ``table`` is published; KeyError without one.

        Where it took the place of the target, that has lost no row that it had lost before, and
        nothing keeps the table any more; it has all that was gated meanwhile. One that stands where
        the frontier is, and lacks nothing that came late, stands lower no more.
        """
        refold = self.refolds[table]
        after = self.without_refold(table)
        if refold.replaces:
            known = filter(None, (self.truncated.get(table), refold.paused.truncated))
            paused = replace(
                refold.paused,
                truncated=max(known, default=None),
                blocked="",
                landing=self.landing,
            )
            after = after.with_state(table, paused)
        is_at_frontier = _without_places(after.frontier_of(table)) == _without_places(self.frontier)
        if is_at_frontier and table not in after.landings:
            behind = {other: frontier for other, frontier in after.behind.items() if other != table}
            after = replace(after, behind=behind)
        return after

    def known_renames(self, declared: tuple[Rename, ...]) -> tuple[Rename, ...]:
        """All that tells the names of tables now: what was followed, and what is declared."""
        return Renames(declared, self.renames).with_renames(())

    def under(self, declared: tuple[Rename, ...]) -> Progress:
        """The same with what is kept of tables under the names that they will have."""
        return self._named(
            {rename.old: rename.new for rename in Renames(declared, self.renames).due}
        )

    def as_stored(self, declared: tuple[Rename, ...]) -> Progress:
        """The reverse of `under`: names as the statements that were followed tell them."""
        return self._named(
            {rename.new: rename.old for rename in Renames(declared, self.renames).due}
        )

    def _named(self, names: Mapping[TableName, TableName]) -> Progress:
        if not names:
            return self

        def named(by_table: Mapping[TableName, T]) -> dict[TableName, T]:
            stay = {table: what for table, what in by_table.items() if table not in names}
            return stay | {names[table]: what for table, what in by_table.items() if table in names}

        return replace(
            self,
            behind=named(self.behind),
            landings=named(self.landings),
            truncated=named(self.truncated),
            snapshots=replace(self.snapshots, tables=named(self.snapshots.tables)),
            window_bounds=named(self.window_bounds),
            blocked=named(self.blocked),
            quarantined=frozenset(names.get(table, table) for table in self.quarantined),
            replays=tuple(selection.under(names) for selection in self.replays),
            followed=None
            if self.followed is None
            else frozenset(names.get(table, table) for table in self.followed),
            withheld=named(self.withheld),
            refolds=named(self.refolds),
            topics=named(self.topics),
            dropped=named(self.dropped),
        )

    def to_json(self) -> str:
        """As kept in the ledger."""
        return json.dumps(
            to_stored(
                {
                    "cut": self.cut,
                    "landing": self.landing,
                    "oldest_held": self.oldest_held,
                    "frontier": frontier_to_json(self.frontier),
                    "behind": {str(t): frontier_to_json(f) for t, f in sorted(self.behind.items())},
                    "landings": {str(t): number for t, number in sorted(self.landings.items())},
                    "newest_ms": self.newest_ms,
                    "read_ms": self.read_ms,
                    "epochs": [offsets_to_json(starts) for starts in self.epochs],
                    "watermarks": offsets_to_json(self.watermarks),
                    "truncated": {str(t): p for t, p in sorted(self.truncated.items())},
                    "snapshots": self.snapshots.to_json(),
                    "window_bounds": {
                        str(table): below for table, below in sorted(self.window_bounds.items())
                    },
                    "blocked": {str(table): why for table, why in sorted(self.blocked.items())},
                    "skipped": sorted(self.skipped),
                    "acknowledged": dict(sorted(self.acknowledged.items())),
                    "acknowledged_records": dict(sorted(self.acknowledged_records.items())),
                    "renames": [rename.to_json() for rename in self.renames],
                    "quiet_settles": self.quiet_settles,
                    "quarantined": sorted(map(str, self.quarantined)),
                    "replays": [selection.to_json() for selection in self.replays],
                    "followed": None if self.followed is None else sorted(map(str, self.followed)),
                    "withheld": {
                        str(table): list(names) for table, names in sorted(self.withheld.items())
                    },
                    "refolds": {
                        str(t): refold.to_json() for t, refold in sorted(self.refolds.items())
                    },
                    "void": sorted(self.void),
                    "given_up": sorted(self.given_up),
                    "topics": {str(table): topic for table, topic in sorted(self.topics.items())},
                    "dropped": {str(table): at for table, at in sorted(self.dropped.items())},
                }
            )
        )

    @classmethod
    def from_json(cls, text: str) -> Progress:
        """The reverse of `to_json`."""
        stored = from_stored(Stored.PROGRESS, json.loads(text))
        return cls(
            cut=stored["cut"],
            landing=stored["landing"],
            oldest_held=stored["oldest_held"],
            frontier=frontier_from_json(stored["frontier"]),
            behind={
                TableName.parse(name): frontier_from_json(frontier)
                for name, frontier in stored["behind"].items()
            },
            landings={TableName.parse(name): n for name, n in stored["landings"].items()},
            newest_ms=stored["newest_ms"],
            read_ms=stored["read_ms"],
            epochs=tuple(offsets_from_json(starts) for starts in stored["epochs"]),
            watermarks=offsets_from_json(stored["watermarks"]),
            truncated={TableName.parse(name): at for name, at in stored["truncated"].items()},
            snapshots=Snapshots.from_json(stored["snapshots"]),
            window_bounds={
                TableName.parse(t): below for t, below in stored["window_bounds"].items()
            },
            blocked={TableName.parse(t): why for t, why in stored["blocked"].items()},
            skipped=frozenset(stored["skipped"]),
            acknowledged=stored["acknowledged"],
            acknowledged_records=stored["acknowledged_records"],
            renames=tuple(map(Rename.from_json, stored["renames"])),
            quiet_settles=stored["quiet_settles"],
            quarantined=frozenset(map(TableName.parse, stored["quarantined"])),
            replays=tuple(map(Selection.from_json, stored["replays"])),
            followed=None
            if stored["followed"] is None
            else frozenset(map(TableName.parse, stored["followed"])),
            withheld={
                TableName.parse(table): tuple(map(ColumnName, names))
                for table, names in stored["withheld"].items()
            },
            refolds={
                TableName.parse(t): Refold.from_json(refold)
                for t, refold in stored["refolds"].items()
            },
            void=frozenset(map(Place, stored["void"])),
            given_up=frozenset(stored["given_up"]),
            topics={TableName.parse(t): TopicName(to) for t, to in stored["topics"].items()},
            dropped={TableName.parse(name): at for name, at in stored["dropped"].items()},
        )


def _without_places(frontier: Frontier) -> Frontier:
    return replace(frontier, reached={}, streamed={}, read_at=Place(""))


def _with(known: Mapping[TableName, T], table: TableName, what: T | None) -> dict[TableName, T]:
    """``known``, where ``table`` has ``what``, or nothing."""
    others = {other: state for other, state in known.items() if other != table}
    return others if what is None else {**others, table: what}
