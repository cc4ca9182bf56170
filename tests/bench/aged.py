"""aged: the same small cuts after ten, and after ten thousand that a maintained pipeline had."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from uuid import uuid4

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.serializers import ToOutputFile

from tests.bench.figures import Figure, Target, ratio
from tests.bench.lab import Lab
from tests.bench.small import TABLES, small_cut
from tests.bench.throughput import discard_cut
from tidemark.lake import landing, ledger, verdicts
from tidemark.lake.catalog import SystemTables, TableId
from tidemark.lake.commits import action_branch, append_behind
from tidemark.lake.heads import read_heads
from tidemark.lake.marks import IN_PROPERTY
from tidemark.lake.swap import Entry, Swap, swap_all
from tidemark.lake.upkeep import MAX_SNAPSHOTS
from tidemark.model.result import CutResult
from tidemark.runs.plan import plan_cut
from tidemark.runs.status import pipeline_status
from tidemark.spec import PipelineSpec
from tidemark.spec.maintenance import PolicySpec

CUTS, WARM_UP = 10_000, 10
CUTS_A_DAY, CUTS_A_FILE = 288, 600
"""Of landings between two runs of maintenance, and of cuts in a file of an own table."""
MEASURED = 12
SAME = Target(at_most=1.2)


def measure_aged(lab: Lab) -> Sequence[Figure]:
    """Seconds of a cut, of its plan and of the status, before and after."""
    prefix = "aged"
    lab.make_topics(prefix, list(TABLES))
    pipeline = lab.pipeline(prefix, prefix, list(TABLES))
    for number in range(WARM_UP):
        small_cut(lab, pipeline, number)
    count = lab.scaled(MEASURED, least=3)
    young = _measured(lab, pipeline, WARM_UP, count)
    cuts = lab.scaled(CUTS, least=100)
    _forge(lab, pipeline, cuts)
    old = _measured(lab, pipeline, WARM_UP + count, count)
    discard_cut(lab, pipeline)
    after = f"after {cuts:,} cuts"
    return [
        figure
        for name in young
        for figure in (
            Figure("aged", f"{name} after {WARM_UP} cuts", "s", young[name]),
            Figure("aged", f"{name} {after}", "s", old[name]),
            Figure("aged", f"{name}, times that before", "", ratio(old[name], young[name]), SAME),
        )
    ]


def _measured(
    lab: Lab, pipeline: PipelineSpec, first: int, count: int
) -> Mapping[str, tuple[float, ...]]:
    found: dict[str, list[float]] = {"cut of ten rows": [], "plan": [], "status": []}
    others: Mapping[str, Callable[[], object]] = {
        "plan": lambda: plan_cut(pipeline, lab.world),
        "status": lambda: pipeline_status(pipeline, lab.world),
    }
    for number in range(first, first + count):
        found["cut of ten rows"].append(small_cut(lab, pipeline, number).seconds)
        for name, call in others.items():
            found[name].append(lab.meter.measure(call)[0].seconds)
    return {name: tuple(seconds) for name, seconds in found.items()}


def _forge(lab: Lab, pipeline: PipelineSpec, cuts: int) -> None:
    """Have the pipeline's tables be as ``cuts`` more leave them, with what keeps them small done.

    Ledger and verdicts have rows of each, in files of some hundred cuts; the changelog a file for
    each day of landings but for the last, of which it has all; targets the snapshots that a run of
    maintenance leaves, and those of a day behind it.
    """
    catalog, tables = lab.world.catalog, SystemTables.of(pipeline.name)
    heads = read_heads(catalog, tables)
    _forge_landings(lab, tables, cuts)
    progress = heads.ledger.progress
    landed = progress.landing + cuts
    held = progress.oldest_held + cuts
    after = replace(progress, cut=progress.cut + cuts, landing=landed, oldest_held=held)
    table = catalog.load_table(tables.ledger.parts)
    rows = table.scan(row_filter=f"cut = {progress.cut}").to_arrow().to_pylist()
    result = CutResult.from_json(rows[0]["result"])
    checks = catalog.load_table(tables.verdicts.parts).scan(
        row_filter=f"attempt = '{result.attempt}'"
    )
    told = checks.to_arrow().to_pylist()
    for first in range(progress.cut + 1, after.cut + 1, CUTS_A_FILE):
        some = range(first, min(first + CUTS_A_FILE, after.cut + 1))
        forged = [
            {**rows[0], "cut": n, "attempt": f"forged_{n}", "result": _numbered(result, n)}
            for n in some
        ]
        marks = {ledger.PROGRESS: after.to_json(), ledger.RESULT: _numbered(result, some[-1])}
        entries = pa.Table.from_pylist(forged, schema=ledger.SCHEMA)
        _append(lab, tables.ledger, entries, IN_PROPERTY, marks)
        copies = [{**row, "cut": n, "attempt": f"forged_{n}"} for n in some for row in told]
        catalog.load_table(tables.verdicts.parts).append(
            pa.Table.from_pylist(copies, schema=verdicts.SCHEMA)
        )
    kept = min(cuts, PolicySpec().max_snapshots + CUTS_A_DAY)
    for name in TABLES:
        _forge_snapshots(lab, TableId(pipeline.target_namespace, name), kept)


def _numbered(result: CutResult, cut: int) -> str:
    return replace(result, cut=cut).to_json()


def _forge_landings(lab: Lab, tables: SystemTables, cuts: int) -> None:
    """One record a landing, which no cut reads any more."""
    mark = read_heads(lab.world.catalog, tables).changelog.mark
    numbers = list(range(mark.number + 1, mark.number + cuts + 1))
    old, today = numbers[:-CUTS_A_DAY], numbers[-CUTS_A_DAY:]
    days = [old[at : at + CUTS_A_DAY] for at in range(0, len(old), CUTS_A_DAY)]
    for some in (*days, *([number] for number in today)):
        rows = pa.Table.from_pylist(
            [{"landing": n, "topic": "forged", "partition": 0, "offset": n} for n in some],
            schema=landing.SCHEMA,
        )
        landed = replace(mark, number=some[-1])
        summary = landing.landing_summary(landed)
        _append(lab, tables.changelog, rows, summary, {landing.MARK: landed.to_json()})
    changelog = lab.world.catalog.load_table(tables.changelog.parts)
    made = sorted(changelog.snapshots(), key=lambda one: one.sequence_number or 0)
    old = [one.snapshot_id for one in made[:-MAX_SNAPSHOTS]]
    changelog.maintenance.expire_snapshots().by_ids(old).commit()


def _append(
    lab: Lab, name: TableId, rows: pa.Table, summary: Mapping[str, str], marks: Mapping[str, str]
) -> None:
    table = lab.world.catalog.load_table(name.parts)
    head = table.current_snapshot()
    assert head is not None
    branch = action_branch(table, head.snapshot_id, 0)
    append_behind(lab.world.catalog, branch, rows, summary, marks)


def _forge_snapshots(lab: Lab, name: TableId, count: int) -> None:
    """Older snapshots of a target: as many, and as long, as cuts have made them."""
    table = lab.world.catalog.load_table(name.parts)
    head = table.current_snapshot()
    assert head is not None
    forged = [
        head.model_copy(update={"snapshot_id": uuid4().int >> 66, "parent_snapshot_id": None})
        for _ in range(count)
    ]
    snapshots = [*forged, *table.metadata.snapshots]
    metadata = table.metadata.model_copy(update={"snapshots": snapshots})
    location = f"{table.location()}/metadata/99999-{uuid4()}.metadata.json"
    ToOutputFile.table_metadata(metadata, table.io.new_output(location))
    assert isinstance(lab.world.catalog, SqlCatalog)
    swap_all(lab.world.catalog, [Swap(Entry(name, table.metadata_location), location)])
