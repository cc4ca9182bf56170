"""One MariaDB server, one broker and one Spark session for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.binlog_server import Server
from tests.support.mariadb import running_mariadb
from tests.support.seeds import pytest_addoption, pytest_generate_tests
from tests.support.stack import open_stack
from tidemark.runs.world import World

__all__ = ["pytest_addoption", "pytest_generate_tests"]


def pytest_configure(config: pytest.Config) -> None:
    """Let pass what pyspark does itself: it leaves sockets of `collect` to the garbage."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(scope="session")
def world(broker: str, jars: Path, tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world whose pipelines have topics and namespaces of their own."""
    return open_stack(tmp_path_factory.mktemp("stack"), jars, broker)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server with an empty database."""
    with running_mariadb() as running:
        yield running
