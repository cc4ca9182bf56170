"""Tables that are folded again from the changelog: into which target, and what becomes of it.

As the refold ends, the new target takes the name of the old one in the step that publishes the cut.
The old one stays, under another name, for a person to compare and to drop (REFOLD-1).
"""

from __future__ import annotations

from dataclasses import dataclass

from tidemark.lake.catalog import TableId
from tidemark.lake.evolve import TargetHead, read_target
from tidemark.lake.history import read_history
from tidemark.lake.refs import Displaced, TargetRename
from tidemark.model.progress import Progress
from tidemark.runs.choose import Chosen
from tidemark.runs.run import Run
from tidemark.runs.targets import targets_of
from tidemark.spec import TableSpec


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a refolded target takes the place of.

    target: of the table. before: that target as it stands; None where it is gone.
    """

    target: TableId
    before: TargetHead | None

    def rename(self, cut: int) -> TargetRename:
        """How the new target gets the name of the old one."""
        if self.before is None:
            return TargetRename(self.target)
        displaced_id = TableId(self.target.namespace, f"{self.target.table}__until_cut_{cut}")
        return TargetRename(self.target, Displaced(self.before.metadata, displaced_id))


def into_refold(spec: TableSpec, progress: Progress) -> TableSpec:
    """``spec`` with the target that its refold makes, if it has one."""
    refold = progress.refolds.get(spec.source)
    return spec if refold is None else spec.model_copy(update={"target": refold.target})


def replaced_by(run: Run, chosen: Chosen, progress: Progress, spec: TableSpec) -> Replaced | None:
    """What the target of ``spec`` takes the place of with this cut; None where it does not."""
    refold = progress.refolds.get(spec.source)
    if refold is None or not refold.replaces or spec.source not in chosen.refolded:
        return None
    history = read_history(run.world.catalog, run.system)
    target = targets_of(run.pipeline, history, progress)[spec.source]
    return Replaced(target, read_target(run.world.catalog, target))
