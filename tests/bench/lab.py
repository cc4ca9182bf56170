"""Where measures are taken: one broker, one catalog and one warm Spark session for all of them."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import yaml

from embedded.broker import running_broker
from embedded.home import JARS, STATE, embedded_environment
from tests.bench.jvm import process_of
from tests.bench.measure import Meter
from tests.bench.messages import DATABASE, PARTITIONS, SCHEMA_TOPIC
from tests.bench.tables import discard_all_but_bases
from tests.bench.timeline import Timeline, keep_timeline
from tests.corpus.produce import create_topics
from tidemark.errors import ServiceError
from tidemark.runs.world import World, open_spark_world
from tidemark.spec import PipelineSpec, load_installation, load_pipeline

ROUNDS = 5
SPARK_CONF: Mapping[str, str] = {
    # The embedded installation stops at the first compiler, which suits runs of seconds only.
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    "spark.master": "local[*]",
    "spark.sql.shuffle.partitions": "8",
}
"""Over the embedded installation's, which is made for a few rows; every competitor runs with it."""


@dataclass(frozen=True, slots=True)
class Lab:
    """The world of the product, the instruments, and a folder that ends with the run.

    scale: factor of every count of rows, records and repeats; 1 is what targets are set for.
    """

    world: World
    meter: Meter
    timeline: Timeline
    folder: Path
    scale: float

    @property
    def rounds(self) -> int:
        """How often each competitor runs."""
        return self.scaled(ROUNDS, least=2)

    def scaled(self, count: int, *, least: int = 1) -> int:
        """``count`` at this scale."""
        return max(least, round(count * self.scale))

    def make_topics(self, prefix: str, tables: Sequence[str]) -> None:
        """The topics of a source: its tables', and the one for schema changes."""
        partitions = {SCHEMA_TOPIC: 1, **dict.fromkeys(tables, PARTITIONS)}
        create_topics(self.world.broker.servers, prefix, partitions)

    def pipeline(
        self, name: str, prefix: str, tables: Sequence[str], folder: Path | None = None
    ) -> PipelineSpec:
        """A pipeline of ``tables`` whose topics stand behind ``prefix``, audited by the engine."""
        content = {
            "name": name,
            "description": "measured by tests.bench",
            "owner": "bench",
            "schedule": None,
            "source": {
                "format": "debezium-mysql",
                "gate": "none",
                "topics": {
                    "data": [f"{prefix}.{table}" for table in tables],
                    "schema-changes": [f"{prefix}.{SCHEMA_TOPIC}"],
                },
            },
            "tables": [
                {"source": f"{DATABASE}.{table}", "expectations": "none"} for table in tables
            ],
        }
        file = (folder or self.folder) / f"{name}.yaml"
        file.write_text(yaml.safe_dump(content, sort_keys=False))
        return load_pipeline(file, suites=self.folder)


@contextmanager
def running_lab(scale: float, heap: str) -> Iterator[Lab]:
    """A lab that is taken down at the end; tables to measure on stay for the next one.

    heap: of the JVM, if none runs yet in this program.
    """
    state = STATE / "bench"
    state.mkdir(parents=True, exist_ok=True)
    timeline = keep_timeline()
    with (
        _alone(state),
        tempfile.TemporaryDirectory(dir=state, prefix="run-") as folder,
        running_broker(Path(folder), JARS) as servers,
    ):
        os.environ.update(embedded_environment(state, servers), TIDEMARK_STATE=folder)
        world = open_spark_world(
            load_installation(), conf={**SPARK_CONF, "spark.driver.memory": heap}
        )
        try:
            discard_all_but_bases(world)
            meter = Meter((psutil.Process(), process_of(world.spark)))
            yield Lab(world, meter, timeline, Path(folder), scale)
            discard_all_but_bases(world)
        finally:
            world.spark.stop()


@contextmanager
def _alone(state: Path) -> Iterator[None]:
    """Two at once would measure each other, and remove each other's tables."""
    with (state / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ServiceError(
                f"another run measures in {state}",
                state="nothing was measured",
                next_step="wait for its end, then run again",
            ) from error
        yield
