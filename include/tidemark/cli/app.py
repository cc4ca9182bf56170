"""`tidemark <verb>`: the daily verbs at a terminal.

Modules of this room are read for ``--help``, so what is heavy is imported inside the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Annotated, ParamSpec

import typer
from typer.core import TyperArgument, TyperCommand

from tidemark.cli.accept import accept
from tidemark.cli.changes import changes
from tidemark.cli.cut import cut
from tidemark.cli.doctor import doctor
from tidemark.cli.erase import erase
from tidemark.cli.handover import handover
from tidemark.cli.history import history
from tidemark.cli.init import init
from tidemark.cli.maintain import maintain
from tidemark.cli.metrics import metrics
from tidemark.cli.plan import plan
from tidemark.cli.quarantine import VERBS as QUARANTINE
from tidemark.cli.refold import refold
from tidemark.cli.resync import resync
from tidemark.cli.schema import schema
from tidemark.cli.skip import skip
from tidemark.cli.sources import VERBS as SOURCES
from tidemark.cli.status import status
from tidemark.cli.validate import validate
from tidemark.errors import SupersededError, TidemarkError
from tidemark.model.result import EXIT_CODES, EXIT_MEANINGS, CutStatus

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter

_Parameters = ParamSpec("_Parameters")


def with_messages(verb: Callable[_Parameters, None]) -> Callable[_Parameters, None]:
    """The verb; what it raises on purpose is printed as its message and becomes an exit code.

    Any other exception is a defect and keeps its traceback.
    """

    @wraps(verb)
    def run(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> None:
        try:
            verb(*args, **kwargs)
        except TidemarkError as error:
            from tidemark.cli.console import message, stderr

            message(stderr(), error)
            superseded = isinstance(error, SupersededError)
            ended = CutStatus.SUPERSEDED if superseded else CutStatus.FAILED
            raise typer.Exit(EXIT_CODES[ended]) from error

    return run


class _Command(TyperCommand):
    """A verb whose help names its arguments by their metavar, without the types of Python."""

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the sections of the help that list arguments and options."""
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            if (record := param.get_help_record(ctx)) is None:
                continue
            if isinstance(param, TyperArgument):
                rows["Arguments"].append((param.display_name_raw, record[1]))
            else:
                rows["Options"].append(record)
        for title, listed in rows.items():
            if listed:
                with formatter.section(title):
                    formatter.write_dl(listed)


def _print_version(is_asked: bool) -> None:  # noqa: FBT001  typer passes the option's value
    if is_asked:
        from importlib.metadata import version  # It takes as long as all else of ``--help``.

        typer.echo(f"tidemark {version('tidemark')}")
        raise typer.Exit


app = typer.Typer(
    epilog="Exit codes: " + ". ".join(f"{code} {what}" for code, what in EXIT_MEANINGS.items()),
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # they show local variables, secrets among them
)


@app.callback()
def options(
    *,
    is_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Fold change data capture topics into Iceberg tables."""


for verb in (
    *(init, validate, doctor, schema, plan, cut, status, history, metrics, changes),
    *(accept, resync, refold, erase, skip, handover, maintain),
):
    app.command(cls=_Command)(with_messages(verb))
quarantine = typer.Typer(
    help="Look through what was quarantined, try it again, or give it up.", no_args_is_help=True
)
for name, verb in QUARANTINE.items():
    quarantine.command(name, cls=_Command)(with_messages(verb))
app.add_typer(quarantine, name="quarantine")
sources = typer.Typer(help="What a source can be given to tell more.", no_args_is_help=True)
for name, verb in SOURCES.items():
    sources.command(name, cls=_Command)(with_messages(verb))
app.add_typer(sources, name="sources")


def main() -> None:
    """The console script."""
    app(prog_name="tidemark")
