"""What the ledger remembers: published cuts and attempts that were not, from one catalog call.

Of cuts whose snapshots somebody expired it remembers which tables they folded, and since when the
newest ones are held; and the newest is always there (PUB-9).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import takewhile

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.expressions import GreaterThan, In, Or
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot

from tidemark.lake.catalog import SystemTables, TableId, catalog_errors
from tidemark.lake.ledger import ORDER, RESULT
from tidemark.lake.marks import Published, live_rows, read_checked
from tidemark.lake.refs import ATTEMPT_REF, ancestors, main_head, summary_value
from tidemark.model.result import CutResult
from tidemark.model.stored_state import Stored, from_stored, to_stored
from tidemark.model.verdict import CheckResult, Severity, Verdict

REMEMBERED = "tidemark.remembered"


@dataclass(frozen=True, slots=True)
class Entry:
    """A cut in the ledger; at_ms: when it was published or, of an attempt, when it was staged."""

    result: CutResult
    at_ms: int


@dataclass(frozen=True, slots=True)
class Order:
    """What a person ordered between two cuts, as a command, and when."""

    command: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class History:
    """Published cuts as far as their snapshots are kept, and attempts at the next; newest first.

    orders: those since the newest cut. folded: every source table that was published, by its name
    of then, and its target. held_ms: since when the newest cuts are held as they are, as far as
    that is remembered.
    """

    published: tuple[Entry, ...] = ()
    attempts: tuple[Entry, ...] = ()
    orders: tuple[Order, ...] = ()
    folded: frozenset[tuple[str, str]] = frozenset()
    held_ms: int | None = None

    @property
    def cut(self) -> int:
        """Number of the newest published cut, 0 when nothing is published."""
        return self.published[0].result.cut if self.published else 0

    def last_change(self, target: str) -> Entry | None:
        """The newest published cut that changed ``target``."""
        entries = (e for e in self.published if any(t.target == target for t in e.result.tables))
        return next(entries, None)

    def held_since(self, now: Entry) -> int:
        """When the hold of ``now`` was first published, of those that lead up to it.

        A hold is the same as long as its code and the source time of the frontier are.
        """
        since = now.at_ms
        for entry in self.published:
            if _held(entry) != _held(now):
                return since
            since = min(since, entry.at_ms)
        return since if self.held_ms is None else min(since, self.held_ms)

    def remembered(self, result: CutResult, now_ms: int) -> tuple[tuple[str, str], ...]:
        """What the ledger is to go on saying once ``result`` is published, too."""
        told = {
            "at_ms": now_ms,
            "held_ms": self.held_since(Entry(result, now_ms)),
            "folded": sorted(self._kept(result) | _folded(result)),
        }
        return ((REMEMBERED, json.dumps(to_stored(told))),)

    def _kept(self, result: CutResult) -> frozenset[tuple[str, str]]:
        """What stays of `folded`: a target that is renamed is of no table of before any more."""
        gone = {table.renamed_from for table in result.tables}
        gone |= {table.target for table in result.tables if table.renamed_from}
        return frozenset((table, target) for table, target in self.folded if target not in gone)


def _held(entry: Entry) -> tuple[str, int]:
    return entry.result.hold_code, entry.result.complete_until_ms


def _folded(result: CutResult) -> frozenset[tuple[str, str]]:
    return frozenset((table.table, table.target) for table in result.tables)


def read_history(catalog: SqlCatalog, tables: SystemTables) -> History:
    """The cuts of a pipeline; an empty history when it has no ledger yet.

    `ForeignChangeError`: as `read_checked`.
    """
    with catalog_errors("the reading of the ledger"):
        try:
            ledger = catalog.load_table(tables.ledger.parts)
        except NoSuchTableError:
            return History()
    moved = {entry.snapshot_id: entry.timestamp_ms for entry in ledger.metadata.snapshot_log}
    kept = list(ancestors(ledger, main_head(ledger)))
    published = [
        Entry(result, moved.get(snapshot.snapshot_id, snapshot.timestamp_ms))
        for snapshot in kept
        if (result := _result(snapshot)) is not None
    ]
    orders = [
        Order(command, snapshot.timestamp_ms)
        for snapshot in takewhile(lambda snapshot: not summary_value(snapshot, RESULT), kept)
        if (command := summary_value(snapshot, ORDER)) is not None
    ]
    head = read_checked(ledger, tables.ledger)
    text = head.marks.get(REMEMBERED, "") if head else ""
    stored = from_stored(Stored.HISTORY, json.loads(text or "{}"))
    published = published or _newest(head, stored["at_ms"])
    above = published[0].result.cut if published else 0
    attempts = [
        Entry(result, snapshot.timestamp_ms)
        for snapshot in _attempted(ledger)
        if (result := _result(snapshot)) is not None and result.cut > above
    ]
    attempts.sort(key=lambda entry: entry.at_ms, reverse=True)
    folded = frozenset((table, target) for table, target in stored["folded"])
    if not text:  # Of a ledger whose newest cut was published before it was remembered.
        folded = folded.union(*(_folded(entry.result) for entry in published))
    return History(
        *(tuple(published), tuple(attempts), tuple(orders)),
        folded=folded,
        held_ms=stored["held_ms"],
    )


def _newest(head: Published | None, at_ms: int) -> list[Entry]:
    """The newest published cut where the snapshots of all are expired."""
    text = head.marks.get(RESULT) if head else None
    return [Entry(CutResult.from_json(text), at_ms)] if text else []


def _attempted(ledger: Table) -> list[Snapshot]:
    heads = {
        ref.snapshot_id
        for name, ref in ledger.refs().items()
        if name != MAIN_BRANCH and ATTEMPT_REF.fullmatch(name)
    }
    return [s for s in map(ledger.snapshot_by_id, sorted(heads)) if s is not None]


def _result(snapshot: Snapshot) -> CutResult | None:
    text = summary_value(snapshot, RESULT)
    return CutResult.from_json(text) if text else None


def newest_verdicts(
    catalog: SqlCatalog, tables: SystemTables, *, above_cut: int, snapshots: Collection[int]
) -> Mapping[str, Verdict]:
    """The newest verdict of each target, among those of ``snapshots`` and of later attempts.

    above_cut: the newest published cut; snapshots: those that are published.
    """
    wanted = Or(
        GreaterThan(term="cut", value=above_cut),
        In(term="snapshot_id", literals=set(snapshots)),
    )
    with catalog_errors("the reading of verdicts"):
        try:
            rows = catalog.load_table(tables.verdicts.parts).scan(row_filter=wanted).to_arrow()
        except NoSuchTableError:
            return {}
    checks: dict[tuple[str, int, str], list[CheckResult]] = {}
    for row in sorted(rows.to_pylist(), key=lambda row: row["audited_at"]):
        check = CheckResult(
            row["check"], row["success"], Severity(row["severity"]), row["observed"]
        )
        checks.setdefault((row["table"], row["snapshot_id"], row["suite"]), []).append(check)
    return {
        target: Verdict(target, snapshot_id, suite, tuple(found))
        for (target, snapshot_id, suite), found in checks.items()
    }


def holds_rows(catalog: SqlCatalog, target: TableId) -> bool:
    """Whether ``main`` of ``target`` has rows, as its summary counts them."""
    with catalog_errors(f"the reading of {target}"):
        head = catalog.load_table(target.parts).current_snapshot()
    return live_rows(head) > 0


def is_published(catalog: SqlCatalog, target: TableId) -> bool:
    """Whether any cut was ever published in ``target``; else an attempt made it, and no more."""
    with catalog_errors(f"the reading of {target}"):
        return catalog.load_table(target.parts).current_snapshot() is not None


def existing_tables(catalog: SqlCatalog, namespace: str) -> frozenset[str]:
    """Names of the tables of ``namespace``; none when there is no such namespace."""
    with catalog_errors(f"the list of tables of {namespace}"):
        try:
            return frozenset(identifier[-1] for identifier in catalog.list_tables(namespace))
        except NoSuchNamespaceError:
            return frozenset()
