"""Whatever a version of Tidemark stored, this one reads; what it stores itself has one form.

python -m tests.unit.model.test_stored_state    writes the documents of a version that has none yet
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tidemark.errors import StoredStateError
from tidemark.lake.catalog import TableId
from tidemark.lake.history import REMEMBERED, History, TargetChange
from tidemark.lake.ledger import Entry, moves_from_json, moves_to_json
from tidemark.lake.marks import Published
from tidemark.lake.refs import Displaced, Fork, RefUpdate, TargetRename
from tidemark.lake.removed import removed_from_json, removed_to_json
from tidemark.model.column_rename import ColumnRename, Fill
from tidemark.model.column_rules import ColumnRules, Mask
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.cut import Frontier
from tidemark.model.event import Reason
from tidemark.model.expansion import PartitionExpansion
from tidemark.model.fingerprint import Fingerprint
from tidemark.model.layout import Layout, PartitionField
from tidemark.model.names import AttemptId, ColumnName, TableName, TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import OrderedBy, Place, Position
from tidemark.model.progress import LandingMark, Progress
from tidemark.model.quarantine import RecordPlace, Selection
from tidemark.model.reconcile import Reconcile, ReconcileStage, Snapshots
from tidemark.model.refold import Refold, TableState
from tidemark.model.renames import Rename
from tidemark.model.result import CutResult, CutStatus, TableResult
from tidemark.model.retention import Base
from tidemark.model.stored_state import VERSION, Stored, from_stored
from tidemark.model.target_mode import TargetMode
from tidemark.model.verdict import Outcome
from tidemark.quality.pages import AuditedCut, AuditedTable

FOLDER = Path(__file__).with_name("stored")
P0 = TopicPartition(TopicName("shop.orders"), 0)
ORDERS, ITEMS = TableName("shop", "orders"), TableName("shop", "items")
ID, KIND = ColumnName("id"), ColumnName("kind")

FRONTIER = Frontier(
    commit_ts=7,
    bound="0001AB~",
    time_ms=5,
    numbers={"lsn": 571},
    offsets={P0: 41},
    reached={P0: Place("0001AB")},
    streamed={P0: Place("0001AA")},
    read_at=Place("0001AB"),
    split={"571": 44},
    gaps={"0": ((3, 5), (8, 8))},
)
PROGRESS = Progress(
    cut=3,
    landing=5,
    oldest_held=4,
    frontier=FRONTIER,
    behind={ITEMS: replace(FRONTIER, bound="0001AA~")},
    landings={ITEMS: 4},
    newest_ms=9,
    read_ms=8,
    epochs=({P0: 12},),
    watermarks={P0: 77},
    truncated={ORDERS: Position("0001FF")},
    snapshots=Snapshots(
        Place("0001A0"),
        {ITEMS: Reconcile(ReconcileStage.ASKED, Position("0001A1"), "it lacks 3 rows", True)},
        is_signalled=True,
        contradicting=Place("0001A0"),
        ended=Place("0001A0"),
        signalled=Place("00019F"),
    ),
    window_bounds={ORDERS: Position("0001FE")},
    blocked={ITEMS: "a change came late"},
    skipped=frozenset({"571:9"}),
    acknowledged={Position("0001AB"): "moved an index"},
    acknowledged_records={"shop.schemas:0:7": "sent by hand"},
    renames=(Rename(TableName("shop", "wares"), ITEMS, Position("0001A2"), "goods"),),
    quiet_settles=True,
    quarantined=frozenset({ORDERS}),
    replays=(
        Selection("shop.orders", Reason.KEY_NULL, RecordPlace("shop.orders", 0, 7)),
        Selection(),
    ),
    followed=frozenset({ITEMS, ORDERS}),
    withheld={ITEMS: (KIND,)},
    refolds={
        ORDERS: Refold(
            target="orders__refold_0a1b2c3d",
            until=FRONTIER,
            replaces=True,
            paused=TableState(FRONTIER, Position("0001FD"), None, "a change came late", 4),
            base=2,
        )
    },
    void=frozenset({Place("0001A3")}),
    given_up=frozenset({"571:8"}),
    topics={ITEMS: TopicName("shop.items")},
    dropped={TableName("shop", "old"): Position("0001" + "C")},
)
LANDING = LandingMark(
    4,
    {P0: 12},
    {P0.topic: "aBc"},
    OrderedBy.OFFSET,
    4800,
    {P0.topic: PartitionExpansion({P0: 12}, {P0: 15})},
    {P0: Fingerprint(11, 1_700_000_000_000, "ab")},
    {P0: 17},
)
RESULT = CutResult(
    status=CutStatus.BLOCKED,
    attempt=AttemptId("manual__1"),
    cut=3,
    hold="a watermark lags",
    hold_code="WATERMARK",
    complete_until_ms=5,
    tables=(
        TableResult(
            *("shop.items", "db.items", 77, 1, 2, 3, 4, "fail", "db.wares"),
            displaced="db.items__until_cut_3",
            is_beside=True,
        ),
    ),
    buckets={"applied": 6},
    quarantined={"KEY_NULL": 1},
    unknown={"shop.schemas": 2},
    stopped={"shop.orders": "it has no key"},
    error="AuditBlockedError: no",
    retryable=True,
)
SCHEMA = TableSchema(
    columns=(
        SourceColumn(
            ID,
            "int",
            ValueEncoding.INTEGER,
            "int",
            by_schema=(
                (
                    (3, 4),
                    SourceColumn(
                        ID,
                        "int",
                        ValueEncoding.TEXT,
                        "int",
                        digits=2,
                        zone="UTC",
                        has_infinity=True,
                    ),
                ),
            ),
        ),
        SourceColumn(
            KIND,
            "string",
            ValueEncoding.ENUM_INDEX,
            "enum('a','b')",
            labels=("a", "b"),
            may_be_unavailable=True,
            former=SourceColumn(KIND, "string", ValueEncoding.TEXT, "varchar(9)"),
            changed_at=Position("0001A3"),
            backfill="a",
            mask=Mask.HASH,
            unknown_below=Position("0001A2"),
            is_withheld=True,
            read_at=Place("0001A2"),
            most_chars=9,
            is_masked_at_source=True,
            numbered_below=Position("0001A2"),
        ),
    ),
    key=(ID,),
    changed_at=Position("0001A3"),
    column_renames=(
        ColumnRename(
            Position("0001A1"),
            ((ColumnName("sort"), KIND),),
            (ColumnName("old"),),
            (ColumnName("new"),),
            (Fill(ColumnName("new"), "numeric(4,2)", "1.50"),),
        ),
    ),
    dropped_at=Position("0001A0"),
    layout=Layout((PartitionField.parse("bucket(4, id)"),), (ID,)),
    rules=ColumnRules((), (ColumnName("secret"),), ((KIND, ColumnName("sort")),), (KIND,), ()),
    mode=TargetMode.HISTORY,
    key_changed_at=Position("0001A4"),
    former_key=(ColumnName("code"),),
)
FORK = Fork(TableId("db", "fork"), "s3://w/items/metadata/1.json")
RENAME = TargetRename(
    TableId("db", "codex"), Displaced("s3://lake/db/codex-1/0.json", TableId("db", "codex__until"))
)
REF_UPDATES = (
    RefUpdate(TableId("db", "items"), 11, 12, ("cut-3-a",), FORK),
    RefUpdate(TableId("db", "orders"), None, 13, ()),
    RefUpdate(TableId("db", "code"), 14, 15, rename=RENAME),
    RefUpdate(TableId("db", "a"), 16, 16, rename=TargetRename(TableId("db", "b"))),
)
PUBLISHED = Published(12, 7, 3, {"tidemark.cut": "3"})
AUDIT = AuditedCut(
    "cut-3-a",
    "2026-04-01T00:00:00+00:00",
    (AuditedTable("shop.items", "items", Outcome.BLOCK, 4, 1, "cuts/cut-3-a/shop.items.html"),),
)
HISTORY = {
    "at_ms": 60000,
    "held_ms": 15,
    "folded": [["shop.items", "db.items"]],
    "changed": {"db.items": {"cut": 3, "at_ms": 50000, "snapshot_id": 12}},
}


BASE = Base(
    3, 1_700_000_000_000, 4, 77, TableState(FRONTIER, Position("0001FC"), landing=5), SCHEMA
)
REMOVED = {ITEMS: 4, ORDERS: 7}


class Kind(NamedTuple):
    """An object, how it is stored and how it is read."""

    example: Any
    stores: Callable[[Any], str]
    reads: Callable[[str], Any]


def remembered(told: Mapping[str, Any]) -> str:
    """What a history without cuts would go on saying."""
    folded = frozenset((table, target) for table, target in told["folded"])
    nothing = CutResult(CutStatus.PUBLISHED, AttemptId("a"))
    changed = {target: TargetChange(**one) for target, one in told["changed"].items()}
    history = History(Entry(nothing, 60000), (), (), folded, changed, told["held_ms"])
    ((name, text),) = history.remembered(nothing, told["at_ms"])
    assert name == REMEMBERED
    return text


KINDS: Mapping[Stored, Kind] = {
    Stored.PROGRESS: Kind(PROGRESS, Progress.to_json, Progress.from_json),
    Stored.LANDING: Kind(LANDING, LandingMark.to_json, LandingMark.from_json),
    Stored.RESULT: Kind(RESULT, CutResult.to_json, CutResult.from_json),
    Stored.SCHEMA: Kind(
        SCHEMA,
        lambda schema: json.dumps(schema.to_json()),
        lambda text: TableSchema.from_json(json.loads(text)),
    ),
    Stored.REF_UPDATES: Kind(
        REF_UPDATES, lambda moves: moves_to_json(moves, 10), lambda text: moves_from_json(text)[0]
    ),
    Stored.PUBLISHED: Kind(PUBLISHED, Published.to_json, Published.from_json),
    Stored.AUDIT: Kind(AUDIT, AuditedCut.to_json, AuditedCut.from_json),
    Stored.HISTORY: Kind(
        HISTORY, remembered, lambda text: from_stored(Stored.HISTORY, json.loads(text))
    ),
    Stored.BASE: Kind(
        BASE, lambda base: json.dumps(base.to_json()), lambda text: Base.from_json(json.loads(text))
    ),
    Stored.REMOVED: Kind(REMOVED, removed_to_json, removed_from_json),
}
SINCE = {Stored.BASE: 7, Stored.REMOVED: 7}
"""The version that stored a kind first; without one the first of all."""


def file_of(kind: Stored, version: int) -> Path:
    return FOLDER / str(version) / f"{kind.name.lower()}.json"


def before_9(frontier: Frontier) -> Frontier:
    return replace(
        frontier, split={}, gaps={}, streamed=frontier.reached, read_at=Place(frontier.bound)
    )


def as_of_10(example: Any) -> Any:
    return replace(example, dropped={}) if isinstance(example, Progress) else example


def as_of_9(example: Any) -> Any:
    if isinstance(example, TableSchema):
        columns = (replace(column, numbered_below=None) for column in example.columns)
        return replace(example, columns=tuple(columns))
    return (
        replace(example, schema=as_of_9(example.schema)) if isinstance(example, Base) else example
    )


def as_of_8(example: Any) -> Any:
    if isinstance(example, TableSchema):
        fresh: dict[str, Any] = {"read_at": None, "filled_below": None}
        fresh |= {"most_chars": 0, "is_masked_at_source": False}
        columns = (replace(column, **fresh) for column in example.columns)
        return replace(example, columns=tuple(columns))
    if isinstance(example, Base):
        state = replace(example.state, frontier=before_9(example.state.frontier))
        return replace(example, state=state, schema=as_of_8(example.schema))
    if not isinstance(example, Progress):
        return example
    refolds = {
        table: replace(
            one,
            until=before_9(one.until),
            paused=replace(one.paused, frontier=before_9(one.paused.frontier)),
        )
        for table, one in example.refolds.items()
    }
    behind = {table: before_9(frontier) for table, frontier in example.behind.items()}
    frontier = before_9(example.frontier)
    example = replace(example, frontier=frontier, behind=behind, refolds=refolds)
    return replace(example, read_ms=0, topics={})


def as_of_recent(version: int, example: Any) -> Any:
    example = as_of_10(example) if version < 11 else example
    example = as_of_9(example) if version < 10 else example
    return as_of_8(example) if version < 9 else example


def as_of(version: int, kind: Stored) -> Any:
    """The example, without what documents of ``version`` did not say yet."""
    example = as_of_recent(version, KINDS[kind].example)
    if kind is Stored.PROGRESS and version < 8:
        refolds = {
            table: replace(one, paused=replace(one.paused, landing=example.landing))
            for table, one in example.refolds.items()
        }
        known = example.snapshots
        snapshots = Snapshots(known.newest, known.tables, known.is_signalled)
        example = replace(example, landings={}, refolds=refolds, snapshots=snapshots)
    if kind is Stored.BASE and version < 8:
        return replace(example, state=replace(example.state, landing=example.landing - 1))
    if kind is Stored.PROGRESS and version < 7:
        refolds = {table: replace(one, base=None) for table, one in example.refolds.items()}
        example = replace(example, refolds=refolds)
    if kind is Stored.PROGRESS and version < 6:
        example = replace(example, refolds={}, void=frozenset(), given_up=frozenset())
    if kind is Stored.PROGRESS and version < 4:
        followed = example.followed if version > 1 else None
        return replace(example, followed=followed, withheld={})
    if kind is Stored.SCHEMA and version < 4:
        columns = (replace(c, unknown_below=None, is_withheld=False) for c in example.columns)
        renames = (replace(rename, fills=()) for rename in example.column_renames)
        return replace(example, columns=tuple(columns), column_renames=tuple(renames))
    if kind is Stored.HISTORY and version < 5:
        return example | {"changed": {}}
    if kind is Stored.RESULT and version < 6:
        table = replace(example.tables[0], displaced="", is_beside=False)
        renamed_from = table.renamed_from if version > 2 else ""
        return replace(example, tables=(replace(table, renamed_from=renamed_from),))
    return example[:2] if kind is Stored.REF_UPDATES and version < 3 else example


def test_every_kind_has_an_example() -> None:
    assert KINDS.keys() == set(Stored)


@pytest.mark.parametrize(
    ("kind", "version"),
    [(kind, version) for kind in Stored for version in range(SINCE.get(kind, 1), VERSION + 1)],
    ids=lambda part: part.name.lower() if isinstance(part, Stored) else str(part),
)
def test_documents_of_every_version_are_read(kind: Stored, version: int) -> None:
    """PUB-1, PUB-9: an upgrade is a numbered step."""
    stored = json.loads(file_of(kind, version).read_text())
    assert stored.get("version", 1) == version
    assert KINDS[kind].reads(json.dumps(stored)) == as_of(version, kind)


@pytest.mark.parametrize("kind", Stored, ids=lambda kind: kind.name.lower())
def test_another_form_is_another_version(kind: Stored) -> None:
    """What is stored today is what the newest version is known by, to the last field."""
    known = json.loads(file_of(kind, VERSION).read_text())
    assert json.loads(KINDS[kind].stores(KINDS[kind].example)) == known


@pytest.mark.parametrize("kind", Stored, ids=lambda kind: kind.name.lower())
def test_what_a_newer_version_stored_is_refused(kind: Stored) -> None:
    newer = json.loads(file_of(kind, VERSION).read_text()) | {"version": VERSION + 1}
    with pytest.raises(StoredStateError, match=f"has version {VERSION + 1}.*reads up to {VERSION}"):
        KINDS[kind].reads(json.dumps(newer))


def test_fields_that_version_1_got_later_may_be_missing() -> None:
    """The first commits wrote fewer fields under the same number."""
    first = (
        '{"version": 1, "cut": 3, "landing": 5, "oldest_held": 4, '
        '"frontier": {"commit_ts": 7, "offsets": {}, "reached": []}, '
        '"behind": {"shop.items": {"commit_ts": 6, "offsets": {}, "reached": []}}, '
        '"watermarks": {}, "truncated": {}, "renames": [["a.b", "a.c", null]]}'
    )
    renamed = Rename(TableName("a", "b"), TableName("a", "c"))
    assert Progress.from_json(first) == Progress(
        *(3, 5, 4, Frontier(7), {ITEMS: Frontier(6)}), renames=(renamed,)
    )
    landed = '{"version": 1, "landing": 4, "offsets": {}, "topic_ids": {"shop": "aBc"}}'
    assert LandingMark.from_json(landed) == LandingMark(4, {}, {"shop": "aBc"})
    column = '{"name": "id", "iceberg": "int", "wire": "integer", "source_type": "int"}'
    schema = TableSchema.from_json(json.loads(f'{{"columns": [{column}], "key": ["id"]}}'))
    assert schema == TableSchema((SourceColumn(ID, "int", ValueEncoding.INTEGER, "int"),), (ID,))
    assert schema.mode is TargetMode.MIRROR


if __name__ == "__main__":
    for stored_kind, (example, stores, _) in KINDS.items():
        target = file_of(stored_kind, VERSION)
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            target.write_text(json.dumps(json.loads(stores(example)), indent=1) + "\n")
