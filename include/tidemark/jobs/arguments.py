"""What jobs take on the command line."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable

from tidemark.model.names import TableName


def add_tables(parser: ArgumentParser) -> None:
    """An option for each of the tables that are meant; as text, so that a wrong one is a result."""
    what = "a source table; all if there is none"
    parser.add_argument("--table", dest="tables", action="append", default=[], help=what)


def tables_of(names: Iterable[str]) -> tuple[TableName, ...]:
    """The source tables that are called so; `NameRefusedError` of what is no name."""
    return tuple(map(TableName.parse, names))
