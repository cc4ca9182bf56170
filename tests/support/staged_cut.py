"""Cuts of two small tables, staged by pyiceberg alone, in a catalog on PostgreSQL or by REST."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog import Catalog

from tests.support.postgres import USER
from tests.support.rest_catalog import rest_block
from tidemark.lake.catalog import SystemTables, TableId
from tidemark.lake.forks import make_fork
from tidemark.lake.ledger import ATTEMPT, StagedCut, ensure_table, read_ledger, stage_entry
from tidemark.lake.refs import RefUpdate, attempt_ref, create_branch, main_head
from tidemark.lake.verdicts import write_verdicts
from tidemark.model.names import AttemptId
from tidemark.model.progress import Progress
from tidemark.model.result import CutResult, CutStatus, TableResult
from tidemark.model.verdict import CheckResult, Outcome, Severity, Verdict, outcome_of
from tidemark.runs.world import World, open_world
from tidemark.spec import InstallationSpec, PipelineSpec

COUNTER = itertools.count(1)
ROWS = pa.schema([pa.field("id", pa.int64())])
TARGETS = tuple(TableId("db", name) for name in ("a", "b"))
PIPELINE = PipelineSpec.model_validate(
    {
        "name": "p",
        "description": "a test",
        "owner": "tests",
        "schedule": None,
        "source": {
            "format": "ticdc-canal-json",
            "gate": "watermark",
            "topics": {"data": ["p.a", "p.b"]},
        },
        "tables": [{"source": str(table), "expectations": "none"} for table in TARGETS],
    }
)
PASSED = CheckResult("counts", success=True, severity=Severity.CRITICAL, observed="as expected")
SYSTEM = SystemTables.of(PIPELINE.name)
FORKED = TARGETS[-1]


def installation_at(uri: str, state: Path, name: str) -> InstallationSpec:
    """An installation whose catalog ``name`` is at ``uri``; it has no broker."""
    warehouse = str(state / "warehouse")
    in_database = {"uri": uri, "user": USER, "warehouse": warehouse}
    catalog = rest_block(uri, warehouse) if uri.startswith("http") else in_database
    return InstallationSpec.model_validate(
        {
            "kafka": {"bootstrap-servers": "127.0.0.1:1"},
            "catalog": {**catalog, "name": name},
            "spark": {"jars": str(state)},
            "state": str(state),
        }
    )


def new_world(uri: str, state: Path) -> World:
    """A world without a session; its catalog is new and has `TARGETS`, which are empty."""
    world = open_world(installation_at(uri, state, f"lake{next(COUNTER)}"))
    for table in TARGETS:
        ensure_table(world.catalog, table, ROWS, {"format-version": "2"})
    return world


def world_through(uri: str, world: World) -> World:
    """The same world by another address, as another process has it."""
    spec = world.installation
    return open_world(installation_at(uri, spec.state, spec.catalog.name))


def stage(  # noqa: PLR0913  what most tests leave out
    world: World,
    attempt: AttemptId,
    cut: int,
    ids: Sequence[int],
    *,
    has_fork: bool = False,
    checks: tuple[CheckResult, ...] = (PASSED,),
    tables: Sequence[TableId] = TARGETS,
    tag: str = "",
) -> None:
    """Stage ``cut``, which appends ``ids`` to each of ``tables``; has_fork: `FORKED` by a fork.

    cut: the one after what the run found published when it began. checks: of each table.
    """
    catalog = world.catalog
    forked = FORKED if has_fork else None
    ref_updates = [
        _append(catalog, table, attempt, cut, ids, is_fork=table == forked) for table in tables
    ]
    verdicts = [
        Verdict(str(ref_update.table), ref_update.snapshot, "none", checks)
        for ref_update in ref_updates
    ]
    write_verdicts(catalog, SYSTEM, attempt, cut, verdicts)
    outcome = outcome_of(checks)
    results = [
        TableResult(str(m.table), str(m.table), m.snapshot, outcome=outcome) for m in ref_updates
    ]
    status = CutStatus.BLOCKED if outcome is Outcome.BLOCK else CutStatus.STAGED
    result = CutResult(status, attempt, cut, tables=tuple(results))
    head = read_ledger(catalog, SYSTEM).snapshot
    staged = StagedCut(result, Progress(cut=cut), tuple(ref_updates), tag)
    stage_entry(catalog, SYSTEM, head, staged, "")


def _append(  # noqa: PLR0913  what a staged table is made of
    catalog: Catalog,
    target: TableId,
    attempt: AttemptId,
    cut: int,
    ids: Sequence[int],
    *,
    is_fork: bool,
) -> RefUpdate:
    branch = attempt_ref(cut, attempt)
    live, fork = catalog.load_table(target.parts), None
    if is_fork:
        origin = live.metadata_location
        fork = make_fork(catalog, target, origin, SYSTEM.ledger.namespace, branch)
    place, base = target if fork is None else fork.table, main_head(live)
    assert base is not None
    create_branch(catalog.load_table(place.parts), branch, base)
    staged = catalog.load_table(place.parts)
    rows = pa.table({"id": list(ids)}, schema=ROWS)
    staged.append(rows, snapshot_properties={ATTEMPT: attempt}, branch=branch)
    return RefUpdate(target, base, staged.refs()[branch].snapshot_id, (branch,), fork)


def rows(world: World, table: TableId) -> list[int]:
    """Ids in ``table`` as a reader of main finds them, sorted."""
    return sorted(world.catalog.load_table(table.parts).scan().to_arrow()["id"].to_pylist())


def metadata_files(world: World, table: TableId) -> set[Path]:
    """The files of metadata that there are of ``table``."""
    place = world.catalog.load_table(table.parts).metadata_location
    return set(_path(place).parent.glob("*.metadata.json"))


def missing_files(world: World) -> list[str]:
    """What the catalog points at, and tables point at in turn, and is not there."""
    catalog, loaded = world.catalog, []
    for namespace in catalog.list_namespaces():
        for name in catalog.list_tables(namespace):
            try:
                loaded.append(catalog.load_table(name))
            except FileNotFoundError as error:
                return [str(error)]
    places = {table.metadata_location for table in loaded}
    places |= {snapshot.manifest_list for table in loaded for snapshot in table.snapshots()}
    return [place for place in places if not _path(place).exists()]


def _path(place: str | None) -> Path:
    return Path((place or "").removeprefix("file://"))
