"""The edges of a run, opened once by the entry point and handed down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession

from tidemark.lake.catalog import open_catalog
from tidemark.model.names import PipelineName
from tidemark.runs.session import start_session
from tidemark.spec import InstallationSpec
from tidemark.topics.client import Broker


@dataclass(frozen=True, slots=True)
class World:
    """Catalog, broker and, where the work needs one, a Spark session."""

    installation: InstallationSpec
    catalog: Catalog
    broker: Broker
    session: SparkSession | None = None

    @property
    def spark(self) -> SparkSession:
        """The session of a world that was opened with one."""
        if self.session is None:
            raise RuntimeError("this world was opened without Spark")
        return self.session


def data_docs_folder(installation: InstallationSpec, pipeline: PipelineName) -> Path:
    """Where the Data Docs of a pipeline are; the page to open is its ``index.html``."""
    return installation.state / "data_docs" / pipeline


def open_world(installation: InstallationSpec) -> World:
    """The edges for work without a JVM."""
    return World(installation, open_catalog(installation.catalog), Broker(installation.kafka))


def open_spark_world(
    installation: InstallationSpec, *, conf: Mapping[str, str] | None = None
) -> World:
    """The edges with a Spark session; conf: as `start_session` takes it."""
    return replace(open_world(installation), session=start_session(installation, conf))
