"""Examine: what is wrong around pipelines before a user notices. Reads only, but for a trial table.

No JVM.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime

from tidemark.errors import TidemarkError
from tidemark.lake.catalog import SystemTables
from tidemark.lake.heads import read_heads
from tidemark.lake.history import read_history
from tidemark.model.finding import Finding, worst_first
from tidemark.runs.doctor.catalog import catalog_findings
from tidemark.runs.doctor.connectors import connect_findings
from tidemark.runs.doctor.runs import run_findings
from tidemark.runs.doctor.stored import stored_findings
from tidemark.runs.doctor.topics import topic_findings
from tidemark.runs.doctor.trouble import finding_of
from tidemark.runs.doctor.versions import version_findings
from tidemark.runs.status import pipeline_status
from tidemark.runs.targets import targets_of
from tidemark.runs.world import World, open_world
from tidemark.spec import InstallationSpec, PipelineSpec
from tidemark.spec.connect import ConnectSpec

Step = Callable[[str], None]


def examine(
    installation: InstallationSpec,
    pipelines: Sequence[PipelineSpec],
    connect: ConnectSpec | None,
    looks_at: Step,
) -> tuple[Finding, ...]:
    """What is found of the installation and of ``pipelines``, the worst first.

    connect: where Kafka Connect is asked; None: it is not. looks_at: told what is looked at next.
    """
    return worst_first(_each_once(_findings(installation, pipelines, connect, looks_at)))


def _each_once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Pipelines may share a catalog, topics and connectors."""
    yield from dict.fromkeys(findings)


def _findings(
    installation: InstallationSpec,
    pipelines: Sequence[PipelineSpec],
    connect: ConnectSpec | None,
    looks_at: Step,
) -> Iterator[Finding]:
    looks_at("this machine")
    yield from version_findings(installation)
    yield from _stored_findings(installation, pipelines, looks_at)
    if connect is not None:
        looks_at("Kafka Connect")
        yield from connect_findings(pipelines, connect)


def _stored_findings(
    installation: InstallationSpec, pipelines: Sequence[PipelineSpec], looks_at: Step
) -> Iterator[Finding]:
    """What needs the catalog."""
    looks_at("the catalog")
    try:
        world = open_world(installation)
    except TidemarkError as error:
        yield finding_of(error, f"catalog {installation.catalog.name}")
        return
    if pipelines:
        namespace = SystemTables.of(pipelines[0].name).ledger.namespace
        yield from catalog_findings(world.catalog, namespace)
    for pipeline in pipelines:
        looks_at(f"pipeline {pipeline.name}")
        try:
            yield from _pipeline_findings(pipeline, world)
        except TidemarkError as error:
            yield finding_of(error, f"pipeline {pipeline.name}")


def _pipeline_findings(pipeline: PipelineSpec, world: World) -> Iterator[Finding]:
    system, now_ms = SystemTables.of(pipeline.name), int(datetime.now(UTC).timestamp() * 1000)
    heads = read_heads(world.catalog, system)
    of_topics = tuple(topic_findings(pipeline, world.broker, heads.changelog.mark, now_ms))
    yield from of_topics
    known = {finding.what for finding in of_topics}
    for finding in run_findings(pipeline_status(pipeline, world), now_ms):
        if finding.what not in known:  # The status has looked at the topics, too.
            yield finding
    progress = heads.ledger.progress.under(pipeline.renames)
    targets = targets_of(pipeline, read_history(world.catalog, system), progress)
    yield from stored_findings(world.catalog, (*system.all, *sorted(targets.values())))
