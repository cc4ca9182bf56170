"""One Spark session for all tests that need one, and a catalog that it shares with pyiceberg."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.seeds import pytest_addoption, pytest_generate_tests
from tests.support.stack import SPARK_CONF
from tidemark.runs.session import COMPILED, INTERPRETED, SESSION_CONF
from tidemark.runs.world import World, open_spark_world
from tidemark.spec import InstallationSpec
from tidemark.spec.jvm import with_limits
from tidemark.spec.launch import launch_settings

__all__ = ["pytest_addoption", "pytest_generate_tests"]


def pytest_configure(config: pytest.Config) -> None:
    """Let pass what pyspark does itself: it leaves the socket of a `collect` to the garbage."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(scope="session")
def spark(jars: Path) -> Iterator[SparkSession]:
    """A session as Tidemark runs it: UTC, ANSI, no shuffle wider than the machine."""
    settings = with_limits(
        {
            **SESSION_CONF,
            **SPARK_CONF,
            "spark.sql.shuffle.partitions": "2",
        }
    )
    settings |= launch_settings(jars / "spark", settings)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName("tidemark-tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Expressions are interpreted, as in a cut of a few rows; else Spark compiles them."""
    for name, value in INTERPRETED.items():
        spark.conf.set(name, value)
    yield
    for name, value in COMPILED.items():
        spark.conf.set(name, value)


@pytest.fixture(scope="module")
def world(spark: SparkSession, jars: Path, tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world on the test session; its broker is never asked."""
    state = tmp_path_factory.mktemp("lake")
    name = f"lake_{state.name.replace('-', '_')}"
    installation = InstallationSpec.model_validate(
        {
            "kafka": {"bootstrap-servers": "127.0.0.1:1"},
            "catalog": {
                "name": name,
                "uri": f"sqlite:///{state}/catalog.db",
                "warehouse": str(state),
            },
            "spark": {"jars": str(jars / "spark")},
            "state": str(state),
        }
    )
    return open_spark_world(installation)
