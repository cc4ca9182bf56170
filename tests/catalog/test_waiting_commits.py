"""PUB-5, PUB-8: a publish that meets another transaction on its tables waits for its end."""

from __future__ import annotations

import pyarrow as pa
import pytest
from sqlalchemy.exc import DBAPIError

import tidemark.lake.catalog
from tests.support.commit_proxy import CommitProxy, Fault
from tests.support.staged_cut import (
    PIPELINE,
    ROWS,
    TARGETS,
    metadata_files,
    missing_files,
    rows,
    stage,
    world_through,
)
from tidemark.errors import CatalogUnreachableError, OutcomeUnknownError, SupersededError
from tidemark.model.names import AttemptId
from tidemark.model.result import CutStatus
from tidemark.runs.publish import publish_cut
from tidemark.runs.world import World

ATTEMPT = AttemptId("try_1")
pytestmark = pytest.mark.parametrize("uri", ["postgres"], indirect=True)
LATE_SECONDS = 3.0


def test_refused_publish_leaves_no_metadata(world: World, proxy: CommitProxy) -> None:
    """The other writer's COMMIT was on its way when the publish read the tables."""
    stage(world, ATTEMPT, 1, [1])
    before = [metadata_files(world, table) for table in TARGETS]
    other = world_through(proxy.uri, world).catalog.load_table(TARGETS[-1].parts)
    is_done = proxy.arm(Fault.LATE, LATE_SECONDS)
    with pytest.raises(DBAPIError):
        other.append(pa.table({"id": [9]}, schema=ROWS))
    with pytest.raises(SupersededError, match=r"main of db\.b stands at snapshot"):
        publish_cut(PIPELINE, world, ATTEMPT)
    assert is_done.is_set()
    after = [metadata_files(world, table) for table in TARGETS]
    assert [len(files) for files in after] == [len(before[0]), len(before[1]) + 1]
    assert [rows(world, table) for table in TARGETS] == [[], [9]]
    assert missing_files(world) == []


def test_publish_waits_no_longer_than_it_may(
    world: World, proxy: CommitProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside an earlier try of which COMMIT is on its way; what is refused leaves no files."""
    stage(world, ATTEMPT, 1, [1])
    through = world_through(proxy.uri, world)
    is_done = proxy.arm(Fault.LATE, LATE_SECONDS)
    with pytest.raises(OutcomeUnknownError, match="nothing was deleted"):
        publish_cut(PIPELINE, through, ATTEMPT)
    before = [metadata_files(world, table) for table in TARGETS]
    monkeypatch.setattr(tidemark.lake.catalog, "POSTGRES_LOCK_SECONDS", 1)
    with pytest.raises(CatalogUnreachableError, match="lock timeout"):
        publish_cut(PIPELINE, world_through(proxy.uri, world), ATTEMPT)
    assert [metadata_files(world, table) for table in TARGETS] == before
    assert is_done.wait(30)
    assert publish_cut(PIPELINE, world, ATTEMPT).status is CutStatus.PUBLISHED
    assert [rows(world, table) for table in TARGETS] == [[1], [1]]
    assert missing_files(world) == []


def test_transaction_of_a_lost_client_is_undone(
    world: World, proxy: CommitProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """COMMIT arrives after the server gave up on it, and another try has published meanwhile."""
    stage(world, ATTEMPT, 1, [1])
    monkeypatch.setattr(tidemark.lake.catalog, "POSTGRES_IDLE_SECONDS", 1)
    is_done = proxy.arm(Fault.LATE, LATE_SECONDS)
    with pytest.raises(OutcomeUnknownError):
        publish_cut(PIPELINE, world_through(proxy.uri, world), ATTEMPT)
    assert publish_cut(PIPELINE, world, ATTEMPT).status is CutStatus.PUBLISHED
    current = [world.catalog.load_table(table.parts).metadata_location for table in TARGETS]
    assert is_done.wait(30)
    after = [world.catalog.load_table(table.parts).metadata_location for table in TARGETS]
    assert after == current
    assert [rows(world, table) for table in TARGETS] == [[1], [1]]
    assert missing_files(world) == []
