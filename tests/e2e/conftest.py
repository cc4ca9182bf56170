"""One broker, one Spark session and one catalog for all end-to-end tests of this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.stack import open_stack
from tidemark.runs.world import World


def pytest_configure(config: pytest.Config) -> None:
    """Let pass what pyspark does itself: it leaves sockets of `collect` to the garbage."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(scope="session")
def world(broker: str, jars: Path, tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world whose pipelines have topics and namespaces of their own."""
    return open_stack(tmp_path_factory.mktemp("stack"), jars, broker)
