"""The world in which a verb works, and what is told while it is opened and used."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidemark.runs.world import World
    from tidemark.spec import PipelineSpec


def catalog_world() -> World:
    """Catalog and broker, without a JVM."""
    from tidemark.log import configure
    from tidemark.runs.world import open_world
    from tidemark.spec import load_installation

    configure(level=logging.WARNING)
    return open_world(load_installation())


@contextmanager
def spark_world(pipeline: PipelineSpec, doing: str) -> Iterator[World]:
    """The world of ``pipeline`` with a Spark session of its own; steps are told on stderr.

    doing: what comes once Spark is up.
    """
    from tidemark.cli.progress import telling

    with telling("starting Spark") as progress:
        from tidemark.runs.jvm import stop_session
        from tidemark.runs.world import open_spark_world
        from tidemark.spec import load_installation

        world = open_spark_world(load_installation(), conf=pipeline.spark.conf)
        progress.done("Spark is up", then=doing)
        try:
            yield world
        finally:
            stop_session(world.spark)
