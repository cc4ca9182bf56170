"""`tidemark <verb>`: the daily verbs at a terminal.

Modules of this room are read for ``--help``, so what is heavy is imported inside the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import typer

from tidemark.cli.cut import cut
from tidemark.cli.handover import handover
from tidemark.cli.plan import plan
from tidemark.cli.quarantine import VERBS as QUARANTINE
from tidemark.cli.resync import resync
from tidemark.cli.schema import schema
from tidemark.cli.skip import skip
from tidemark.cli.status import status
from tidemark.cli.validate import validate
from tidemark.errors import SupersededError, TidemarkError
from tidemark.model.result import EXIT_CODES, CutStatus

_Taken = ParamSpec("_Taken")


def in_letters(verb: Callable[_Taken, None]) -> Callable[_Taken, None]:
    """The verb; what it raises on purpose is printed as its letter and becomes an exit code.

    Any other exception is a defect and keeps its traceback.
    """

    @wraps(verb)
    def run(*args: _Taken.args, **kwargs: _Taken.kwargs) -> None:
        try:
            verb(*args, **kwargs)
        except TidemarkError as error:
            from tidemark.cli.console import letter, stderr

            letter(stderr(), error)
            superseded = isinstance(error, SupersededError)
            ended = CutStatus.SUPERSEDED if superseded else CutStatus.FAILED
            raise typer.Exit(EXIT_CODES[ended]) from error

    return run


app = typer.Typer(
    help="Fold change data capture topics into Iceberg tables.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # they show local variables, secrets among them
)
for verb in (validate, schema, plan, cut, status, resync, skip, handover):
    app.command()(in_letters(verb))
quarantine = typer.Typer(
    help="Look through what was set aside, try it again, or give it up.", no_args_is_help=True
)
for name, verb in QUARANTINE.items():
    quarantine.command(name)(in_letters(verb))
app.add_typer(quarantine, name="quarantine")


def main() -> None:
    """The console script."""
    app(prog_name="tidemark")
