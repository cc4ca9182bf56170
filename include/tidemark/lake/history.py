"""What the ledger remembers: the newest cut, attempts at the next, and what cuts before have done.

It remembers which tables it ever folded, which cut changed them last, and since when the newest
cuts are held; however many cuts there were, and whatever somebody expired of them (PUB-9).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import takewhile

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.expressions import And, GreaterThan, In, Or
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from tidemark.lake.catalog import SystemTables, TableId, catalog_errors
from tidemark.lake.filters import one_of
from tidemark.lake.ledger import ATTEMPT, ORDER, RESULT, Entry, attempted
from tidemark.lake.marks import live_rows, read_checked
from tidemark.lake.refs import ancestors, main_head, summary_value
from tidemark.lake.verdicts import verdicts_of
from tidemark.model.bucket import Bucket
from tidemark.model.result import CutResult
from tidemark.model.stored_state import Stored, from_stored, to_stored
from tidemark.model.verdict import Verdict

REMEMBERED = "tidemark.remembered"


@dataclass(frozen=True, slots=True)
class Order:
    """What a person ordered between two cuts, as a command, and when."""

    command: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class TargetChange:
    """The newest published cut that changed a target, when, and the snapshot that it published."""

    cut: int
    at_ms: int
    snapshot_id: int


@dataclass(frozen=True, slots=True)
class History:
    """The newest published cut, and attempts at the next, newest first.

    orders: those since the newest cut. folded: every source table that was published, by its name
    of then, and its target. changed: of each target the newest change. held_ms: since when the
    newest cuts are held as they are.
    """

    published: Entry | None = None
    attempts: tuple[Entry, ...] = ()
    orders: tuple[Order, ...] = ()
    folded: frozenset[tuple[str, str]] = frozenset()
    changed: Mapping[str, TargetChange] = field(default_factory=dict)
    held_ms: int | None = None

    @property
    def cut(self) -> int:
        """Number of the newest published cut, 0 when nothing is published."""
        return self.published.result.cut if self.published else 0

    def held_since(self, now: Entry) -> int:
        """When the hold of ``now`` was first published, of those that lead up to it.

        A hold is the same as long as its code and the source time of the frontier are; where the
        gate tells no such time, until a cut applies changes.
        """
        if self.published is None or _moves(now) or _held(self.published) != _held(now):
            return now.at_ms
        return min(now.at_ms, self.published.at_ms, self.held_ms or self.published.at_ms)

    def remembered(self, result: CutResult, now_ms: int) -> tuple[tuple[str, str], ...]:
        """What the ledger is to go on saying once ``result`` is published, too."""
        history = {
            "at_ms": now_ms,
            "held_ms": self.held_since(Entry(result, now_ms)),
            "folded": sorted(self._still_folded(result) | _folded(result)),
            "changed": {
                target: asdict(change)
                for target, change in sorted(self._changed_by(result, now_ms).items())
            },
        }
        return ((REMEMBERED, json.dumps(to_stored(history))),)

    def _still_folded(self, result: CutResult) -> frozenset[tuple[str, str]]:
        """What stays of `folded`: a target that is renamed is of no table of before any more."""
        gone = _renamed_targets(result)
        return frozenset((table, target) for table, target in self.folded if target not in gone)

    def _changed_by(self, result: CutResult, now_ms: int) -> dict[str, TargetChange]:
        gone = _renamed_targets(result)
        remaining = {
            target: change for target, change in self.changed.items() if target not in gone
        }
        return remaining | {
            table.target: TargetChange(result.cut, now_ms, table.snapshot_id)
            for table in result.tables
            if not table.is_beside
        }


def _renamed_targets(result: CutResult) -> set[str]:
    gone = {table.renamed_from for table in result.tables}
    return gone | {table.target for table in result.tables if table.renamed_from}


def _held(entry: Entry) -> tuple[str, int]:
    return entry.result.hold_code, entry.result.complete_until_ms


def _moves(entry: Entry) -> bool:
    result = entry.result
    return not result.complete_until_ms and result.buckets.get(Bucket.APPLIED, 0) > 0


def _folded(result: CutResult) -> frozenset[tuple[str, str]]:
    return frozenset((table.table, table.target) for table in result.tables if not table.is_beside)


def read_history(catalog: Catalog, tables: SystemTables) -> History:
    """What the ledger of a pipeline remembers; an empty history when it has no ledger yet.

    `ForeignChangeError`: as `read_checked`.
    """
    with catalog_errors("the reading of the ledger"):
        try:
            ledger = catalog.load_table(tables.ledger.parts)
        except NoSuchTableError:
            return History()
    head = read_checked(ledger, tables.ledger)
    marks = head.marks if head else {}
    text = marks.get(REMEMBERED, "")
    stored = from_stored(Stored.HISTORY, json.loads(text or "{}"))
    at_ms = stored["at_ms"] or ledger.metadata.last_updated_ms
    published = Entry(CutResult.from_json(marks[RESULT]), at_ms) if RESULT in marks else None
    above = published.result.cut if published else 0
    folded = frozenset((table, target) for table, target in stored["folded"])
    return History(
        published=published,
        attempts=tuple(entry for entry in attempted(ledger) if entry.result.cut > above),
        orders=_orders(ledger),
        folded=folded if text else _folded_by_summaries(ledger),
        changed={target: TargetChange(**change) for target, change in stored["changed"].items()},
        held_ms=stored["held_ms"],
    )


def _orders(ledger: Table) -> tuple[Order, ...]:
    """What was ordered since the newest cut, newest first."""
    since = takewhile(
        lambda snapshot: not summary_value(snapshot, ATTEMPT),
        ancestors(ledger, main_head(ledger)),
    )
    return tuple(_ordered(since))


def _ordered(snapshots: Iterable[Snapshot]) -> Iterator[Order]:
    for snapshot in snapshots:
        command = summary_value(snapshot, ORDER)
        if command is not None:
            yield Order(command, snapshot.timestamp_ms)


def orders_since(catalog: Catalog, tables: SystemTables, at_ms: int) -> tuple[Order, ...]:
    """What was ordered at or after ``at_ms`` (since 1970), newest first, as far as it is kept."""
    with catalog_errors("the reading of the ledger"):
        try:
            ledger = catalog.load_table(tables.ledger.parts)
        except NoSuchTableError:
            return ()
    recent = takewhile(
        lambda snapshot: snapshot.timestamp_ms >= at_ms, ancestors(ledger, main_head(ledger))
    )
    return tuple(_ordered(recent))


def _folded_by_summaries(ledger: Table) -> frozenset[tuple[str, str]]:
    """Of a ledger whose newest cut was published before that was remembered."""
    texts = (summary_value(snapshot, RESULT) for snapshot in ancestors(ledger, main_head(ledger)))
    results = (CutResult.from_json(text) for text in texts if text)
    return frozenset(pair for result in results for pair in _folded(result))


def newest_verdicts(
    catalog: Catalog, tables: SystemTables, history: History, changes: Collection[TargetChange]
) -> Mapping[str, Verdict]:
    """The newest verdict of each target, among those of ``changes`` and of attempts since.

    history: names these attempts; there may be verdicts of thousands more at the same cut.
    changes: those that were published.
    """
    since = And(
        GreaterThan(term="cut", value=history.cut),
        In(term="attempt", literals={entry.result.attempt for entry in history.attempts}),
    )
    published = And(
        one_of("cut", {change.cut for change in changes}),
        In(term="snapshot_id", literals={change.snapshot_id for change in changes}),
    )
    wanted = Or(since, published)
    with catalog_errors("the reading of verdicts"):
        try:
            rows = catalog.load_table(tables.verdicts.parts).scan(row_filter=wanted).to_arrow()
        except NoSuchTableError:
            return {}
    in_order = sorted(rows.to_pylist(), key=lambda row: row["audited_at"])
    return {verdict.table: verdict for verdict in verdicts_of(in_order)}


def holds_rows(catalog: Catalog, target: TableId) -> bool:
    """Whether ``main`` of ``target`` has rows, as its summary counts them."""
    with catalog_errors(f"the reading of {target}"):
        head = catalog.load_table(target.parts).current_snapshot()
    return live_rows(head) > 0


def is_published(catalog: Catalog, target: TableId) -> bool:
    """Whether any cut was ever published in ``target``; else an attempt made it, and no more."""
    with catalog_errors(f"the reading of {target}"):
        return catalog.load_table(target.parts).current_snapshot() is not None


def existing_tables(catalog: Catalog, namespace: str) -> frozenset[str]:
    """Names of the tables of ``namespace``; none when there is no such namespace."""
    with catalog_errors(f"the list of tables of {namespace}"):
        try:
            return frozenset(identifier[-1] for identifier in catalog.list_tables(namespace))
        except NoSuchNamespaceError:
            return frozenset()
