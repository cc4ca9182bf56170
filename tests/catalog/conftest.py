"""Two kinds of catalogs, the same promises.

There is one server of each kind for all tests of this process. In PostgreSQL each test has a
catalog of its own; before it uses the REST server, a test removes what others left there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commit_proxy import CommitProxy, commit_proxy
from tests.support.postgres import running_postgres
from tests.support.rest_catalog import rest_block, running_rest_catalog
from tests.support.staged_cut import new_world
from tidemark.lake.catalog import open_catalog
from tidemark.runs.world import World
from tidemark.spec import CatalogSpec


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """URI of a server that lives as long as the test session."""
    with running_postgres() as server:
        yield server.uri


@pytest.fixture(scope="session")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URI of a REST server that lives as long as the test session."""
    folder = tmp_path_factory.mktemp("rest")
    with running_rest_catalog(folder, str(folder / "warehouse")) as uri:
        yield uri


@pytest.fixture(params=["postgres", "rest"])
def uri(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URI of a server of that kind; nothing is in it that a test may meet."""
    uri: str = request.getfixturevalue(request.param)
    if request.param == "rest":
        catalog = open_catalog(CatalogSpec.model_validate(rest_block(uri, str(tmp_path))))
        for namespace in catalog.list_namespaces():
            for table in catalog.list_tables(namespace):
                catalog.drop_table(table)
    return uri


@pytest.fixture
def proxy(uri: str) -> Iterator[CommitProxy]:
    """A proxy before that catalog."""
    with commit_proxy(uri) as proxy:
        yield proxy


@pytest.fixture
def world(uri: str, tmp_path: Path) -> World:
    """The tables of staged cuts, without a proxy."""
    return new_world(uri, tmp_path)
