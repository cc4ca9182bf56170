"""One cluster, store, catalog and Spark session for all tests of this folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from embedded.home import REPOSITORY
from tests.support.postgres import running_postgres
from tests.support.s3 import Store, running_s3
from tests.support.shared_lake import SECRETS, SharedLake
from tests.support.spark_cluster import Cluster, running_cluster
from tests.support.stack import SPARK_CONF
from tidemark.runs.world import World, open_spark_world


@dataclass(frozen=True)
class Deployment:
    """What runs, and the folder of the driver's state."""

    cluster: Cluster
    store: Store
    world: World


def pytest_configure(config: pytest.Config) -> None:
    """Let pass what pyspark does itself: it leaves sockets of `collect` to the garbage."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(scope="session")
def deployment(
    broker: str, jars: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    """A driver here, executors there, and between them the broker, the store and the catalog."""
    folder = tmp_path_factory.mktemp("cluster")
    hidden = outermost([REPOSITORY, folder, Path(tempfile.gettempdir())])
    with (
        running_s3(folder) as store,
        running_postgres() as catalog,
        running_cluster(folder, hidden) as cluster,
    ):
        conf = {
            **SPARK_CONF,
            "spark.master": cluster.url,
            "spark.executor.memory": "640m",
            "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        lake = SharedLake.make(catalog.uri, store)
        world = open_spark_world(lake.installation(broker, jars, folder / "state", conf))
        yield Deployment(cluster, store, world)
        world.spark.stop()
        assert telling_logs(cluster) == []


def telling_logs(cluster: Cluster) -> list[str]:
    """Logs of the services, workers and executors that have a secret in them."""
    logs = [*cluster.folder.glob("*.log")]
    for worker in cluster.workers:
        logs += worker.home.glob("work/*/*/std*")
    texts = {str(log): log.read_text(errors="replace") for log in logs}
    return [log for log, text in texts.items() if any(secret in text for secret in SECRETS)]


def outermost(folders: list[Path]) -> list[Path]:
    """Those of ``folders`` that are in no other one."""
    real = sorted({folder.resolve() for folder in folders})
    return [
        one for one in real if not any(one.is_relative_to(other) for other in real if other != one)
    ]
