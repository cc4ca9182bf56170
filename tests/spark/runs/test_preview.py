"""A preview tells what the next cut then does, and leaves no trace; status tells how far it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession
from sqlalchemy import text

from tests.corpus.cases import Case, read_case
from tests.corpus.pipeline import make_pipeline
from tests.corpus.produce import create_topics, send, spread
from tests.corpus.source import source_of
from tidemark.model.names import AttemptId
from tidemark.model.result import CutStatus
from tidemark.runs.cut import run_cut
from tidemark.runs.preview import preview_cut
from tidemark.runs.run import CutRequest
from tidemark.runs.status import NOTHING, pipeline_status
from tidemark.runs.world import World, open_spark_world
from tidemark.schema.changes import CreateTarget
from tidemark.spec import InstallationSpec, PipelineSpec

CASES = Path(__file__).parents[2] / "corpus" / "cases"
NAME = "previewed"


@pytest.fixture(scope="module")
def case() -> Case:
    return read_case(CASES / "ticdc-canal-json" / "tiflow-employee", "ticdc")


@pytest.fixture(scope="module")
def world(
    spark: SparkSession, jars: Path, broker: str, tmp_path_factory: pytest.TempPathFactory
) -> World:
    state = tmp_path_factory.mktemp("preview")
    return open_spark_world(
        InstallationSpec.model_validate(
            {
                "kafka": {"bootstrap-servers": broker},
                "catalog": {
                    "name": "previews",
                    "uri": f"sqlite:///{state}/catalog.db",
                    "warehouse": str(state / "warehouse"),
                },
                "spark": {"jars": str(jars / "spark")},
                "state": str(state),
            }
        )
    )


@pytest.fixture(scope="module")
def pipeline(case: Case, world: World) -> PipelineSpec:
    source = source_of(case)
    create_topics(world.broker.servers, NAME, spread(case, source, partitions=1))
    return make_pipeline(case, source, NAME, world.installation.state)


def traces(world: World) -> tuple[list[object], set[Path]]:
    """Every table with its metadata, every namespace, every file of the warehouse."""
    assert isinstance(world.catalog, SqlCatalog)
    with world.catalog.engine.connect() as connection:
        tables = connection.execute(text("SELECT * FROM iceberg_tables ORDER BY 1, 2, 3"))
        names = connection.execute(text("SELECT * FROM iceberg_namespace_properties ORDER BY 2"))
        rows: list[object] = [*tables.all(), *names.all()]
    return rows, set(world.installation.state.joinpath("warehouse").rglob("*"))


def produce(world: World, case: Case, start: int, end: int) -> None:
    producer = Producer({"bootstrap.servers": world.broker.servers, "linger.ms": 0})
    send(producer, NAME, case.records[start:end])


def test_a_preview_changes_nothing_and_a_cut_does_what_it_said(
    world: World, case: Case, pipeline: PipelineSpec
) -> None:
    first, second = (stage.end for stage in case.stages[:2])
    for number, (start, end) in enumerate([(0, first), (first, second)], 1):
        produce(world, case, start, end)
        before = traces(world)

        preview = preview_cut(pipeline, world)

        assert traces(world) == before
        assert (preview.cut, preview.records, preview.is_idle) == (number, end - start, False)
        made = {
            t.table for t in preview.tables if isinstance(next(iter(t.changes), None), CreateTarget)
        }
        assert bool(made) == (number == 1)
        asked = next(table.table for table in preview.tables if table.rows)
        only = preview_cut(pipeline, world, tables=(asked,))
        assert {table.table for table in only.tables if table.rows} == {asked}
        assert pipeline_status(pipeline, world).next_step == f"tidemark cut {NAME}"

        result = run_cut(pipeline, world, CutRequest(AttemptId(f"try_{number}")))

        assert (result.status, result.cut) == (CutStatus.PUBLISHED, number)
        folded = {table.table for table in result.tables}
        assert folded == {str(table.table) for table in preview.tables if table.rows}
        assert preview_cut(pipeline, world).is_idle

    status = pipeline_status(pipeline, world)
    assert status.next_step == NOTHING
    assert status.published is not None
    assert status.published.result.cut == 2
    changed = {t.table: t.changed.cut for t in status.tables if t.changed is not None}
    assert changed.keys() == {table.table for table in status.tables}
    assert set(changed.values()) == {2}
    assert all(table.exists and table.verdict for table in status.tables)
