"""One PostgreSQL server for all tests of this process; each test has a catalog of its own in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commit_proxy import CommitProxy, commit_proxy
from tests.support.postgres import running_postgres
from tests.support.staged_cut import new_world
from tidemark.runs.world import World


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """URI of a server that lives as long as the test session."""
    with running_postgres() as uri:
        yield uri


@pytest.fixture
def proxy(postgres: str) -> Iterator[CommitProxy]:
    """A proxy before that server."""
    with commit_proxy(postgres) as proxy:
        yield proxy


@pytest.fixture
def world(postgres: str, tmp_path: Path) -> World:
    """A new catalog with the tables of staged cuts, at the server itself."""
    return new_world(postgres, tmp_path)
