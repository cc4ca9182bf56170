"""`tidemark init`: a pipeline file out of what live topics hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tidemark.cli.arguments import AsJson, refuse_plain_password

if TYPE_CHECKING:
    from rich.console import Console

    from tidemark.runs.draft.draft import Draft

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the new pipeline.")]
Topics = Annotated[
    str | None, typer.Option(metavar="A,B", help="The topics of one source, by their names.")
]
TopicPrefix = Annotated[
    str | None,
    typer.Option(metavar="PREFIX", help="A Debezium connector's topic.prefix: all of its topics."),
]
Owner = Annotated[
    str | None, typer.Option(metavar="NAME", help="Who is asked when it stops; default: you.")
]
Url = Annotated[
    str | None, typer.Option("--registry", metavar="URL", help="Schema registry, for Avro.")
]
RegistryUser = Annotated[
    str | None, typer.Option(metavar="NAME", help="User of the registry, or a reference.")
]
RegistryPassword = Annotated[
    str | None,
    typer.Option(
        metavar="REFERENCE",
        help="Password of the registry, as a reference: ${env:NAME} or ${file:/path}.",
    ),
]


def init(  # noqa: PLR0913  options of a command
    name: Name,
    topics: Topics = None,
    topic_prefix: TopicPrefix = None,
    owner: Owner = None,
    registry: Url = None,
    *,
    registry_user: RegistryUser = None,
    registry_password: RegistryPassword = None,
    as_json: AsJson = False,
) -> None:
    """Write the file of a new pipeline, and suites of its tables, from what topics hold.

    Looks at some of their records: format, roles of topics, gate, tables and keys. Overwrites
    nothing.
    """
    import logging
    import re

    from tidemark.cli.console import stderr, stdout
    from tidemark.log import configure
    from tidemark.model.names import PipelineName
    from tidemark.spec import load_installation
    from tidemark.spec.load import expectations_folder, pipelines_folder

    if (topics is None) == (topic_prefix is None):
        raise typer.BadParameter("name the topics with --topics, or with --topic-prefix")
    if re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name) is None:
        raise typer.BadParameter(f"{name!r} is not 1 to 40 of a-z, 0-9 and _, the first a letter")
    _refuse_secret(registry, registry_user, registry_password)
    folders = pipelines_folder(), expectations_folder()
    installation = load_installation()
    configure(level=logging.ERROR)
    with stderr().status("looking at the topics"):
        from tidemark.runs.draft.draft import draft_pipeline, refuse_existing
        from tidemark.runs.draft.text import Named, Registry
        from tidemark.topics.client import Broker

        refuse_existing({folders[0] / f"{name}.yaml": ""})
        asked = Registry(registry, registry_user, registry_password) if registry else None
        named = Named(PipelineName(name), owner or _user(), topics is None, asked)
        selectors = (
            [part.strip() for part in topics.split(",")]
            if topics is not None
            else [rf"^{re.escape(topic_prefix or '')}(\..*)?"]
        )
        draft = draft_pipeline(named, Broker(installation.kafka), selectors, folders)
        draft.write()
    if as_json:
        from tidemark.cli.documents import draft_document

        typer.echo(draft_document(draft).model_dump_json())
        return
    show_draft(stdout(), draft)


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # A container may run as somebody whom it does not know.
        return "unknown"


def _refuse_secret(registry: str | None, user: str | None, password: str | None) -> None:
    from tidemark.spec.references import holds_reference, refuse_malformed
    from tidemark.spec.registry import registry_url

    if registry is not None:
        try:
            (refuse_malformed if holds_reference(registry) else registry_url)(registry)
        except ValueError as error:
            raise typer.BadParameter(f"--registry takes {error}") from error
    if (user is None) != (password is None) or (password is not None and registry is None):
        raise typer.BadParameter("--registry, --registry-user and --registry-password go together")
    refuse_plain_password("--registry-password", password)


def show_draft(console: Console, draft: Draft) -> None:
    """Print what was seen, what is left to decide, which files there are, and what is next."""
    from tidemark.cli.console import columns, facts, printable, put
    from tidemark.model.names import few
    from tidemark.runs.draft.draft import tables_of

    pipeline, seen = draft.pipeline, draft.seen
    source = pipeline.source
    console.print(f"{pipeline.name}: {source.format}, gate {source.gate}", style="bold")
    facts(
        console,
        ("records", ", ".join(sorted(seen.encodings))),
        ("data", ", ".join(source.topics.data)),
        ("schema changes", ", ".join(source.topics.schema_changes)),
        ("transactions", ", ".join(source.topics.transactions)),
        ("signal table", str(source.signal_table or "")),
    )
    console.print()
    table = columns(console, "table", "key", "suite")
    for name, key, suite in tables_of(draft):
        table.add_row(printable(str(name)), printable(", ".join(key)) or "-", suite or "-")
    put(console, table)
    console.print()
    facts(
        console,
        *(("decide", printable(sentence)) for sentence in draft.open),
        ("written", few([str(file) for file in draft.files][::-1])),
        ("next", f"tidemark validate, then tidemark plan {pipeline.name}"),
    )
