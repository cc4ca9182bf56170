"""PUB-5: what is landed is landed once, whatever becomes of the COMMIT that makes it count."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog

from tests.support.commit_proxy import CommitProxy, Fault
from tests.support.staged_cut import SYSTEM, missing_files, world_through
from tidemark.errors import OutcomeUnknownError, SupersededError
from tidemark.lake.landing import (
    PROPERTIES,
    SCHEMA,
    landing_summary,
    publish_landing,
    read_mark,
)
from tidemark.lake.ledger import ensure_table
from tidemark.lake.refs import RefUpdate, attempt_ref, create_branch, main_head
from tidemark.model.names import AttemptId
from tidemark.model.progress import LandingMark
from tidemark.runs.world import World

OFFSETS = [0, 1, 2]


def stage_landing(world: World, attempt: AttemptId, mark: LandingMark) -> RefUpdate:
    """Three records on a branch, as Spark appends them."""
    changelog = ensure_table(world.catalog, SYSTEM.changelog, SCHEMA, PROPERTIES)
    base, branch = main_head(changelog), attempt_ref(mark.number, attempt)
    assert base is not None
    create_branch(changelog, branch, base)
    records = pa.Table.from_pylist(
        [{"landing": mark.number, "topic": "p.a", "partition": 0, "offset": at} for at in OFFSETS],
        schema=SCHEMA,
    )
    changelog.append(records, snapshot_properties=landing_summary(mark), branch=branch)
    return RefUpdate(SYSTEM.changelog, base, changelog.refs()[branch].snapshot_id, (branch,))


@pytest.mark.parametrize("fault", list(Fault))
def test_records_are_landed_once(world: World, proxy: CommitProxy, fault: Fault) -> None:
    mark = LandingMark(number=1)
    first = stage_landing(world, AttemptId("try_1"), mark)
    second = stage_landing(world, AttemptId("try_2"), mark)
    is_done = proxy.arm(fault, late_seconds=1.0)
    through = world_through(proxy.uri, world).catalog
    if fault is Fault.REPLY_LOST:
        publish_landing(through, first, len(OFFSETS), mark)
    else:
        with pytest.raises(OutcomeUnknownError):
            publish_landing(through, first, len(OFFSETS), mark)
    # A database has the second one wait for a transaction that is open; a server knows of none yet.
    is_first_late = fault is Fault.LATE and isinstance(world.catalog, RestCatalog)
    if fault is Fault.NEVER or is_first_late:
        publish_landing(through, second, len(OFFSETS), mark)
    else:
        with pytest.raises(SupersededError):
            publish_landing(through, second, len(OFFSETS), mark)
    assert is_done.wait(30)
    landed = world.catalog.load_table(SYSTEM.changelog.parts).scan().to_arrow()
    assert sorted(landed["offset"].to_pylist()) == OFFSETS
    assert read_mark(world.catalog, SYSTEM) == mark
    assert missing_files(world) == []
