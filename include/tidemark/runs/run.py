"""One run of one pipeline: what it was asked for, and the edges it works with."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidemark.lake.catalog import SystemTables
from tidemark.lake.heads import Heads, read_heads
from tidemark.lake.landing import ChangelogHead
from tidemark.model.names import AttemptId, TableName
from tidemark.model.progress import Progress
from tidemark.model.until import Until
from tidemark.runs.targets import added_tables
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
    """A pipeline, the world it runs in, the request, and the heads that all of it builds on."""

    pipeline: PipelineSpec
    world: World
    request: CutRequest
    heads: Heads

    @property
    def system(self) -> SystemTables:
        """The pipeline's own tables."""
        return SystemTables.of(self.pipeline.name)

    @property
    def progress(self) -> Progress:
        """What is published, of tables under the names that they have in the file.

        A table that came into the file since then takes all that was ever landed of it.
        """
        published = self.heads.ledger.progress.under(self.pipeline.renames)
        return published.with_added(added_tables(self.pipeline, published))

    def behind(self, landed: ChangelogHead) -> Run:
        """The same run once it has landed: of the changelog it knows its own landing as well."""
        return replace(self, heads=replace(self.heads, changelog=landed))


def begin_run(pipeline: PipelineSpec, world: World, request: CutRequest) -> Run:
    """A run from what is published and landed now; it looks no second time."""
    heads = read_heads(world.catalog, SystemTables.of(pipeline.name))
    return Run(pipeline, world, request, heads)
