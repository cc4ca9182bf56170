"""Landings and cuts as runs make them of the heads that they read, with no Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from pyiceberg.catalog import Catalog

from tidemark.lake.catalog import SystemTables
from tidemark.lake.commits import append_on
from tidemark.lake.heads import Heads
from tidemark.lake.landing import (
    SCHEMA,
    ChangelogHead,
    branch_landing,
    landing_summary,
    publish_landing,
)
from tidemark.lake.ledger import StagedCut, find_cut, stage_entry
from tidemark.lake.publication import update_mains
from tidemark.lake.quarantine import rows_of, stage_entries
from tidemark.lake.refs import RefUpdate, attempt_ref
from tidemark.model.names import AttemptId, TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.quarantine import Entry
from tidemark.model.result import CutResult, CutStatus

PLACE = TopicPartition(TopicName("shop.items"), 0)
RECORDS = 3


def land(
    catalog: Catalog, tables: SystemTables, heads: Heads, attempt: str, kind: str | None = None
) -> ChangelogHead:
    """Land the RECORDS offsets behind those that ``heads`` show, as records of ``kind``."""
    before = heads.changelog.mark
    start = before.offsets.get(PLACE, 0)
    mark = replace(before, number=before.number + 1, offsets={PLACE: start + RECORDS})
    branch = branch_landing(catalog, tables, heads.changelog, AttemptId(attempt))
    same = {"landing": mark.number, "topic": PLACE.topic, "partition": 0, "kind": kind}
    rows: list[dict[str, object]] = [
        {**same, "offset": offset} for offset in range(start, start + RECORDS)
    ]
    changelog = catalog.load_table(tables.changelog.parts)
    written = pa.Table.from_pylist(rows, schema=SCHEMA)
    append_on(changelog, branch.name, written, landing_summary(mark))
    return publish_landing(catalog, branch.ref_update(changelog), RECORDS, mark)


def stage(  # noqa: PLR0913  all that a cut of no tables has
    catalog: Catalog,
    tables: SystemTables,
    heads: Heads,
    attempt: str,
    ref_updates: Sequence[RefUpdate] = (),
    entries: Sequence[Entry] = (),
) -> None:
    """Stage the cut behind ``heads``; moves: of targets. entries: for the quarantine."""
    cut = heads.ledger.progress.cut + 1
    after = replace(heads.ledger.progress, cut=cut, landing=heads.changelog.mark.number)
    if entries:
        branch, rows = attempt_ref(cut, AttemptId(attempt)), rows_of(entries)
        ref_updates = (*ref_updates, stage_entries(catalog, tables, heads.quarantine, branch, rows))
    result = CutResult(CutStatus.STAGED, AttemptId(attempt), cut=cut)
    entry = StagedCut(result, after, tuple(ref_updates))
    stage_entry(catalog, tables, heads.ledger.snapshot, entry, "")


def publish(catalog: Catalog, tables: SystemTables, attempt: str) -> int:
    """Publish what ``attempt`` staged; the number of the cut."""
    found = find_cut(catalog, tables, AttemptId(attempt))
    assert found is not None
    if isinstance(found, CutResult):
        return found.cut
    update_mains(catalog, found.ref_updates)
    return found.result.cut
