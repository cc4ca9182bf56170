"""What a verb shows, again and again in one place, until somebody ends it."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console

REFRESH_SECONDS = 5


def watch(
    console: Console, show: Callable[[Console], None], seconds: float = REFRESH_SECONDS
) -> None:
    """Print what ``show`` prints in place of what it printed before, until Ctrl-C.

    seconds: between two times. `typer.BadParameter` where ``console`` is no terminal.
    """
    from rich.live import Live
    from rich.text import Text

    from tidemark.model.shown import clock, now_ms

    if not console.is_terminal:
        raise typer.BadParameter(
            "--watch needs a terminal, and standard output is none; a program asks with --json"
        )
    with (
        Live(console=console, auto_refresh=False, vertical_overflow="crop") as live,
        suppress(KeyboardInterrupt),
    ):
        while True:
            printed = _printed(console, show)
            end = f"\n{clock(now_ms())} UTC; Ctrl-C ends"
            live.update(Text.from_ansi(printed).append(end, "dim"), refresh=True)
            time.sleep(seconds)


def _printed(console: Console, show: Callable[[Console], None]) -> str:
    """What ``show`` prints on a terminal like ``console``."""
    from tidemark.cli.console import like

    page = io.StringIO()
    show(like(console, page))
    return page.getvalue()
