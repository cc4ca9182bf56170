"""The published cuts that changed a target, newest first, under all names that it had. No JVM."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.expressions import And, GreaterThan, In, LessThanOrEqual
from pyiceberg.table import Table

from tidemark.lake.catalog import SystemTables, catalog_errors
from tidemark.lake.filters import one_of
from tidemark.lake.removal import find_table
from tidemark.lake.verdicts import verdicts_of
from tidemark.model.names import AttemptId
from tidemark.model.progress import Progress
from tidemark.model.result import CutResult, TableResult
from tidemark.model.verdict import Verdict

WINDOW = 1000
"""Cuts that are looked at first; each time that they do not suffice, ten times as many."""


@dataclass(frozen=True, slots=True)
class TargetCut:
    """A published cut that changed a target.

    of_target: what it did to the target. at_ms: when it was staged, in ms since 1970. reason: why a
    person had it run; empty where nobody said. before, after: progress as the cut found and left
    it; None where an older version published it.
    """

    result: CutResult
    of_target: TableResult
    at_ms: int
    reason: str
    before: Progress | None
    after: Progress | None


def cuts_of(
    catalog: Catalog, tables: SystemTables, target: str, newest: int, last: int
) -> tuple[TargetCut, ...]:
    """The newest ``last`` cuts up to ``newest`` that changed ``target``, newest first.

    Before the cut that renamed it, those that changed what it was called then (SCHEMA-31). Cuts
    that the first versions published are not among them: their rows lack what they did.
    """
    ledger = find_table(catalog, tables.ledger)
    if ledger is None:
        return ()
    changed: list[TargetCut] = []
    limit, wanted = newest, target
    with catalog_errors("the reading of the ledger"):
        while len(changed) < last:
            numbers = _cuts_with(ledger, wanted, limit, last - len(changed))
            rows = _rows_of(ledger, numbers)
            cuts = [cut for n in numbers if (cut := _cut_of(rows, n, wanted)) is not None]
            renamed = [at for at, cut in enumerate(cuts) if cut.of_target.renamed_from]
            if not renamed:
                changed += cuts
                break
            changed += cuts[: renamed[0] + 1]
            limit, wanted = changed[-1].result.cut - 1, changed[-1].of_target.renamed_from
    return tuple(changed[:last])


def _cuts_with(ledger: Table, target: str, limit: int, most: int) -> list[int]:
    """Numbers of the newest cuts up to ``limit`` that changed ``target``, newest first.

    None below the cut that gave the table of that name another: they are of that table.
    """
    numbers: list[int] = []
    high, window = limit, WINDOW
    fields = ("cut", "tables", "result")
    while high > 0 and len(numbers) < most:
        between = And(
            GreaterThan(term="cut", value=high - window), LessThanOrEqual(term="cut", value=high)
        )
        rows = ledger.scan(row_filter=between, selected_fields=fields).to_arrow().to_pylist()
        since = max((row["cut"] for row in rows if _gives_away(row, target)), default=0)
        changed = (row["cut"] for row in rows if target in (row["tables"] or ()))
        numbers += sorted((number for number in changed if number >= since), reverse=True)
        if since:
            break
        high, window = high - window, window * 10
    return numbers[:most]


def _gives_away(row: Mapping[str, Any], name: str) -> bool:
    """Whether the target that was called ``name`` has another name since this cut."""
    text = row["result"] or ""
    return json.dumps(name) in text and any(
        table.renamed_from == name for table in CutResult.from_json(text).tables
    )


def _rows_of(ledger: Table, numbers: Sequence[int]) -> Mapping[int, Mapping[str, Any]]:
    """The rows of the cuts ``numbers`` and of those before them."""
    wanted = {number - before for number in numbers for before in (0, 1)}
    rows = ledger.scan(row_filter=one_of("cut", wanted)).to_arrow().to_pylist()
    return {row["cut"]: row for row in rows}


def _cut_of(rows: Mapping[int, Mapping[str, Any]], number: int, target: str) -> TargetCut | None:
    row = rows[number]
    if row.get("result") is None:
        return None
    result = CutResult.from_json(row["result"])
    of_target = next(table for table in result.tables if table.target == target)
    return TargetCut(
        result,
        of_target,
        int(row["staged_at"].timestamp() * 1000),
        row["reason"] or "",
        _progress(rows.get(number - 1)) if number > 1 else Progress(),
        _progress(row),
    )


def _progress(row: Mapping[str, Any] | None) -> Progress | None:
    text = row.get("progress") if row is not None else None
    return Progress.from_json(text) if text else None


def published_verdicts(
    catalog: Catalog, tables: SystemTables, cuts: Sequence[TargetCut]
) -> Mapping[int, Verdict]:
    """Cut -> what the audit of the target found that it published; ``cuts`` are of one target."""
    attempts = {cut.result.attempt: cut for cut in cuts}
    wanted = And(
        one_of("cut", {cut.result.cut for cut in cuts}),
        In(term="table", literals={cut.of_target.target for cut in cuts}),
    )
    with catalog_errors("the reading of verdicts"):
        try:
            verdicts = catalog.load_table(tables.verdicts.parts)
        except NoSuchTableError:
            return {}
        rows = verdicts.scan(row_filter=wanted).to_arrow().to_pylist()
    return dict(_by_cut(rows, attempts))


def _by_cut(
    rows: Sequence[Mapping[str, Any]], attempts: Mapping[AttemptId, TargetCut]
) -> Iterator[tuple[int, Verdict]]:
    for attempt, cut in attempts.items():
        of = cut.of_target
        for verdict in verdicts_of(row for row in rows if row["attempt"] == attempt):
            if (verdict.table, verdict.snapshot_id) == (of.target, of.snapshot_id):
                yield cut.result.cut, verdict
