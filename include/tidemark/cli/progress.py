"""What a run is doing, told on stderr out of the events that it logs.

At a terminal the step that is being worked on moves; steps that are done stay, also in a pipe.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import structlog
from rich.console import Console
from rich.status import Status
from rich.text import Text

from tidemark.cli.console import stderr
from tidemark.model.shown import plural

SILENT_EVENTS = ("table_stopped",)  # results name them with their reasons


class Progress:
    """Steps of one run; as a structlog processor it turns their events into lines."""

    def __init__(self, console: Console, status: Status) -> None:
        self.console, self.status = console, status
        self.started = time.monotonic()
        self.tables = 0

    def done(self, what: str, *, then: str) -> None:
        """A step is done and the next one begins."""
        took = f"{time.monotonic() - self.started:6.1f} s  "
        self.console.print(Text.assemble((took, "dim"), what), soft_wrap=True)
        self.status.update(then)

    def __call__(self, _: object, level: str, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """Take an event; none goes on to the log."""
        name = event["event"]
        if name == "landed":
            self.done(f"landed {plural(event['records'], 'record')}", then="choosing the cut")
        elif name == "table_staged":
            self.tables += 1
            staged = plural(self.tables, "table")
            self.status.update(f"folding and auditing: {staged} staged, last {event['table']}")
        elif name == "cut_staged":
            what = f"folded and audited cut {event['cut']}: {plural(self.tables, 'table')}"
            self.done(what, then="publishing")
        elif name == "cut_published":
            self.done(f"published cut {event['cut']}", then="closing")
        elif name == "table_maintained":
            self.done(f"maintained {event['table']}", then="maintaining tables")
        elif level in ("warning", "error") and name not in SILENT_EVENTS:
            values = " ".join(f"{key}={event[key]}" for key in event if key != "event")
            self.console.print(Text(f"{level}: {name} {values}", "yellow"), soft_wrap=True)
        raise structlog.DropEvent


@contextmanager
def telling(first: str) -> Iterator[Progress]:
    """Tell the steps of what happens inside, beginning with ``first``."""
    console = stderr()
    with console.status(first) as status:
        progress = Progress(console, status)
        structlog.configure(processors=[progress], cache_logger_on_first_use=False)
        try:
            yield progress
        finally:
            structlog.reset_defaults()
