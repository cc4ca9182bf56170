"""The one-slot pool of each pipeline: one task of it at a time, whatever DAG or backfill it is of.

Airflow schedules no task whose pool is missing, and only says so in a warning beside the DAG. The
pools therefore have to be there before the DAGs: `write_pools`, then ``airflow pools import``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from tidemark.errors import TidemarkError
from tidemark.model.names import PipelineName
from tidemark.spec import PipelineSpec, load_pipelines


def pool_of(pipeline: PipelineName) -> str:
    """Name of the pool.

    >>> pool_of(PipelineName("shop"))
    'pipeline__shop'
    """
    return f"pipeline__{pipeline}"


def pools_json(pipelines: Iterable[PipelineSpec]) -> str:
    """The pools of ``pipelines`` in the form that ``airflow pools import`` reads."""
    pools = {
        pool_of(pipeline.name): {
            "slots": 1,
            "description": f"one task of pipeline {pipeline.name} at a time",
            "include_deferred": True,
        }
        for pipeline in pipelines
    }
    return json.dumps(pools, indent=2)


def write_pools(file: Path) -> None:
    """Write the pools of all pipelines for ``airflow pools import FILE``."""
    file.write_text(pools_json(load_pipelines()), encoding="utf-8")


if __name__ == "__main__":
    try:
        write_pools(Path(sys.argv[1]))
    except TidemarkError as error:
        sys.exit(str(error))
