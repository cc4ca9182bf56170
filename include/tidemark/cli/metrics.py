"""`tidemark metrics`: what `tidemark status` knows, as OpenMetrics for Prometheus and others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidemark.cli.arguments import load_named
from tidemark.cli.status import SIDE_BY_SIDE

if TYPE_CHECKING:
    from prometheus_client import Metric as Family

    from tidemark.model.metrics import Sample

PIPELINES = Annotated[
    list[str] | None,
    typer.Argument(metavar="[PIPELINE]...", help="Names of pipelines; all without one."),
]
OUTPUT = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write them into this file, whole or not at all, for the textfile collector of "
        "node_exporter.",
    ),
]


def metrics(pipelines: PIPELINES = None, *, output: OUTPUT = None) -> None:
    """Print the metrics of pipelines in OpenMetrics' text format."""
    from tidemark.cli.session import catalog_world
    from tidemark.runs.metrics import read_samples
    from tidemark.spec import load_pipelines

    named = dict.fromkeys(pipelines or ())
    specs = [load_named(name) for name in named] if named else load_pipelines()
    with ThreadPoolExecutor(max_workers=SIDE_BY_SIDE) as threads:
        worlds = [catalog_world() for _ in specs]
        samples = [each for read in threads.map(read_samples, specs, worlds) for each in read]
    text = exposition(samples)
    if output is None:
        typer.echo(text, nl=False)
    else:
        _write(text, output)


def exposition(samples: Iterable[Sample]) -> str:
    """``samples`` in OpenMetrics' text format, which ends with ``# EOF``."""
    from prometheus_client.openmetrics.exposition import generate_latest
    from prometheus_client.registry import Collector, CollectorRegistry

    class Samples(Collector):
        def collect(self) -> Iterator[Family]:
            yield from _families(samples)

    registry = CollectorRegistry()
    registry.register(Samples())
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return text.decode()


def _families(samples: Iterable[Sample]) -> Iterator[Family]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    from tidemark.model.metrics import CATALOGUE, MetricType

    by_type = {MetricType.GAUGE: GaugeMetricFamily, MetricType.COUNTER: CounterMetricFamily}
    families = {
        metric: by_type[metric.type](
            metric.name, metric.help, labels=metric.labels, unit=metric.unit
        )
        for metric in CATALOGUE
    }
    for sample in samples:
        families[sample.metric].add_metric(sample.labels, sample.value)
    yield from families.values()


def _write(text: str, file: Path) -> None:
    """Who reads ``file`` meanwhile finds what was there before."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(file)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise typer.BadParameter(f"{file} cannot be written: {error.strerror}") from error
