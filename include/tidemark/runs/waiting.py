"""What waits in the changelog, each row with its status as the frontier of its table moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.conditions import any_of
from tidemark.fold.renamed import is_table
from tidemark.model.cut import Cut
from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.progress import Progress
from tidemark.runs.changelog import Changelog


@dataclass(frozen=True, slots=True)
class Waiting:
    """Changelog rows beside their ``status``, each row in one frame.

    at_frontier: of the tables that stand at the frontier, and of no table. lower: of those that
    stand lower, by their frontiers: tables that stand at one place share a frame.
    """

    at_frontier: DataFrame
    lower: Sequence[tuple[frozenset[TableName], DataFrame]]

    @property
    def frames(self) -> list[DataFrame]:
        """All of them: the fewer, the cheaper a question to all rows is."""
        return [self.at_frontier, *(frame for _, frame in self.lower)]

    @property
    def events(self) -> DataFrame:
        """The rows of all frames."""
        return reduce(DataFrame.unionByName, self.frames)

    def events_of(self, table: TableName) -> DataFrame:
        """The rows of ``table``."""
        lower = (frame for tables, frame in self.lower if table in tables)
        return next(lower, self.at_frontier).where(is_table(table))


def read_waiting_events(
    changelog: Changelog,
    cut: Cut,
    cuts: Mapping[TableName, Cut],
    read_again: DataFrame | None,
) -> Waiting:
    """The rows of ``changelog`` that may be above a frontier, towards ``cut``.

    cuts: of the tables that stand lower. What cannot be read is quarantined once, whatever its
    table does. read_again: what tables that are folded again take of it, as a replay has read it.
    """
    progress = changelog.progress
    stands_lower = any_of(map(is_table, progress.behind))
    is_unread = F.col("kind") == Kind.UNREADABLE.value
    apart = F.coalesce(stands_lower & ~is_unread, F.lit(False))
    lower = []
    for tables in tables_alike(progress, cuts):
        again = read_again if tables[0] in progress.refolds else None
        events = towards(changelog, cuts[tables[0]], tables[0]).waiting(again)
        is_theirs = any_of(map(is_table, tables))
        lower.append((frozenset(tables), events.where(is_theirs & ~is_unread)))
    return Waiting(towards(changelog, cut, None).waiting().where(~apart), lower)


def tables_alike(progress: Progress, cuts: Mapping[TableName, Cut]) -> list[list[TableName]]:
    """The tables that stand lower, in lists of those that one frame of rows serves.

    They have the same frontier, and go as far in ``cuts``: tables that stopped in one cut do.
    """
    alike: list[tuple[object, list[TableName]]] = []
    for table in sorted(progress.behind):
        is_refolded = table in progress.refolds
        span = (progress.behind[table], progress.landing_of(table), cuts[table], is_refolded)
        same = (tables for other, tables in alike if other == span)
        tables = next(same, None)
        if tables is None:
            alike.append((span, [table]))
        else:
            tables.append(table)
    return [tables for _, tables in alike]


def towards(changelog: Changelog, cut: Cut, table: TableName | None) -> Changelog:
    """``changelog`` with statuses from the frontier of ``table`` on, or else of the pipeline."""
    progress = changelog.progress
    if table is None:
        return changelog.towards(cut, progress.frontier)
    return changelog.towards(cut, progress.frontier_of(table), progress.landing_of(table))
