"""PUB-5: an order is recorded or not, as the person is told, wherever the connection breaks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.commit_proxy import CommitProxy, Fault
from tests.support.staged_cut import SYSTEM, missing_files, world_through
from tidemark.errors import OutcomeUnknownError
from tidemark.lake.history import read_history
from tidemark.lake.ledger import PROPERTIES, SCHEMA, ensure_table, read_progress, record_action
from tidemark.model.progress import Progress
from tidemark.runs.world import World

COMMITS = ("branch", "rows", "main")


def ordered(progress: Progress) -> Progress:
    return replace(progress, quiet_settles=True)


def orders(world: World) -> list[str]:
    return [order.command for order in read_history(world.catalog, SYSTEM).orders]


@pytest.mark.parametrize("commit", COMMITS)
@pytest.mark.parametrize("fault", list(Fault))
def test_order_is_told_as_it_is(
    world: World, proxy: CommitProxy, fault: Fault, commit: str
) -> None:
    ensure_table(world.catalog, SYSTEM.ledger, SCHEMA, PROPERTIES)
    through = world_through(proxy.uri, world).catalog
    is_done = proxy.arm(fault, late_seconds=0.5, passing=COMMITS.index(commit))
    if commit == "main" and fault is Fault.REPLY_LOST:
        record_action(through, SYSTEM, ordered, "an order")
    else:
        with pytest.raises(OutcomeUnknownError):
            record_action(through, SYSTEM, ordered, "an order")
    assert is_done.wait(30)
    is_recorded = commit == "main" and fault is not Fault.NEVER
    assert orders(world) == ["an order"] * is_recorded
    assert read_progress(world.catalog, SYSTEM).quiet_settles == is_recorded
    assert missing_files(world) == []
    record_action(through, SYSTEM, ordered, "another order")
    assert orders(world)[0] == "another order"
