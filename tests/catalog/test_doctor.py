"""`tidemark doctor` finds what a catalog does not do, and leaves no table there."""

from __future__ import annotations

import pytest
from pyiceberg.catalog.rest import RestCatalog

from tests.support.forgetful_server import forgetful_server
from tests.support.staged_cut import SYSTEM, world_through
from tidemark.lake.rest import TOGETHER
from tidemark.model.finding import Grade
from tidemark.runs.doctor.catalog import catalog_findings
from tidemark.runs.world import World

NAMESPACE = SYSTEM.ledger.namespace


def test_a_catalog_that_does_all_is_good(world: World) -> None:
    """PUB-7, PUB-13"""
    before = {*world.catalog.list_namespaces()}
    found = list(catalog_findings(world.catalog, NAMESPACE))
    assert {finding.grade for finding in found} == {Grade.GOOD}
    assert len(found) == 5
    assert {*world.catalog.list_namespaces()} == before | {(NAMESPACE,)}
    assert world.catalog.list_tables(NAMESPACE) == []


@pytest.mark.parametrize("uri", ["rest"], indirect=True)
def test_a_server_without_branches_and_transactions_is_not(world: World, uri: str) -> None:
    """PUB-7, PUB-13"""
    with forgetful_server(uri) as forgetful:
        catalog = world_through(forgetful, world).catalog
        assert isinstance(catalog, RestCatalog)
        worst = [f for f in catalog_findings(catalog, NAMESPACE) if f.grade is Grade.ERROR]
        assert [finding.what.partition(":")[0] for finding in worst] == ["BranchLostError"]
    served = world_through(uri, world).catalog
    assert isinstance(served, RestCatalog)
    served._supported_endpoints = served._supported_endpoints - {TOGETHER}
    (warning,) = (f for f in catalog_findings(served, NAMESPACE) if f.grade is not Grade.GOOD)
    assert warning.what == "its server does not name the endpoint transactions/commit"
