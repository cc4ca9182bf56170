"""The Debezium connectors behind a pipeline, as Kafka Connect has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidemark.errors import TidemarkError
from tidemark.model.finding import Finding, Grade
from tidemark.model.names import TableName, few
from tidemark.runs.doctor.trouble import finding_of
from tidemark.spec import PipelineSpec
from tidemark.spec.connect import ConnectSpec
from tidemark.spec.connector import Connector, writers
from tidemark.spec.connector_rules import judge_connector
from tidemark.topics.connect import TaskState, connector_names, read_connector, read_states

RUNNING = "RUNNING"


def connect_findings(pipelines: Sequence[PipelineSpec], spec: ConnectSpec) -> Iterator[Finding]:
    """What is wrong with the connectors that write topics of ``pipelines``.

    One that cannot be read keeps nobody from looking at the others.
    """
    try:
        names = connector_names(spec)
    except TidemarkError as error:
        yield finding_of(error, "Kafka Connect")
        return
    connectors = []
    for name in names:
        try:
            connector = read_connector(spec, name)
        except TidemarkError as error:
            yield _unread(name, error)
        else:
            connectors += [connector] if connector is not None else []
    for pipeline in pipelines:
        yield from connector_findings(pipeline, connectors, spec)


def connector_findings(
    pipeline: PipelineSpec, connectors: Sequence[Connector], spec: ConnectSpec
) -> Iterator[Finding]:
    """What is wrong with those of ``connectors`` that write topics of ``pipeline``.

    Canal and TiCDC are no connectors: nothing is said of their pipelines.
    """
    if pipeline.source.format.is_canal:
        return
    if spec.connector is None:
        writing = writers(pipeline.source, connectors)
        lacking = "no connector has a topic.prefix with which its topics begin"
    else:
        writing = tuple(one for one in connectors if one.name == spec.connector)
        lacking = f"there is no connector {spec.connector}"
    if not writing:
        known = ", ".join(f"{one.name} ({one.prefix})" for one in connectors if one.format)
        yield Finding(
            Grade.WARNING,
            f"pipeline {pipeline.name}",
            f"{lacking}; there is {known or 'none of Debezium'}",
            "nothing is known of what it reads",
            "ask the Kafka Connect that writes its topics, or name the connector: --connector",
        )
    for connector in writing:
        try:
            yield from state_findings(connector, read_states(spec, connector))
        except TidemarkError as error:
            yield _unread(connector.name, error)
        yield from judge_connector(connector, pipeline.source)
        if connector.format is pipeline.source.format:
            yield from captured_findings(connector, sorted(pipeline.declared))


def _unread(name: str, error: TidemarkError) -> Finding:
    return Finding(
        Grade.WARNING,
        f"connector {name}",
        f"{type(error).__name__}: {error.what}",
        "nothing is known of it",
        error.next_step,
    )


def captured_findings(connector: Connector, tables: Sequence[TableName]) -> Iterator[Finding]:
    """Those of ``tables`` that the connector's lists leave out."""
    missing = [str(table) for table in tables if not connector.captures(table)]
    if missing:
        yield Finding(
            Grade.ERROR,
            f"connector {connector.name}",
            f"its lists of tables leave out {few(missing)}",
            "no change of it arrives: the target stays as it is",
            "add it to table.include.list, or take it out of the pipeline file",
        )


def state_findings(connector: Connector, states: Sequence[TaskState]) -> Iterator[Finding]:
    """How the connector and its tasks fare; states: the connector's own first."""
    about = f"connector {connector.name}"
    if not states:
        what = "Kafka Connect has no status of it"
        yield Finding(
            Grade.WARNING, about, what, "whether it runs is unknown", "ask again in a minute"
        )
        return
    for state in states:
        if state.state != RUNNING:
            why = f": {state.error}" if state.error else ""
            yield Finding(
                Grade.ERROR,
                about,
                f"its {state.name} is {state.state}{why}",
                "no change arrives; the source may purge its log before it goes on",
                "fix the cause, then restart it",
            )
    if len(states) == 1:
        yield Finding(
            Grade.ERROR, about, "it has no task", "no change arrives", "look at the worker's log"
        )
    elif all(state.state == RUNNING for state in states):
        yield Finding.good(about, "it runs, and so do its tasks")
