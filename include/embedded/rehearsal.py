"""spark-submit entry point of a rehearsal: two cuts of a sample table, so that all is used once.

The first fills the table, the second merges into it. spark-submit rehearsal.py
"""

from __future__ import annotations

from embedded.sample import create_topics, send, shop_stream
from tidemark.errors import ServiceError
from tidemark.log import configure
from tidemark.model.names import AttemptId
from tidemark.model.result import CutStatus
from tidemark.runs.cut import run_cut
from tidemark.runs.run import CutRequest
from tidemark.runs.world import open_spark_world
from tidemark.spec import NO_SUITE, PipelineSpec, load_installation, pipeline_named

STAGES = ("first-load", "key-changes")


def main() -> None:
    """Cut the stages one by one. Raises ServiceError when one is not published."""
    configure()
    stream, pipeline = shop_stream(), _first_table(pipeline_named("shop"))
    world = open_spark_world(load_installation())
    create_topics(world.broker.servers, stream)
    start = 0
    for name in STAGES:
        stage = stream.stage(name)
        send(world.broker.servers, stream.records[start : stage.end])
        start = stage.end
        result = run_cut(pipeline, world, CutRequest(AttemptId(name.replace("-", "_"))))
        if result.status is not CutStatus.PUBLISHED:
            raise ServiceError(
                f"the rehearsal's cut {name} ended as {result.status}: {result.hold}",
                state="it worked in a folder of its own; no other table was touched",
                next_step="run the tests: make test",
            )
    world.spark.stop()


def _first_table(pipeline: PipelineSpec) -> PipelineSpec:
    """A further table or a suite would use the same classes once more, for as much time again."""
    table = pipeline.tables[0].model_copy(update={"expectations": NO_SUITE})
    return pipeline.model_copy(update={"tables": (table,)})


if __name__ == "__main__":
    main()
