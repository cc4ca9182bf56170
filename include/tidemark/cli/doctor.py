"""`tidemark doctor`: what is wrong around a pipeline before a user notices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tidemark.cli.arguments import AsJson, load_named, refuse_plain_password
from tidemark.model.result import EXIT_CODES, CutStatus

if TYPE_CHECKING:
    from rich.console import Console

    from tidemark.model.finding import Finding
    from tidemark.spec.connect import ConnectSpec
    from tidemark.spec.oauth import OAuthSpec

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
ConnectorName = Annotated[
    str | None,
    typer.Option(
        "--connector",
        metavar="NAME",
        help="The connector that writes the topics of PIPELINE, where they begin with another "
        "name than its topic.prefix.",
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
ConnectTokenUrl = Annotated[
    str | None,
    typer.Option(
        "--connect-token-endpoint-url",
        metavar="URL",
        help="OAuth 2 server that gives the tokens for Kafka Connect.",
    ),
]
ConnectClient = Annotated[
    str | None, typer.Option("--connect-client-id", metavar="NAME", help="Client of that server.")
]
ConnectClientSecret = Annotated[
    str | None,
    typer.Option(
        metavar="REFERENCE",
        help="Secret of that client, as a reference: ${env:NAME} or ${file:/path}.",
    ),
]
ConnectScope = Annotated[
    str | None, typer.Option(metavar="NAME", help="Scope of the tokens, if the server wants one.")
]


def doctor(  # noqa: PLR0913  options of a command
    pipeline: Examined = None,
    *,
    connect: Connect = None,
    connector: ConnectorName = None,
    connect_user: ConnectUser = None,
    connect_password: ConnectPassword = None,
    connect_token_url: ConnectTokenUrl = None,
    connect_client: ConnectClient = None,
    connect_client_secret: ConnectClientSecret = None,
    connect_scope: ConnectScope = None,
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

    login = connect_user, connect_password
    oauth = connect_token_url, connect_client, connect_client_secret, connect_scope
    if connector is not None and pipeline is None:
        raise typer.BadParameter("--connector is of one pipeline: name it")
    asked = _connect(connect, login, oauth, connector)
    specs = load_pipelines() if pipeline is None else (load_named(pipeline),)
    installation = load_installation()
    configure(level=logging.ERROR)  # What they say is among the findings.
    with stderr().status("looking") as shown:
        from tidemark.runs.doctor.examine import examine

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


def _connect(
    url: str | None,
    login: tuple[str | None, str | None],
    oauth: tuple[str | None, str | None, str | None, str | None],
    connector: str | None,
) -> ConnectSpec | None:
    """Where Kafka Connect is asked; `typer.BadParameter` where options contradict each other."""
    from tidemark.spec.connect import ConnectSpec

    user, password = login
    if url is None and any((*login, *oauth, connector)):
        raise typer.BadParameter("--connector and --connect-... need --connect")
    if (user is None) != (password is None):
        raise typer.BadParameter("--connect-user and --connect-password belong together")
    if user is not None and any(oauth):
        raise typer.BadParameter("--connect-user or tokens by --connect-client-id, not both")
    refuse_plain_password("--connect-password", password)
    return None if url is None else ConnectSpec(url, user, password, connector, _oauth(*oauth))


def _oauth(
    url: str | None, client: str | None, secret: str | None, scope: str | None
) -> OAuthSpec | None:
    """Where tokens for Kafka Connect come from."""
    from pydantic import ValidationError

    from tidemark.spec.base import kebab_case
    from tidemark.spec.oauth import OAuthSpec

    if not any((url, client, secret, scope)):
        return None
    if url is None or client is None or secret is None:
        raise typer.BadParameter(
            "--connect-token-endpoint-url, --connect-client-id and --connect-client-secret belong "
            "together"
        )
    refuse_plain_password("--connect-client-secret", secret)
    try:
        return OAuthSpec(
            token_endpoint_url=url, client_id=client, client_secret=secret, scope=scope
        )
    except ValidationError as error:
        fault = error.errors()[0]
        option = f"--connect-{kebab_case(str(fault['loc'][0]))}"
        raise typer.BadParameter(f"{option} takes {fault['ctx']['error']}") from error


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
