"""Catalog and warehouse: whether they answer, and do what a cut asks of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from pyiceberg.catalog import Catalog

from tidemark.errors import TidemarkError
from tidemark.lake.catalog import folder_of
from tidemark.lake.probe import clock_of, probe_branch, probe_files, probe_table
from tidemark.lake.rest import moves_together
from tidemark.model.finding import Finding, Grade
from tidemark.runs.doctor.trouble import finding_of
from tidemark.runs.status import MOVED_SEPARATELY

CLOCK_SECONDS = 30
"""How far clocks may differ before anybody hears of it."""
WRONG_CLOCK = "lags, ages and times of cuts are wrong by as much; retention is judged by it"
FIX_CLOCK = "have both machines take the time from NTP"


def catalog_findings(catalog: Catalog, namespace: str) -> Iterator[Finding]:
    """What is wrong with the catalog and the warehouse; tried in ``namespace``."""
    about = f"catalog {catalog.name}"
    try:
        with probe_table(catalog, namespace) as table:
            yield Finding.good(about, f"it answers, and makes and removes tables in {namespace}")
            place = f"warehouse {folder_of(catalog)}"
            try:
                probe_files(table)
                yield Finding.good(place, "a file was written, read back and removed")
            except TidemarkError as error:
                yield finding_of(error, place)
            probe_branch(table)
            yield Finding.good(about, "it keeps branches")
        yield _moves(catalog, about)
        yield from _clock(catalog, about)
    except TidemarkError as error:
        yield finding_of(error, about)


def _moves(catalog: Catalog, about: str) -> Finding:
    if moves_together(catalog):
        return Finding.good(about, "it moves all tables of a cut at once")
    return Finding(
        Grade.WARNING,
        about,
        "its server does not name the endpoint transactions/commit",
        MOVED_SEPARATELY,
        "use a server that has it, or have readers wait for the end of the DAG's run",
    )


def _clock(catalog: Catalog, about: str) -> Iterator[Finding]:
    there = clock_of(catalog)
    if there is None:
        return
    ahead = (there - datetime.now(UTC)).total_seconds()
    if abs(ahead) <= CLOCK_SECONDS:
        yield Finding.good(about, "its clock and that of this machine agree")
        return
    which = "ahead of" if ahead > 0 else "behind"
    yield Finding(
        Grade.WARNING,
        about,
        f"its clock is {abs(ahead):,.0f} s {which} that of this machine",
        WRONG_CLOCK,
        FIX_CLOCK,
    )
