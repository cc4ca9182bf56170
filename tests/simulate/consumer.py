"""Tidemark without Spark: the product's decisions over a changelog in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.simulate.broker import Broker
from tests.simulate.connector import Connector
from tests.simulate.decode import POSTGRES, Reads, decode, row_of
from tests.simulate.history import SIGNALS, TABLES, Flavour
from tidemark.gate import epoch, expansion, next_cut, reconcile, statistics, window_bound
from tidemark.model import checkpoint_status, copies, profile, reduction
from tidemark.model.cut import Cut, Frontier, GateMode
from tidemark.model.event import ENVELOPE_COLUMNS, Kind
from tidemark.model.expansion import PartitionExpansions
from tidemark.model.names import TableName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Place, Position, place_of, read_beside
from tidemark.model.progress import Progress
from tidemark.model.summary import PLACE, Summary
from tidemark.model.transaction import Boundary, boundary_of, share_of
from tidemark.model.until import Cap
from tidemark.topics import preflight

RECORD = ("landing", "topic", "partition", "offset", "kafka_time", "key", "value")
COLUMNS = (*RECORD, *ENVELOPE_COLUMNS)
RECORD_ID = "topic || '/' || partition || '/' || offset"
GATES = {
    Flavour.MYSQL: GateMode.TRANSACTION,
    Flavour.MARIADB: GateMode.TRANSACTION,
    Flavour.POSTGRES: GateMode.TRANSACTION,
    Flavour.TICDC: GateMode.WATERMARK,
}

NAMES = {("shop", table): TableName("shop", table) for table in TABLES}

Target = dict[int, tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Published:
    """One cut: where the frontier is, and what the tables hold."""

    frontier: Frontier
    tables: Mapping[str, Mapping[int, int]]


@dataclass(slots=True)
class Consumer:
    """Lands, gates, folds and publishes. targets: table -> key -> (value, position)."""

    connector: Connector
    broker: Broker
    database: sqlite3.Connection = field(default_factory=lambda: opened())
    progress: Progress = field(default_factory=Progress)
    landing: int = 0
    landed: dict[TopicPartition, int] = field(default_factory=dict)
    expansions: PartitionExpansions = field(default_factory=dict)
    targets: dict[str, Target] = field(default_factory=lambda: {t: {} for t in TABLES})
    final: int = 0
    reads: Reads = field(default_factory=Reads)
    mode: GateMode = field(init=False)

    def __post_init__(self) -> None:
        self.mode = GATES.get(self.connector.flavour, GateMode.NONE)

    def run(self, limit: int | None, until: Cap | None, *, dies: bool) -> Published | None:
        """Land up to ``limit`` records, cut, and publish unless the run dies before that."""
        ends = self._ends()
        self._land(ends, limit)
        if self.landing == 0:
            return None
        before = self.progress
        seen = self._look(ends, until)
        cut = next_cut.next_cut(self.mode, before, seen, until)
        self._status(before.frontier, cut)
        profile_entries = self._ask(profile.profile_entries(before.landing), "zoned")
        profiled = profile.BatchProfile(tuple(map(profile.ProfileEntry.of, profile_entries)))
        self._one_log(before)
        cut = next_cut.with_reached(cut, before, profiled)
        truncates = dict(self._truncates())
        decision = next_cut.Decision(cut, seen, profiled)
        window_bounds = window_bound.next_window_bounds(
            before,
            decision,
            NAMES,
            lambda question: self._ask(question, "zoned"),
            sees_windows=self.connector.has_signals,
        )
        snapshots = reconcile.watch_snapshots(before, decision, NAMES, window_bounds)
        holding = {TableName("shop", table) for table, rows in self.targets.items() if rows}
        holding -= reconcile.emptied(profiled.profile_entries, NAMES)
        holding -= reconcile.awaited(profiled.profile_entries, NAMES, snapshots.newest)
        snapshots = reconcile.ask_unless_whole(snapshots, holding, before.truncated, asks=False)
        removed = {table: one.below for table, one in snapshots.due.items()}
        ended = {t: max(truncates.get(t, at), at) for t, at in removed.items()}
        left = reconcile.after_reconciles(snapshots, removed, {})
        effects = next_cut.Effects((), {**truncates, **ended}, left, window_bounds)
        after = next_cut.advance(before, self.landing, decision, effects)
        if dies:
            return None
        self._fold({**before.truncated, **truncates}, truncates, window_bounds)
        self._remove(removed)
        self.progress = after
        settled_entries = profiled.profile_entries
        self.final += profile.count(
            g
            for g in settled_entries
            if g.status
            in (
                checkpoint_status.CheckpointStatus.PENDING,
                checkpoint_status.CheckpointStatus.DUPLICATE,
            )
        )
        return Published(after.frontier, self.rows())

    def rows(self) -> Mapping[str, Mapping[int, int]]:
        """What the tables hold."""
        return {t: {k: v for k, (v, _) in rows.items()} for t, rows in self.targets.items()}

    def unsettled(self) -> int:
        """Records that are landed and not final, but for BEGIN and END: later ones settle these."""
        landed: int = self.database.execute("SELECT count(*) FROM changelog").fetchone()[0]
        words = ", ".join(f"'{kind}'" for kind in checkpoint_status.BOUNDARIES)
        query = f"SELECT count(*) FROM zoned WHERE status = 'held' AND kind IN ({words})"
        boundaries: int = self.database.execute(query).fetchone()[0]
        return landed - self.final - boundaries

    def _ends(self) -> dict[TopicPartition, int]:
        """Where each partition ends; raises what refuses to read on."""
        return {
            place: preflight.unread_range(
                place, self.broker.reach(place), self.landed.get(place, 0)
            ).end
            for place in sorted({*self.connector.places(), *self.broker.logs})
        }

    def _land(self, ends: Mapping[TopicPartition, int], limit: int | None) -> int:
        spans = {
            place: (self.landed.get(place, 0), end if limit is None else min(end, start + limit))
            for place, end in sorted(ends.items())
            for start in [self.landed.get(place, 0)]
        }
        records = [
            (offset, self.broker.logs[place][offset])
            for place, (start, stop) in spans.items()
            for offset in range(start, stop)
        ]
        if self.connector.flavour in POSTGRES:
            for offset, record in records:
                self.reads.add(record, offset)
        taken: list[tuple[Any, ...]] = []
        for offset, record in records:
            read_before = self.reads.before(record, offset)
            row = decode(record, offset, self.connector.flavour, read_before)
            taken.append((self.landing + 1, *(row[name] for name in COLUMNS[1:])))
        if taken:
            self.landing += 1
            planned = {place: end for place, (_, end) in spans.items()}
            self.expansions = expansion.seen_expansions(self.expansions, self.landed, ends, planned)
            self.landed |= planned
            marks = ", ".join("?" * len(COLUMNS))
            self.database.executemany(f"INSERT INTO changelog VALUES ({marks})", taken)
        return len(taken)

    def _look(
        self, ends: Mapping[TopicPartition, int], until: Cap | None
    ) -> statistics.StreamStatistics:
        progress, places = self.progress, self.connector.places()
        unread = frozenset(p for p, end in ends.items() if self.landed.get(p, 0) < end)
        self._pending()
        if self.mode is GateMode.WATERMARK:
            newest = self._ask(statistics.watermarks(progress.landing), "pending")
            seen = {statistics.place_of(row): row["watermark"] for row in newest}
            return statistics.StreamStatistics(places, self.landed, unread, watermarks=seen)
        waits = None if until is None else until.waits(progress.epoch)
        if self.mode is GateMode.NONE:
            in_log_order = self.connector.flavour is not Flavour.BY_OFFSET
            capped = self._ask(statistics.first_capped(waits), "pending") if waits else ()
            first = {statistics.place_of(row): row["offset"] for row in capped}
            return statistics.StreamStatistics(
                *(places, dict(self.landed), unread),
                first_capped=first,
                in_log_order=in_log_order and until is not None,
                expansions=self.expansions,
            )
        bound, read_at = progress.frontier.bound, progress.frontier.read_at
        own = self.connector.flavour in POSTGRES
        partitions = {
            statistics.place_of(row): statistics.PartitionStatistics.of(row)
            for row in self._ask(statistics.partitions(bound, progress.landing, waits), "pending")
        }
        return statistics.StreamStatistics(
            places,
            dict(self.landed),
            unread,
            is_quiet=statistics.has_nothing_new(partitions, unread),
            boundaries=tuple(self._boundaries()),
            shares=tuple(
                share_of(row)
                for row in self._ask(statistics.shares(bound, has_positions=own), "pending")
            ),
            overtaken=tuple(
                share_of(row)
                for row in self._ask(
                    statistics.overtaken_shares(progress.frontier, has_positions=own), "pending"
                )
                if progress.frontier.trails_snapshot
            ),
            partitions=partitions,
            signals=f"shop.{SIGNALS}",
            snapshots=statistics.snapshots_of(
                self._ask(statistics.snapshots(bound, read_at, progress.landing), "pending")
            ),
        )

    def _boundaries(self) -> Iterator[Boundary]:
        kept = self.progress.frontier.offsets
        words = ", ".join(f"'{kind}'" for kind in checkpoint_status.BOUNDARIES)
        query = f"SELECT * FROM pending WHERE kind IN ({words})"
        for row in self._rows(query):
            place = statistics.place_of(row)
            if row["offset"] >= kept.get(place, 0):
                yield boundary_of(place, row["offset"], row["value"], row["kafka_time"])

    def _pending(self) -> None:
        self.database.execute("DROP VIEW IF EXISTS pending")
        self.database.execute(
            "CREATE TEMP VIEW pending AS SELECT * FROM changelog "
            f"WHERE landing >= {self.progress.oldest_held}"
        )

    def _status(self, old: Frontier, cut: Cut) -> None:
        """Every pending record beside the bounds of its partition, and its status."""
        new = cut.frontier
        places = {*old.offsets, *new.offsets, *old.reached}
        bounds = [
            (
                p.topic,
                p.partition,
                old.offsets.get(p, 0),
                new.offsets.get(p, 0),
                old.reached.get(p, ""),
                old.streamed.get(p, ""),
            )
            for p in places
        ]
        self.database.execute("DELETE FROM bounds")
        self.database.executemany("INSERT INTO bounds VALUES (?, ?, ?, ?, ?, ?)", bounds)
        self.database.execute("DROP TABLE IF EXISTS zoned")
        joined = (
            f"SELECT p.*, '{old.bound_in(self.mode)}' AS {checkpoint_status.OLD_BOUND}, "
            f"'{new.bound_in(self.mode)}' AS {checkpoint_status.NEW_BOUND}, "
            f"coalesce(b.old_next, 0) AS {checkpoint_status.OLD_NEXT}, "
            f"coalesce(b.new_next, 0) AS {checkpoint_status.NEW_NEXT}, "
            f"coalesce(b.reached, '') AS {checkpoint_status.REACHED}, "
            f"coalesce(b.streamed, '') AS {checkpoint_status.STREAMED}, "
            f"'{old.read_at}' AS {checkpoint_status.READ_AT} "
            "FROM pending p LEFT JOIN bounds b USING (topic, partition)"
        )
        expression = checkpoint_status.status(cut, self.progress.landing)
        self.database.execute(
            f"CREATE TEMP TABLE zoned AS SELECT *, {expression} AS status FROM ({joined})"
        )

    def _one_log(self, before: Progress) -> None:
        """No source of the simulator starts its log over."""
        if self.mode is GateMode.WATERMARK:
            return
        query = (
            "SELECT topic, partition, offset, position, unix_millis(commit_time) AS millis, "
            f"landing <= {before.landing} AS is_gated FROM pending WHERE snapshot IS NULL "
            f"AND position IS NOT NULL AND kind IN ('{Kind.ROW}', '{Kind.TRUNCATE}')"
        )
        changes = (
            epoch.LandedChange(
                statistics.place_of(row),
                row["offset"],
                Place(place_of(row["position"]) or ""),
                row["millis"],
                bool(row["is_gated"]),
            )
            for row in self._rows(query)
        )
        found = epoch.new_log(changes, before.log_end)
        assert found is None, "one log, one epoch"

    def _truncates(self) -> Iterator[tuple[TableName, Position]]:
        """The truncates of the cut that are newer than those before."""
        kinds = f"kind IN ('{Kind.TRUNCATE}', '{Kind.DDL}')"
        query = f"SELECT source_table, position FROM zoned WHERE status = 'pending' AND {kinds}"
        found: dict[str, list[Position]] = {}
        for row in self._rows(query):
            found.setdefault(row["source_table"], []).append(row["position"])
        for table, positions in found.items():
            name = TableName("shop", table)
            new = reduction.new_truncate(positions, self.progress.truncated.get(name))
            if new is not None:
                yield name, new

    def _fold(
        self,
        truncated: Mapping[TableName, Position],
        new: Mapping[TableName, Position],
        window_bounds: Mapping[TableName, Position],
    ) -> None:
        for table in TABLES:
            name, target = TableName("shop", table), self.targets[table]
            if name in new:
                for key in [k for k, (_, position) in target.items() if position < new[name]]:
                    del target[key]
            for winner in self._winners(table, truncated.get(name), window_bounds.get(name)):
                key, value = row_of(winner["value"])
                stored = target.get(key)
                if stored is not None and not winner["position"] > stored[1]:
                    continue
                if winner["op"] == "D":
                    target.pop(key, None)
                else:
                    target[key] = (value, winner["position"])

    def _remove(self, below: Mapping[TableName, Position]) -> None:
        """What a new snapshot of the source did not contain."""
        for table, position in below.items():
            target = self.targets[table.table]
            for key in [k for k, (_, stored) in target.items() if stored < position]:
                del target[key]

    def _winners(
        self, table: str, truncated: Position | None, guarded: Position | None
    ) -> Iterable[Mapping[str, Any]]:
        events = (
            "SELECT *, 0 AS part, row_key(value) AS row_key FROM zoned WHERE status = 'pending' "
            f"AND kind = '{Kind.ROW}' AND source_table = '{table}'"
        )
        counts = reduction.above_truncate(truncated, guarded)
        events = f"SELECT * FROM ({events}) WHERE {RECORD_ID} NOT IN ({self._copies(table)})"
        ranked = (
            "SELECT *, row_number() OVER (PARTITION BY row_key ORDER BY "
            f"{reduction.newest_first(counts)}) AS _rank FROM ({events})"
        )
        return self._rows(f"SELECT * FROM ({ranked}) WHERE _rank = 1 AND ({counts})")

    def _copies(self, table: str) -> str:
        """Of the changes beside the newest settled one of their partition (POS-20)."""
        if self.connector.flavour not in (Flavour.MYSQL_UNGATED, Flavour.POSTGRES_UNGATED):
            return "SELECT NULL WHERE FALSE"
        beside = (
            f"SELECT {{0}}.*, {{1}} AS in_cut FROM {{0}} JOIN bounds b USING (topic, partition) "
            f"WHERE kind = '{Kind.ROW}' AND source_table = '{table}' AND CASE "
            f"WHEN snapshot IS NULL THEN {PLACE} = b.streamed "
            f"WHEN {checkpoint_status.INCREMENTAL_ROW} THEN {PLACE} = read_beside(b.streamed) END "
            "AND {2}"
        )
        columns = ", ".join(COLUMNS)
        frame = " UNION ALL ".join(
            f"SELECT {columns}, in_cut FROM ({part})"
            for part in (
                beside.format("changelog", 0, "offset < b.old_next"),
                beside.format("zoned", 1, "status = 'pending'"),
            )
        )
        frame = (
            f"SELECT *, op || row_text(value) AS effect, row_key(value) AS row_key FROM ({frame})"
        )
        for step in copies.COPIES:
            named = ", ".join(f"{text} AS {name}" for name, text in step.items())
            frame = f"SELECT *, {named} FROM ({frame})"
        return f"SELECT {RECORD_ID} FROM ({frame}) WHERE is_copy"

    def _ask(self, question: Summary, source: str) -> Sequence[Mapping[str, Any]]:
        named = {**question.keys, **question.figures}
        columns = ", ".join(f"{text} AS {name}" for name, text in named.items())
        profile_entries = ", ".join(question.keys.values())
        return self._rows(
            f"SELECT {columns} FROM {source} WHERE {question.where} GROUP BY {profile_entries}"
        )

    def _rows(self, query: str) -> Sequence[Mapping[str, Any]]:
        rows = self.database.execute(query).fetchall()
        return [dict(row) for row in rows]


def opened() -> sqlite3.Connection:
    """An empty changelog, and the functions of Spark that SQLite lacks."""
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    database.create_function("row_key", 1, lambda value: row_of(value)[0], deterministic=True)
    database.create_function("row_text", 1, lambda value: str(row_of(value)), deterministic=True)
    database.create_function("read_beside", 1, read_beside, deterministic=True)
    database.create_function("unix_millis", 1, lambda millis: millis, deterministic=True)
    database.execute(f"CREATE TABLE changelog ({', '.join(COLUMNS)})")
    database.execute("CREATE TEMP TABLE zoned (status, kind)")
    columns = "topic, partition, old_next, new_next, reached, streamed"
    database.execute(f"CREATE TEMP TABLE bounds ({columns})")
    return database
