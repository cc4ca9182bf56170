"""How the demo tells what happens: one short paragraph a step, one table at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from embedded.airflow import RunReport
from embedded.compare import Comparison
from embedded.sample import Record
from tidemark.model.result import CutResult, TableResult
from tidemark.scheduling.xcom import AUDIT, FOLD, PLAN, PUBLISH

PIPED_COLUMNS = 120
SHOWN_DIFFERENCES = 3
TASKS = (PLAN, FOLD, AUDIT, PUBLISH)
STYLES = {"success": "green", "skipped": "yellow", "failed": "red"}


class Story:
    """Tells on standard output; ``waiting`` measures what the next line reports."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, markup=False, emoji=False)
        if not self._console.is_terminal:
            self._console.width = PIPED_COLUMNS
        self._waited_seconds = 0.0

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Show that something is going on, where a person watches."""
        began = time.monotonic()
        with self._console.status(what):
            yield
        self._waited_seconds = time.monotonic() - began

    def ready(self, servers: str, home: Path) -> None:
        """The stack is up."""
        self._console.print(f"Kafka serves on {servers}, everything is kept in {home}")

    def step(self, number: int, steps: int, pipeline: str, tells: str) -> None:
        """What happened at the source."""
        title = Text.assemble((f"\n{number}/{steps} {pipeline}", "bold"), f": {tells}")
        self._console.print(title)

    def sent(self, records: Sequence[Record]) -> None:
        """Records are in the topics."""
        topics = {record.topic for record in records}
        where = f"topic {topics.pop()}" if len(topics) == 1 else f"{len(topics)} topics"
        self._line("sent", f"{len(records)} records to {where}")

    def run(self, report: RunReport, result: CutResult | None) -> None:
        """How a DAG run ended, and what its cut did."""
        states = [
            (f"{', '.join(tasks)} {state}  ", STYLES.get(state, ""))
            for state, tasks in groupby(TASKS, lambda task: report.tasks.get(task, "not run"))
        ]
        self._line("run", Text.assemble(*states, f"({self._waited_seconds:.0f} s)"))
        if result is None:
            return
        for number, table in enumerate(result.tables):
            name = "" if number else f"cut {result.cut}"
            self._line(name, f"{table.target}: {_changes(table)}")
        if result.hold:
            self._line("held back", result.hold)

    def visible(self, tables: Sequence[Comparison]) -> None:
        """What readers see after a run."""
        rows = ", ".join(f"{_short(table)} {table.published_rows}" for table in tables)
        different = [table for table in tables if not table.is_equal]
        equal = Text("as the source", "green")
        verdict = Text("not as the source", "red") if different else equal
        self._line("visible", Text.assemble(rows, "  ", verdict))
        for table in different:
            for difference in table.differences[:SHOWN_DIFFERENCES]:
                self._line("", f"{table.table}: {difference}")

    def end(
        self, comparisons: Mapping[str, Sequence[Comparison]], home: Path, seconds: float
    ) -> None:
        """The table of all tables, and where to look next."""
        table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
        table.add_column("table")
        table.add_column("source rows", justify="right")
        table.add_column("published rows", justify="right")
        table.add_column("every row and value equal")
        every = [each for tables in comparisons.values() for each in tables]
        for each in every:
            table.add_row(
                each.table, str(each.source_rows), str(each.published_rows), _verdict(each)
            )
        self._console.print(f"\nAfter {seconds:.0f} s:\n")
        self._console.print(table)
        self._console.print(_next(comparisons, home), soft_wrap=True)

    def _line(self, name: str, text: str | Text) -> None:
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=12, no_wrap=True, style="dim")
        grid.add_column(overflow="fold")
        grid.add_row(f"  {name}", text)
        self._console.print(grid)


def _changes(table: TableResult) -> str:
    """What a cut did to a table.

    >>> _changes(TableResult("shop.orders", "shop.orders", 1, inserted=8, truncated=27))
    'truncated (27 rows), 8 inserted'
    """
    parts = [f"truncated ({table.truncated} rows)"] if table.truncated else []
    counts = {"inserted": table.inserted, "updated": table.updated, "deleted": table.deleted}
    parts += [f"{count} {word}" for word, count in counts.items() if count]
    return ", ".join(parts) or "unchanged"


def _short(table: Comparison) -> str:
    return table.table.partition(".")[2]


def _verdict(table: Comparison) -> Text:
    if not table.is_equal:
        return Text("; ".join(table.differences[:SHOWN_DIFFERENCES]) or "no", "red")
    partly = f" ({', '.join(table.by_null)}: only whether it is null)" if table.by_null else ""
    return Text(f"yes{partly}", "green")


def _next(comparisons: Mapping[str, Sequence[Comparison]], home: Path) -> str:
    pages = "\n".join(
        f"  {home / 'data_docs' / pipeline / 'index.html'}" for pipeline in comparisons
    )
    return f"""
Nothing is left running. What the audits found, as pages:
{pages}

To look around yourself:
  make up                      the same stack stays up, with Airflow's UI; it prints the address
  . .state/up/env.sh           then: tidemark status shop
  make down                    stops it
  docs/concepts.md             the words; docs/troubleshooting.md: when something stops
"""
