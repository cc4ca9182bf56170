"""`tidemark validate`: every fault of every file, before anything is started."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidemark.cli.arguments import AsJson

if TYPE_CHECKING:
    from tidemark.spec import InstallationSpec, PipelineSpec, SuiteSpec

FILES = "Files to check: pipelines, suites, installations. Without any: all of this installation."


def validate(
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE", help=FILES)] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Check pipelines, suites and the installation; print every fault."""
    from tidemark.cli.console import stderr, stdout
    from tidemark.errors import SpecError
    from tidemark.model.shown import plural

    good: list[str] = []
    faults: list[str] = []
    for check in (partial(_check_file, file) for file in files) if files else _all_checks():
        try:
            good += check()
        except SpecError as error:
            faults += error.what.splitlines()
    if as_json:
        from tidemark.cli.documents import FaultsDocument

        typer.echo(FaultsDocument(good=good, faults=faults).model_dump_json())
        raise typer.Exit(1 if faults else 0)
    for fault in faults:
        stdout().print(fault, soft_wrap=True)
    for line in good:
        stderr().print(line, soft_wrap=True)
    if faults:
        stderr().print(plural(len(faults), "fault"), style="bold red")
        raise typer.Exit(1)


Check = Callable[[], Iterable[str]]


def _all_checks() -> Iterable[Check]:
    from tidemark.spec import load_installation, load_pipelines
    from tidemark.spec.load import expectations_folder

    yield lambda: [_installation(load_installation())]
    yield lambda: map(_pipeline, load_pipelines())
    for file in sorted(expectations_folder().glob("*.yaml")):
        yield partial(_suites, file.stem)


def _suites(name: str, folder: Path | None = None) -> list[str]:
    from tidemark.spec import load_suite

    return [_suite(load_suite(name, folder))]


def _check_file(file: Path) -> list[str]:
    """Check one file; what it is shows in its keys."""
    from tidemark.spec import load_installation, load_pipeline
    from tidemark.spec.document import read_document

    document = read_document(file)
    if document.at(("suite",)) is not None:
        return _suites(file.stem, file.parent)
    if document.at(("catalog",)) is not None:
        return [_installation(load_installation(file))]
    return [_pipeline(load_pipeline(file))]


def _installation(spec: InstallationSpec) -> str:
    services = f"catalog {spec.catalog.name}, broker {spec.kafka.bootstrap_servers}"
    return f"installation is good: {services}"


def _pipeline(spec: PipelineSpec) -> str:
    from tidemark.model.shown import plural

    source = f"{spec.source.format}, gate {spec.source.gate}"
    return f"pipeline {spec.name} is good: {plural(len(spec.tables), 'table')}, {source}"


def _suite(spec: SuiteSpec) -> str:
    from tidemark.model.shown import plural

    return f"suite {spec.suite} is good: {plural(len(spec.expectations), 'expectation')}"
