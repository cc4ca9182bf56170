"""Over few rows Spark interprets its expressions; for many it compiles code."""

from __future__ import annotations

import pytest

from tests.support.records import ticdc_row, ticdc_watermark
from tests.support.stack import Stream
from tidemark.runs import cut, session
from tidemark.runs.session import size_for
from tidemark.runs.world import World


def compilations(world: World) -> int:
    """How often Spark compiled generated code in this JVM."""
    jvm = world.spark.sparkContext._jvm  # noqa: SLF001  Spark counts them in the JVM alone
    assert jvm is not None
    metrics = jvm.org.apache.spark.metrics.source.CodegenMetrics
    return int(metrics.METRIC_COMPILATION_TIME().getCount())


@pytest.mark.smoke
def test_few_rows_compile_little(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few records, and few rows that the target has; comparators alone are always compiled."""
    stream, compiled = Stream(world).create(), []
    rows: dict[int, str] = {}
    for at, count, few in ((100, 12, 20), (200, 2, 20), (300, 2, 10)):
        monkeypatch.setattr(session, "FEW_ROWS", few)
        names = {key: f"{key} at {at}" for key in range(count)}
        sent = [ticdc_row("UPDATE", key, at + key, name=name) for key, name in names.items()]
        before = compilations(world)
        stream.send([*sent, ticdc_watermark(at + 50)])
        stream.cut()
        compiled.append(compilations(world) - before)
        rows |= names
        assert stream.rows() == rows
    *little, much = compiled
    assert 5 * max(little) < much


@pytest.mark.smoke
def test_records_that_wait_count(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cut looks at all of them again, however few came in since."""
    sizes: list[tuple[int, ...]] = []

    def watched(spark: object, *rows: int) -> None:
        sizes.append(rows)
        size_for(world.spark, *rows)

    monkeypatch.setattr(cut, "size_for", watched)
    stream = Stream(world).create()
    stream.send([ticdc_row("INSERT", key, 100, name="a") for key in range(7)])
    stream.cut()
    stream.send([ticdc_watermark(200)])
    stream.cut()
    stream.send([ticdc_row("UPDATE", 1, 210, name="b"), ticdc_watermark(300)])
    stream.cut()
    assert sizes == [(7,), (0, 0), (8,), (7, 0), (2,), (1, 7)]
