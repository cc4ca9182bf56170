"""The changelog as a run reads it: positions in their epochs, names of now, zones towards a cut.

Each of the three reads what the one before it wrote: where a table got its name, and where a cut
ends, are positions in the epochs that were stated since the rows were landed (POS-17, SCHEMA-31).
So they are composed here, in this order, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.fold.admit import except_at, in_epochs, only_at, with_status
from tidemark.fold.renamed import is_table, under_new_names
from tidemark.lake.landing import read_changelog, records_since
from tidemark.model.cut import Cut, Frontier
from tidemark.model.event import RECORD_COLUMNS, Kind
from tidemark.model.names import TableName
from tidemark.model.progress import Progress
from tidemark.model.renames import Rename
from tidemark.runs.run import Run

Places = Collection[tuple[str, int, int]]
"""Topic, partition and offset of records."""


@dataclass(frozen=True, slots=True)
class Changelog:
    """The rows of the changelog, by what they are for one run.

    Each method returns a frame that was not computed yet, one row per record, with the columns
    `lake.landing.COLUMNS`; after `towards` with ``status`` beside them.

    renames: in their order; without any, rows have the names that their records have. bounds: the
    cut that zones are said of, the frontier below it, and the newest landing that was gated as that
    was reached. unlanded: rows that a preview has read
    and that a run would land first.
    """

    run: Run
    renames: Sequence[Rename] = ()
    bounds: tuple[Cut, Frontier, int] | None = None
    unlanded: DataFrame | None = None

    @property
    def progress(self) -> Progress:
        """What was published as the run began."""
        return self.run.progress

    def under(self, renames: Sequence[Rename]) -> Changelog:
        """The same under the names that ``renames`` tell."""
        return replace(self, renames=renames)

    def towards(self, cut: Cut, old: Frontier, landing: int | None = None) -> Changelog:
        """The same with zones, as the frontier moves from ``old`` to that of ``cut``.

        landing: the newest that was gated as ``old`` was reached; without it, that ever was.
        """
        gated = self.progress.landing if landing is None else landing
        return replace(self, bounds=(cut, old, gated))

    def waiting(self, again: DataFrame | None = None) -> DataFrame:
        """Rows since the oldest landing that may hold one above the frontier.

        again: rows that a decoder has just made, to be given as well.
        """
        if self.unlanded is not None and self.run.heads.changelog.snapshot is None:
            return self._composed(self.unlanded)
        rows = self._since(self.progress.oldest_held)
        # Below what composes them: what stands above a union is planned for each of its parts.
        for more in (frame for frame in (self.unlanded, again) if frame is not None):
            rows = rows.unionByName(more)
        return self._composed(rows)

    def count_waiting(self) -> int:
        """How many rows of landings `waiting` reads, by the summaries of their snapshots."""
        head, oldest = self.run.heads.changelog.snapshot, self.progress.oldest_held
        if head is None:
            return 0
        return records_since(self.run.world.catalog, self.run.system, head, oldest - 1)

    def landed(self, table: TableName | None = None) -> DataFrame:
        """Rows of all landings, of ``table`` or of all tables."""
        return self._of(table, self._since(1))

    def published(self, table: TableName | None = None) -> DataFrame:
        """Rows of the landings that earlier cuts have gated, of ``table`` or of all tables."""
        return self._of(table, self._gated())

    def published_at(self, places: Places, decoded: DataFrame | None = None) -> DataFrame:
        """Rows of `published` whose records stand at ``places``, and those of ``decoded``.

        decoded: rows that a decoder has just made of such records, as it made them.
        """
        rows = only_at(self._gated(), places)
        return self._composed(rows if decoded is None else rows.unionByName(decoded))

    def placed(self, rows: DataFrame) -> DataFrame:
        """``rows`` that a decoder has just made, as this reader would give them."""
        return self._composed(rows)

    @staticmethod
    def among(rows: DataFrame, places: Places) -> DataFrame:
        """Those of ``rows``, which this reader gave, whose records stand at ``places``."""
        return only_at(rows, places)

    @staticmethod
    def except_at(rows: DataFrame, places: Places) -> DataFrame:
        """``rows``, which this reader gave, without those whose records stand at ``places``."""
        return except_at(rows, places)

    def unreadable_at(self, places: Places) -> DataFrame:
        """The records at ``places`` that could not be read. Out: RECORD_COLUMNS and ``reason``."""
        records = only_at(self._gated(), places)
        return records.where(F.col("kind") == Kind.UNREADABLE.value).select(
            *RECORD_COLUMNS, "reason"
        )

    def _since(self, landing: int) -> DataFrame:
        """What the run knows of it; what others land meanwhile its mark leaves out."""
        head = self.run.heads.changelog.snapshot
        if head is None:
            raise RuntimeError("nothing is landed yet")
        world = self.run.world
        return read_changelog(world.spark, world.catalog, self.run.system, head, landing)

    def _gated(self) -> DataFrame:
        return self._since(1).where(F.col("landing") <= self.progress.landing)

    def _of(self, table: TableName | None, rows: DataFrame) -> DataFrame:
        composed = self._composed(rows)
        return composed if table is None else composed.where(is_table(table))

    def _composed(self, rows: DataFrame) -> DataFrame:
        """Changelog rows as they were landed -> as this reader gives them."""
        placed = in_epochs(rows, self.progress.epochs)
        named = under_new_names(placed, self.renames)
        if self.bounds is None:
            return named
        cut, old, landing = self.bounds
        gated = self.progress.landing
        return with_status(named, cut, old, gated_landing=gated, published_landing=landing)
