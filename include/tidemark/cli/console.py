"""How the command line looks: plain words, aligned columns; colour only where a person reads."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TextIO

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidemark.errors import UNCHANGED, ActionRefusedError, TidemarkError
from tidemark.model.verdict import Severity, Verdict

if TYPE_CHECKING:
    from tidemark.cli.documents import ActionDocument

PIPED_COLUMNS = 200
STYLES = {"pass": "green", "warn": "yellow", "block": "red"}


def stdout() -> Console:
    """Where results go."""
    return _console(stderr=False)


def stderr() -> Console:
    """Where progress and errors go."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPED_COLUMNS  # a pipe has no width, and whoever greps wants whole lines
    return console


def like(console: Console, page: TextIO) -> Console:
    """A console that writes to ``page`` what ``console`` would show."""
    return Console(
        file=page,
        width=console.width,
        color_system="truecolor" if console.color_system else None,
        force_terminal=True,
        highlight=False,
        markup=False,
        emoji=False,
    )


def columns(console: Console, *headers: str, right: Iterable[str] = ()) -> Table:
    """An empty table; the columns in ``right`` hold numbers."""
    box = SIMPLE_HEAD if console.is_terminal else None
    table = Table(box=box, pad_edge=False, header_style="bold", show_edge=False)
    numbers = set(right)
    for header in headers:
        table.add_column(header, justify="right" if header in numbers else "left", overflow="fold")
    return table


def put(console: Console, table: Table) -> None:
    """Print a table; in a pipe without the blanks that fill its last column."""
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        console.print(line.rstrip(), soft_wrap=True)


def facts(console: Console, *pairs: tuple[str, str]) -> None:
    """Lines of a name and what it is; empty ones are left out."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in pairs:
        if value:
            grid.add_row(name, value)
    put(console, grid)


def put_action(action: ActionDocument, *, as_json: bool) -> None:
    """Print what a verb recorded, and what is next."""
    if as_json:
        typer.echo(action.model_dump_json())
        return
    console = stdout()
    console.print(f"{action.pipeline}: {action.done}", style="bold")
    facts(console, *action.details.items(), ("next", action.next))


def message(console: Console, error: TidemarkError) -> None:
    """An error as its letter: what happened, how the tables stand, what to do next."""
    console.print(Text.assemble((type(error).__name__, "bold red"), f": {error}"), soft_wrap=True)


def stopped_tables(console: Console, stopped: Mapping[str, str]) -> None:
    """Tables that are blocked, each with its reason."""
    for table, why in stopped.items():
        console.print(Text.assemble(("stopped ", "bold yellow"), f"{table}: {why}"))


def failed_checks(console: Console, verdicts: Iterable[Verdict]) -> None:
    """What audits found: the checks that failed, with their counts."""
    for verdict in verdicts:
        for check in verdict.failures:
            reason = verdict.reason_of(check)
            word = "blocked" if check.severity is Severity.CRITICAL else "warned"
            line = f"{verdict.table}: {check.name}: {check.observed}"
            mark = (f"{'accepted' if reason else word} ", "bold yellow")
            console.print(Text.assemble(mark, f"{line}; {reason}" if reason else line))


def outcome(word: str, failed: int = 0) -> Text:
    """The outcome of an audit, and how many checks failed."""
    return Text(f"{word} ({failed})" if failed else word, STYLES.get(word, ""))


def confirm(question: str) -> None:
    """Ask before an irreversible action; refuse without a terminal."""
    if not sys.stdin.isatty():
        raise ActionRefusedError(
            "standard input is no terminal to confirm on, and --yes was not given",
            state=UNCHANGED,
            next_step="name what is meant by a filter, or add --yes",
        )
    typer.confirm(question, abort=True, err=True)


def printable(text: str) -> str:
    r"""Text from outside, with what controls a terminal as escapes; lines stay lines.

    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )
