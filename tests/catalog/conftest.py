"""Two kinds of catalogs, the same promises.

There is one PostgreSQL server for all tests of this process, in which each test has a catalog of
its own, and a REST server for each test that wants one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commit_proxy import CommitProxy, commit_proxy
from tests.support.postgres import running_postgres
from tests.support.rest_catalog import running_rest_catalog
from tests.support.staged_cut import new_world
from tidemark.runs.world import World


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """URI of a server that lives as long as the test session."""
    with running_postgres() as uri:
        yield uri


@pytest.fixture(params=["postgres", "rest"])
def uri(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """URI of a catalog that no other test knows."""
    if request.param == "postgres":
        yield request.getfixturevalue("postgres")
        return
    with running_rest_catalog(tmp_path, str(tmp_path / "warehouse")) as uri:
        yield uri


@pytest.fixture
def proxy(uri: str) -> Iterator[CommitProxy]:
    """A proxy before that catalog."""
    with commit_proxy(uri) as proxy:
        yield proxy


@pytest.fixture
def world(uri: str, tmp_path: Path) -> World:
    """The tables of staged cuts, without a proxy."""
    return new_world(uri, tmp_path)
