"""A pipeline that follows tables, and a catalog without a server in which a cut is published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from tidemark.lake.catalog import SystemTables, TableId
from tidemark.lake.ledger import StagedCut, ensure_table, read_ledger, stage_entry
from tidemark.lake.refs import RefUpdate, attempt_ref, create_branch, main_head
from tidemark.lake.verdicts import write_verdicts
from tidemark.model.names import AttemptId, TableName
from tidemark.model.progress import Progress
from tidemark.model.result import CutResult, CutStatus, TableResult
from tidemark.model.verdict import CheckResult, Severity, Verdict
from tidemark.runs.publish import publish_cut
from tidemark.runs.world import World, open_world
from tidemark.spec import InstallationSpec, PipelineSpec

ROWS = pa.schema([pa.field("id", pa.int64())])
ITEMS, TARGET = TableName("shop", "items"), TableId("shop", "items")
ATTEMPT = AttemptId("a_1")
PASSED = CheckResult("counts", success=True, severity=Severity.CRITICAL, observed="as expected")


def pipeline(**options: Any) -> PipelineSpec:
    """A pipeline that follows the tables which its file does not name."""
    return PipelineSpec.model_validate(
        {
            "name": "shop",
            "description": "a test",
            "owner": "tests",
            "schedule": None,
            "source": {
                "format": "debezium-mysql",
                "gate": "none",
                "topics": {"data": ["shop"]},
            },
            "other-tables": "follow",
            **options,
        }
    )


def published_world(folder: Path) -> World:
    """A world with the first cut of `pipeline`, of one table; it has no broker and no session."""
    installation = InstallationSpec.model_validate(
        {
            "kafka": {"bootstrap-servers": "127.0.0.1:1"},
            "catalog": {
                "name": "lake",
                "uri": f"sqlite:///{folder}/catalog.db",
                "warehouse": str(folder),
            },
            "spark": {"jars": str(folder)},
            "state": str(folder),
        }
    )
    world = open_world(installation)
    _publish(world)
    return world


def _publish(world: World) -> None:
    catalog, system = world.catalog, SystemTables.of(pipeline().name)
    table, branch = ensure_table(catalog, TARGET, ROWS, {}), attempt_ref(1, ATTEMPT)
    base = main_head(table)
    assert base is not None
    create_branch(table, branch, base)
    staged = catalog.load_table(TARGET.parts)
    staged.append(pa.table({"id": [1]}, schema=ROWS), branch=branch)
    snapshot = staged.refs()[branch].snapshot_id
    write_verdicts(catalog, system, ATTEMPT, 1, [Verdict(str(TARGET), snapshot, "none", (PASSED,))])
    change = TableResult(str(ITEMS), str(TARGET), snapshot)
    result = CutResult(CutStatus.STAGED, ATTEMPT, 1, tables=(change,))
    cut = StagedCut(result, Progress(cut=1), (RefUpdate(TARGET, base, snapshot, (branch,)),))
    stage_entry(catalog, system, read_ledger(catalog, system).snapshot, cut, "")
    publish_cut(pipeline(), world, ATTEMPT)
