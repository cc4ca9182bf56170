"""PUB-7: where a catalog keeps no branches, nothing is staged and nothing reaches main."""

from __future__ import annotations

import pytest

from tests.support.forgetful_server import forgetful_server
from tests.support.staged_cut import SYSTEM, TARGETS, rows, world_through
from tidemark.errors import BranchLostError
from tidemark.lake.landing import PROPERTIES, SCHEMA, branch_landing, read_landed
from tidemark.lake.ledger import ensure_table
from tidemark.lake.refs import main_head
from tidemark.model.names import AttemptId
from tidemark.runs.world import World


@pytest.mark.parametrize("uri", ["rest"], indirect=True)
def test_a_landing_is_refused_before_it_begins(world: World, uri: str) -> None:
    changelog = ensure_table(world.catalog, SYSTEM.changelog, SCHEMA, PROPERTIES)
    with forgetful_server(uri) as forgetful:
        catalog = world_through(forgetful, world).catalog
        head = read_landed(catalog, SYSTEM)
        with pytest.raises(BranchLostError, match="the catalog accepted branch tidemark_1_try_1"):
            branch_landing(catalog, SYSTEM, head, AttemptId("try_1"))
    assert main_head(changelog.refresh()) == head.snapshot
    assert [rows(world, table) for table in TARGETS] == [[], []]
