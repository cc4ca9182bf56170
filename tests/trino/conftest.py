"""One Trino server and one Spark session on one lake, for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.postgres import running_postgres
from tests.support.s3 import running_s3
from tests.support.shared_lake import SharedLake
from tests.support.stack import SPARK_CONF
from tests.support.trino import Trino, running_trino
from tidemark.runs.world import World, open_spark_world


@dataclass(frozen=True)
class Neighbours:
    """Who cuts, and who maintains."""

    world: World
    trino: Trino


def pytest_configure(config: pytest.Config) -> None:
    """Let pass what pyspark does itself: it leaves sockets of `collect` to the garbage."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(scope="session")
def neighbours(
    broker: str, jars: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Neighbours]:
    """Both on the same catalog and the same store."""
    folder = tmp_path_factory.mktemp("trino")
    with running_s3(folder) as store, running_postgres() as catalog:
        lake = SharedLake.make(catalog.uri, store)
        with running_trino(folder, lake) as trino:
            installation = lake.installation(broker, jars, folder / "state", SPARK_CONF)
            world = open_spark_world(installation)
            yield Neighbours(world, trino)
            world.spark.stop()
