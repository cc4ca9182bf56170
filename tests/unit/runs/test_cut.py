"""What a cut refuses before it reads anything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from pyspark.sql import SparkSession

from tests.support.published import ATTEMPT, pipeline, published_world
from tidemark.errors import ActionRefusedError
from tidemark.model.result import CutStatus
from tidemark.runs.cut import stage_cut
from tidemark.runs.publish import publish_cut
from tidemark.runs.run import CutRequest


def test_an_attempt_that_is_published_stages_nothing_more(tmp_path: Path) -> None:
    """PUB-5: its name stands for its cut, by which a repeated publication knows it."""
    world = replace(published_world(tmp_path), session=Mock(spec=SparkSession))
    with pytest.raises(ActionRefusedError) as refused:
        stage_cut(pipeline(), world, CutRequest(ATTEMPT))
    assert str(refused.value) == (
        "attempt a_1 of pipeline shop was published as cut 1\n"
        "  state: nothing was written; every table is as it was\n"
        "  next:  give another name with --attempt, or none: tidemark cut shop"
    )
    again = publish_cut(pipeline(), world, ATTEMPT)
    assert (again.status, again.cut) == (CutStatus.PUBLISHED, 1)
