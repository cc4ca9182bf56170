"""The pipeline's ledger: one row per published cut, and the progress in a property of the table.

A cut is staged on a branch of the ledger as on every target, and published in the same step.
Airflow's database may be lost: what is published and what comes next stands here (PUB-1). All of it
stands there once, however many cuts there were: snapshots say no more than whose they are.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.expressions import EqualTo, GreaterThan
from pyiceberg.table import Table

from tidemark.lake.catalog import (
    SystemTables,
    TableId,
    catalog_errors,
    commit_errors,
    ensure_namespace,
)
from tidemark.lake.commits import (
    action_branch,
    append_behind,
    append_on,
    begin_branch,
    commit_order,
    stage_behind,
)
from tidemark.lake.filters import one_of
from tidemark.lake.marks import IN_PROPERTY, TAG, entry_of, read_checked
from tidemark.lake.refs import (
    Displaced,
    Fork,
    RefUpdate,
    TargetRename,
    attempt_ref,
    is_ref_of,
    main_head,
    summary_value,
)
from tidemark.model.names import AttemptId
from tidemark.model.progress import Progress
from tidemark.model.result import CutResult, TableResult
from tidemark.model.stored_state import Stored, from_stored, to_stored

PROGRESS = "tidemark.progress"
ATTEMPT = "tidemark.attempt"
RESULT = "tidemark.result"
MOVES = "tidemark.moves"
ORDER = "tidemark.order"
RETRIES = "commit.retry.num-retries"
UNKNOWN = -1
"""In the place of the id of a snapshot."""

SCHEMA = pa.schema(
    [
        pa.field("cut", pa.int64(), nullable=False),
        pa.field("attempt", pa.string(), nullable=False),
        pa.field("staged_at", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("complete_until", pa.timestamp("us", tz="UTC")),
        pa.field("hold", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("buckets", pa.map_(pa.string(), pa.int64())),
        pa.field("tables", pa.list_(pa.string())),
        pa.field("stopped", pa.map_(pa.string(), pa.string())),
        pa.field("result", pa.string()),
        pa.field("progress", pa.string()),
    ]
)
PROPERTIES = {
    "format-version": "2",
    "commit.manifest-merge.enabled": "true",
    "commit.manifest.min-count-to-merge": "20",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}


@dataclass(frozen=True, slots=True)
class LedgerHead:
    """Where ``main`` stood, and the progress as of there; of no ledger at all a fresh one."""

    snapshot: int | None = None
    progress: Progress = field(default_factory=Progress)


@dataclass(frozen=True, slots=True)
class Entry:
    """A cut in the ledger; at_ms: when the newest one was published, when others were staged."""

    result: CutResult
    at_ms: int


@dataclass(frozen=True, slots=True)
class StagedCut:
    """A cut that waits on its branches: the result it will have, and the moves that publish it.

    tag: what every target gets with it, empty where nothing (PUB-14).
    """

    result: CutResult
    progress: Progress
    ref_updates: tuple[RefUpdate, ...]
    tag: str = ""


def ensure_table(
    catalog: Catalog, table: TableId, schema: pa.Schema, properties: Mapping[str, str]
) -> Table:
    """The table, made with an empty first snapshot when it is not there.

    One of an older version gets the columns and properties that it lacks.
    One, however many processes make it: pyiceberg would put that of the second one on top of what
    the first has published, unless the table says that nothing is tried again.
    """
    with commit_errors(f"the making of {table}"):
        try:
            made = catalog.load_table(table.parts)
        except NoSuchTableError:
            ensure_namespace(catalog, table.namespace)
            initial_properties = {**properties, RETRIES: "0"}
            made = catalog.create_table_if_not_exists(
                table.parts, schema, properties=initial_properties
            )
        if main_head(made) is not None:
            _bring_up(made, schema, properties)
            return made
        with suppress(CommitFailedException), made.transaction() as first:
            first.remove_properties(RETRIES)
            first.append(schema.empty_table())
        return made.refresh()


def _bring_up(table: Table, schema: pa.Schema, properties: Mapping[str, str]) -> None:
    there = {field.name for field in table.schema().fields}
    lacks = {name: text for name, text in properties.items() if name not in table.properties}
    lacks.pop("format-version", None)
    if lacks or not there.issuperset(schema.names):
        with table.transaction() as change:
            with change.update_schema() as columns:
                columns.union_by_name(schema)
            change.set_properties(lacks)


def read_ledger(catalog: Catalog, tables: SystemTables) -> LedgerHead:
    """What is published of the pipeline, and where that stands."""
    ledger = _load(catalog, tables)
    if ledger is None:
        return LedgerHead()
    text = _newest_text(ledger, tables, PROGRESS)
    return LedgerHead(main_head(ledger), Progress.from_json(text) if text else Progress())


def read_progress(catalog: Catalog, tables: SystemTables) -> Progress:
    """What is published of the pipeline; a fresh one when nothing ever was."""
    return read_ledger(catalog, tables).progress


def newest_result(catalog: Catalog, tables: SystemTables) -> CutResult | None:
    """The result of the newest published cut; None when nothing is published."""
    ledger = _load(catalog, tables)
    text = _newest_text(ledger, tables, RESULT) if ledger else None
    return CutResult.from_json(text) if text else None


def _load(catalog: Catalog, tables: SystemTables) -> Table | None:
    with catalog_errors("the reading of the ledger"):
        try:
            return catalog.load_table(tables.ledger.parts)
        except NoSuchTableError:
            return None


def read_marks(catalog: Catalog, tables: SystemTables) -> Mapping[str, str]:
    """What the ledger says of its newest published cut and of what was ordered since."""
    ledger = _load(catalog, tables)
    published = read_checked(ledger, tables.ledger) if ledger else None
    return published.marks if published else {}


def _newest_text(ledger: Table, tables: SystemTables, key: str) -> str | None:
    published = read_checked(ledger, tables.ledger)
    return published.marks.get(key) if published else None


def record_action(
    catalog: Catalog,
    tables: SystemTables,
    change: Callable[[Progress], Progress],
    order: str,
) -> Progress:
    """Change progress as a person ordered between two cuts; attempts staged before are superseded.

    order: the command, as `status` shows it. Where a cut is published or another order is recorded
    meanwhile, ``change`` is asked again about the progress of then. `SupersededError` when that
    happens time and again. Returns what progress is now.
    """

    def ordered() -> Progress:
        head = read_ledger(catalog, tables)
        changed = change(head.progress)
        ledger = ensure_table(catalog, tables.ledger, SCHEMA, PROPERTIES)
        branch = action_branch(ledger, head.snapshot, head.progress.cut)
        append_behind(
            *(catalog, branch, SCHEMA.empty_table()),
            summary={**IN_PROPERTY, ORDER: order},
            marks={PROGRESS: changed.to_json()},
        )
        return changed

    return commit_order(ordered)


def stage_action(catalog: Catalog, tables: SystemTables, head: LedgerHead, order: str) -> RefUpdate:
    """The move that records an order which changes other tables, and no progress.

    head: of the ledger, as it was read before the order was decided upon.
    """
    ledger = ensure_table(catalog, tables.ledger, SCHEMA, PROPERTIES)
    return stage_behind(
        *(catalog, action_branch(ledger, head.snapshot, head.progress.cut), SCHEMA.empty_table()),
        summary={**IN_PROPERTY, ORDER: order},
        marks={PROGRESS: head.progress.to_json()},
    )


def stage_entry(
    catalog: Catalog,
    tables: SystemTables,
    head: int | None,
    staged: StagedCut,
    reason: str,
) -> None:
    """Write the cut's row, progress and moves on the attempt's branch of the ledger.

    head: of the ledger, as the run read it; what was recorded since is not built upon.
    """
    ledger = ensure_table(catalog, tables.ledger, SCHEMA, PROPERTIES)
    name = attempt_ref(staged.progress.cut, staged.result.attempt)
    branch = begin_branch(ledger, head, name)
    with commit_errors("the staging of the ledger"):
        append_on(
            *(ledger, name, pa.Table.from_pylist([_row(staged, reason)], schema=SCHEMA)),
            summary={**IN_PROPERTY, ATTEMPT: staged.result.attempt, TAG: staged.tag},
            properties={entry_of(name): _entry_to_json(staged, branch.base)},
        )


def _entry_to_json(staged: StagedCut, base: int) -> str:
    return json.dumps(
        {
            PROGRESS: staged.progress.to_json(),
            RESULT: staged.result.to_json(),
            MOVES: moves_to_json(staged.ref_updates, base),
        }
    )


def _row(staged: StagedCut, reason: str) -> Mapping[str, object]:
    result = staged.result
    millis = result.complete_until_ms
    return {
        "cut": result.cut,
        "attempt": result.attempt,
        "staged_at": datetime.now(UTC),
        "complete_until": datetime.fromtimestamp(millis / 1000, UTC) if millis else None,
        "hold": result.hold or None,
        "reason": reason or None,
        "buckets": list(result.buckets.items()),
        "tables": [table.target for table in result.tables],
        "stopped": list(result.stopped.items()),
        "result": result.to_json(),
        "progress": staged.progress.to_json(),
    }


def find_cut(
    catalog: Catalog, tables: SystemTables, attempt: AttemptId
) -> StagedCut | CutResult | None:
    """The cut of ``attempt``: its result once it is published; None when it left none."""
    ledger = _load(catalog, tables)
    if ledger is None:
        return None
    newest = _newest_of(ledger, tables, attempt)
    if newest is not None:
        return newest
    for name, ref in ledger.refs().items():
        text = ledger.properties.get(entry_of(name)) if is_ref_of(name, attempt) else None
        if text is not None:
            staged = _read_staged(tables, name, ref.snapshot_id, json.loads(text))
            snapshot = ledger.snapshot_by_id(ref.snapshot_id)
            tag = None if snapshot is None else summary_value(snapshot, TAG)
            return replace(staged, tag=tag or "")
    with catalog_errors("the reading of the ledger"):
        rows = ledger.scan(row_filter=EqualTo(term="attempt", value=attempt)).to_arrow()
    return next((entry.result for entry in _entries(rows)), None)


def newest_cut(catalog: Catalog, tables: SystemTables, attempt: AttemptId) -> CutResult | None:
    """The newest published cut, if it is of ``attempt``; reads no rows."""
    ledger = _load(catalog, tables)
    return None if ledger is None else _newest_of(ledger, tables, attempt)


def newest_tag(catalog: Catalog, tables: SystemTables) -> str:
    """The tag that the newest published cut gave; empty where it gave none."""
    return read_marks(catalog, tables).get(TAG, "")


def tag_of_attempt(catalog: Catalog, tables: SystemTables, attempt: AttemptId) -> str:
    """The tag that ``attempt`` gave; empty where it gave none, or its cut is not the newest."""
    marks = read_marks(catalog, tables)
    return marks.get(TAG, "") if marks.get(ATTEMPT) == attempt else ""


def _newest_of(ledger: Table, tables: SystemTables, attempt: AttemptId) -> CutResult | None:
    published = read_checked(ledger, tables.ledger)
    if published is None or published.marks.get(ATTEMPT) != attempt:
        return None
    return CutResult.from_json(published.marks[RESULT])


def _read_staged(
    tables: SystemTables, branch: str, snapshot_id: int, entry: Mapping[str, str]
) -> StagedCut:
    ref_updates, base = moves_from_json(entry[MOVES])
    marks = ((PROGRESS, entry[PROGRESS]), (RESULT, entry[RESULT]))
    ledger_update = RefUpdate(tables.ledger, base, snapshot_id, (branch,), marks=marks)
    progress = Progress.from_json(entry[PROGRESS])
    return StagedCut(CutResult.from_json(entry[RESULT]), progress, (*ref_updates, ledger_update))


def progress_of_cut(catalog: Catalog, tables: SystemTables, cut: int) -> Progress | None:
    """Progress as ``cut`` left it; None where it was not published, or by an older version."""
    ledger = _load(catalog, tables)
    if ledger is None:
        return None
    with catalog_errors("the reading of the ledger"):
        rows = ledger.scan(row_filter=EqualTo(term="cut", value=cut)).to_arrow().to_pylist()
    texts = (row.get("progress") for row in rows)
    return next((Progress.from_json(text) for text in texts if text), None)


def newest_snapshots(
    catalog: Catalog, tables: SystemTables, wanted: Sequence[tuple[str, int]]
) -> list[int | None]:
    """For each target and cut, the snapshot that stood in ``main`` as that cut was published.

    None where no cut up to there changed it; UNKNOWN where an older version published it, or where
    the target had another name then, as the cut that changed it next renamed it (SCHEMA-31).
    """
    ledger = _load(catalog, tables)
    if ledger is None:
        return [None for _ in wanted]
    with catalog_errors("the reading of the ledger"):
        rows = ledger.scan(selected_fields=("cut", "tables")).to_arrow().to_pylist()
        changed: dict[str, list[int]] = {}
        for row in sorted(rows, key=lambda row: row["cut"]):
            for target in row["tables"] or ():
                changed.setdefault(target, []).append(row["cut"])
        around = [_around(changed.get(target, ()), limit) for target, limit in wanted]
        cuts = one_of("cut", {cut for pair in around for cut in pair if cut is not None})
        entries = _entries(ledger.scan(row_filter=cuts).to_arrow())
    published = {
        (entry.result.cut, table.target): table
        for entry in entries
        for table in entry.result.tables
    }
    return [
        _snapshot_of(published, target, limit, cuts)
        for (target, limit), cuts in zip(wanted, around, strict=True)
    ]


def _around(changed: Sequence[int], limit: int) -> tuple[int | None, int | None]:
    """Of the cuts that changed a target the newest up to ``limit``, and the one behind it."""
    at = bisect_right(changed, limit)
    return changed[at - 1] if at else None, changed[at] if at < len(changed) else None


def _snapshot_of(
    published: Mapping[tuple[int, str], TableResult],
    target: str,
    limit: int,
    around: tuple[int | None, int | None],
) -> int | None:
    newest, following = around
    renamed = published.get((following, target)) if following is not None else None
    if limit > 0 and renamed is not None and renamed.renamed_from:
        return UNKNOWN
    if newest is None:
        return None
    table = published.get((newest, target))
    return UNKNOWN if table is None else table.snapshot_id


def attempted(ledger: Table) -> list[Entry]:
    """The cuts that are staged and not published, newest first."""
    entries = []
    for name, ref in ledger.refs().items():
        text, staged = ledger.properties.get(entry_of(name)), ledger.snapshot_by_id(ref.snapshot_id)
        if text is not None and staged is not None:
            result = CutResult.from_json(json.loads(text)[RESULT])
            entries.append(Entry(result, staged.timestamp_ms))
    return sorted(entries, key=lambda entry: entry.at_ms, reverse=True)


def newest_cuts(catalog: Catalog, tables: SystemTables, number: int) -> tuple[Entry, ...]:
    """The newest published cuts, as many as ``number``, newest first."""
    ledger = _load(catalog, tables)
    published = read_checked(ledger, tables.ledger) if ledger else None
    if ledger is None or published is None or RESULT not in published.marks:
        return ()
    above = CutResult.from_json(published.marks[RESULT]).cut - number
    with catalog_errors("the reading of the ledger"):
        rows = ledger.scan(row_filter=GreaterThan(term="cut", value=above)).to_arrow()
    return tuple(sorted(_entries(rows), key=lambda entry: entry.result.cut, reverse=True))


def _entries(rows: pa.Table) -> list[Entry]:
    """Rows of the ledger; those of older versions do not hold the whole result, nor its column."""
    return [
        Entry(CutResult.from_json(row["result"]), int(row["staged_at"].timestamp() * 1000))
        for row in rows.to_pylist()
        if row.get("result") is not None
    ]


def moves_to_json(ref_updates: Sequence[RefUpdate], ledger_base: int | None) -> str:
    """How the staged tables of a cut are published, as kept with its entry."""
    return json.dumps(
        to_stored(
            {
                "ledger_base": ledger_base,
                "moves": [
                    [m.table.namespace, m.table.table, m.base, m.snapshot, list(m.drops)]
                    for m in ref_updates
                ],
                "forks": {
                    str(number): [m.fork.table.namespace, m.fork.table.table, m.fork.origin]
                    for number, m in enumerate(ref_updates)
                    if m.fork is not None
                },
                "renames": {
                    str(number): _rename_to_json(m.rename)
                    for number, m in enumerate(ref_updates)
                    if m.rename is not None
                },
            }
        )
    )


def moves_from_json(text: str) -> tuple[tuple[RefUpdate, ...], int | None]:
    """The reverse of `moves_to_json`: the updates, and where ``main`` of the ledger stood."""
    stored = from_stored(Stored.REF_UPDATES, json.loads(text))
    forks = {
        int(number): Fork(TableId(namespace, table), origin)
        for number, (namespace, table, origin) in stored["forks"].items()
    }
    renames = {
        int(number): _rename_from_json(rename) for number, rename in stored["renames"].items()
    }
    ref_updates = tuple(
        RefUpdate(
            *(TableId(namespace, table), base, snapshot, tuple(drops), forks.get(number)),
            rename=renames.get(number),
        )
        for number, (namespace, table, base, snapshot, drops) in enumerate(stored["moves"])
    )
    return ref_updates, stored["ledger_base"]


def _rename_to_json(rename: TargetRename) -> list[list[str]]:
    """The new name; behind it, where a table has it until then, its metadata and its new name."""
    names = [[rename.to.namespace, rename.to.table]]
    if rename.displaced is not None:
        names.append([rename.displaced.location, *rename.displaced.to.parts])
    return names


def _rename_from_json(stored: Sequence[Sequence[str]]) -> TargetRename:
    to, *displaced = stored
    holder = Displaced(displaced[0][0], TableId(*displaced[0][1:])) if displaced else None
    return TargetRename(TableId(*to), holder)
