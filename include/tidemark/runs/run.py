"""One run of one pipeline: what it was asked for, and the edges it works with."""

from __future__ import annotations

from dataclasses import dataclass

from tidemark.lake.catalog import SystemTables
from tidemark.lake.ledger import read_progress
from tidemark.model.names import AttemptId, TableName
from tidemark.model.progress import Progress
from tidemark.model.until import Until
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec


@dataclass(frozen=True, slots=True)
class CutRequest:
    """What a run was asked for.

    attempt: names the branches, so it is never used twice. until: where the cut is capped.
    tables: the only ones to fold, all when empty. reason: kept in the ledger.
    """

    attempt: AttemptId
    until: Until | None = None
    tables: tuple[TableName, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """A pipeline, the world it runs in, and the request."""

    pipeline: PipelineSpec
    world: World
    request: CutRequest

    @property
    def system(self) -> SystemTables:
        """The pipeline's own tables."""
        return SystemTables.of(self.pipeline.name)

    def read_progress(self) -> Progress:
        """What is published, of tables under the names that they have in the file."""
        return read_progress(self.world.catalog, self.system).under(self.pipeline.renames)
