"""Where tests stage rows: a place of its own for each, in the warehouse of their world."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tidemark.lake.catalog import TableId
from tidemark.lake.staged import StagedPlace
from tidemark.runs.world import World

NAMESPACE = "tidemark_staged_by_tests"


def staged_place(world: World, folder: Path, target: TableId) -> StagedPlace:
    """A place that no other ``folder`` has; the folder itself stays as it is."""
    attempt = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
    world.catalog.create_namespace_if_not_exists(NAMESPACE)
    return StagedPlace.of(world.catalog, NAMESPACE, f"tidemark_1_{attempt}", target)
