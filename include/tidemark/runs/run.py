"""One run of one pipeline: what it was asked for, and the edges it works with."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidemark.errors import TableStoppedError
from tidemark.lake.catalog import SystemTables
from tidemark.lake.heads import Heads, read_heads
from tidemark.lake.landing import ChangelogHead
from tidemark.lake.refs import TargetRename
from tidemark.model.names import AttemptId, TableName, TagName
from tidemark.model.progress import Progress
from tidemark.model.renames import Rename
from tidemark.model.until import Until
from tidemark.runs.targets import added_tables
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec, TableSpec


@dataclass(frozen=True, slots=True)
class CutRequest:
    """What a run was asked for.

    attempt: names the branches, so it is never used twice. until: where the cut is capped.
    tables: the only ones to fold, all when empty. reason: kept in the ledger. tag: what every
    target gets if all of them stand at ``until``, a time, once the cut is published (PUB-14).
    """

    attempt: AttemptId
    until: Until | None = None
    tables: tuple[TableName, ...] = ()
    reason: str = ""
    tag: TagName | None = None


@dataclass(frozen=True, slots=True)
class FollowedRename:
    """A table that a statement renamed, taken as if the file had its former name (SCHEMA-31).

    spec: of the table under its new name, with ``was`` and the target that it has so far. becomes:
    the name that this target gets with the cut; None where it keeps its own. stays: the pipeline
    goes on with the table, whose new name is one that it folds.
    """

    rename: Rename
    spec: TableSpec
    becomes: TargetRename | None
    stays: bool


@dataclass(frozen=True, slots=True)
class Run:
    """A pipeline, the world it runs in, the request, and the heads that all of it builds on.

    declared: the tables of the file. renamed: what the cut ends with, where that is a statement
    that renames tables; the pipeline is as of its end. unseeded: tables whose refold could not
    begin with a base (KEEP-1).
    """

    pipeline: PipelineSpec
    world: World
    request: CutRequest
    heads: Heads
    declared: frozenset[TableName]
    renamed: tuple[FollowedRename, ...] = ()
    unseeded: Mapping[TableName, TableStoppedError] = field(default_factory=dict)

    @property
    def system(self) -> SystemTables:
        """The pipeline's own tables."""
        return SystemTables.of(self.pipeline.name)

    @property
    def progress(self) -> Progress:
        """What is published, of tables under the names that they have in the file.

        A table that came into the file since then takes all that was ever landed of it.
        """
        published = self.heads.ledger.progress.under(self.renames)
        return published.with_added(added_tables(self.pipeline, published))

    @property
    def renames(self) -> tuple[Rename, ...]:
        """The former names of tables, as the file has them and as the cut's end tells them."""
        by_names = {
            (followed.rename.old, followed.rename.new): followed.rename for followed in self.renamed
        }
        return tuple(
            by_names.get((rename.old, rename.new), rename) for rename in self.pipeline.renames
        )

    def as_stored(self, after: Progress) -> Progress:
        """``after``, progress once the cut is published, with the names that the ledger keeps.

        Where the tables of the cut's last statement wait, both names do: what comes under the new
        one belongs to their rows.
        """
        stored = after.as_stored(self.renames)
        waits = [
            followed.rename
            for followed in self.renamed
            if followed.stays and followed.rename.old in stored.behind
        ]
        names = {rename.new: stored.behind[rename.old] for rename in waits}
        landings = {
            rename.new: stored.landings[rename.old]
            for rename in waits
            if rename.old in stored.landings and rename.new not in stored.behind
        }
        return replace(
            stored, behind={**names, **stored.behind}, landings={**landings, **stored.landings}
        )

    def asks_for(self, tables: Collection[TableName]) -> bool:
        """Whether the run was asked for all of ``tables``."""
        return not self.request.tables or set(tables) <= set(self.request.tables)

    def stands_apart(self, table: TableName) -> bool:
        """Whether ``table`` is not where the frontier is, or will not go on."""
        return table in self.progress.behind or table in self.progress.blocked

    def following(self, renamed: Sequence[FollowedRename]) -> Run:
        """The same run, in which the tables have the names that a statement gives them."""
        named = {
            name for followed in renamed for name in (followed.rename.old, followed.rename.new)
        }
        others = (spec for spec in self.pipeline.tables if spec.source not in named)
        tables = (*others, *(followed.spec for followed in renamed))
        pipeline = self.pipeline.model_copy(update={"tables": tables})
        return replace(self, pipeline=pipeline, renamed=tuple(renamed))

    def becomes(self, table: TableName) -> TargetRename | None:
        """The name that the target of ``table`` gets with the cut; None where it keeps its own."""
        return next(
            (followed.becomes for followed in self.renamed if followed.spec.source == table), None
        )

    def behind(self, landed: ChangelogHead) -> Run:
        """The same run once it has landed: of the changelog it knows its own landing as well."""
        return replace(self, heads=replace(self.heads, changelog=landed))


def begin_run(pipeline: PipelineSpec, world: World, request: CutRequest) -> Run:
    """A run from what is published and landed now; it looks no second time."""
    heads = read_heads(world.catalog, SystemTables.of(pipeline.name))
    return Run(pipeline, world, request, heads, pipeline.declared)
