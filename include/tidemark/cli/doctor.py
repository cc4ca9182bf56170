"""`tidemark doctor`: what is wrong around a pipeline before a user notices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tidemark.cli.arguments import AsJson, load_named
from tidemark.model.result import EXIT_CODES, CutStatus

if TYPE_CHECKING:
    from rich.console import Console

    from tidemark.model.finding import Finding

Examined = Annotated[
    str | None,
    typer.Argument(metavar="PIPELINE", help="Name of the pipeline; all of them without one."),
]
Connect = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="Kafka Connect's REST interface: look at its connectors as well."
    ),
]
ConnectUser = Annotated[str | None, typer.Option(metavar="NAME", help="User of Kafka Connect.")]
ConnectPassword = Annotated[
    str | None,
    typer.Option(
        metavar="REFERENCE",
        help="Password of Kafka Connect, as a reference: ${env:NAME} or ${file:/path}.",
    ),
]


def doctor(
    pipeline: Examined = None,
    *,
    connect: Connect = None,
    connect_user: ConnectUser = None,
    connect_password: ConnectPassword = None,
    as_json: AsJson = False,
) -> None:
    """Look for what is wrong around pipelines, what it costs, and what ends it.

    Catalog, warehouse, broker, topics, versions, the last runs; with --connect the settings of
    connectors. Changes nothing, but for a small table that it makes and removes.
    """
    import logging

    from tidemark.cli.console import stderr, stdout
    from tidemark.log import configure
    from tidemark.model.finding import Grade
    from tidemark.spec import load_installation, load_pipelines
    from tidemark.spec.connect import ConnectSpec

    if (connect_user or connect_password) and not connect:
        raise typer.BadParameter("--connect-user and --connect-password are for --connect")
    if (connect_user is None) != (connect_password is None):
        raise typer.BadParameter("--connect-user and --connect-password belong together")
    if connect_password is not None:
        from tidemark.spec.references import holds_reference, keeps_secret

        if not (holds_reference(connect_password) and keeps_secret(connect_password)):
            raise typer.BadParameter(
                "--connect-password takes a reference alone: ${env:NAME} or ${file:/path}"
            )
    specs = load_pipelines() if pipeline is None else (load_named(pipeline),)
    installation = load_installation()
    configure(level=logging.ERROR)  # What they say is among the findings.
    with stderr().status("looking") as shown:
        from tidemark.runs.doctor.examine import examine

        asked = ConnectSpec(connect, connect_user, connect_password) if connect else None
        findings = examine(
            installation, specs, asked, lambda what: shown.update(f"looking at {what}")
        )
    if as_json:
        from tidemark.cli.documents import findings_document

        typer.echo(findings_document(findings).model_dump_json())
    else:
        show_findings(stdout(), findings)
    if any(finding.grade is Grade.ERROR for finding in findings):
        raise typer.Exit(EXIT_CODES[CutStatus.FAILED])


def show_findings(console: Console, findings: Sequence[Finding]) -> None:
    """Print a row per finding, the worst first, then how many there are of each grade."""
    from collections import Counter

    from rich.text import Text

    from tidemark.cli.console import columns, printable, put
    from tidemark.model.finding import Grade
    from tidemark.model.shown import plural

    styles = {Grade.ERROR: "bold red", Grade.WARNING: "yellow", Grade.GOOD: "green"}
    table = columns(console, "severity", "where", "what", "costs", "next")
    for finding in findings:
        texts = (finding.about, finding.what, finding.cost, finding.fix)
        grade = Text(finding.grade, styles.get(finding.grade, ""))
        table.add_row(grade, *map(printable, texts))
    put(console, table)
    counts = Counter(finding.grade for finding in findings)
    bad = (Grade.ERROR, Grade.WARNING, Grade.NOTE)
    summary = ", ".join(plural(counts[grade], grade) for grade in bad)
    console.print(f"\n{summary}; {counts[Grade.GOOD]} as it should be")
