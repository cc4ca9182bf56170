"""A catalog that Spark and pyiceberg share, fresh for every module."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tidemark.runs.world import World, open_spark_world
from tidemark.spec import InstallationSpec


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
