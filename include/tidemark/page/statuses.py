"""The statuses that the page shows, and how old they may be."""

from __future__ import annotations

import time
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tidemark.runs.status import PipelineStatus
    from tidemark.runs.world import World
    from tidemark.spec import PipelineSpec

FRESH_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class _CachedStatus:
    """What was read, and until when it is shown."""

    status: PipelineStatus
    until: float


class Statuses:
    """The status of each pipeline, read again when it is `FRESH_SECONDS` old; threads share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._cache: dict[str, _CachedStatus] = {}
        self._worlds: dict[str, World] = {}

    def read(self, spec: PipelineSpec) -> PipelineStatus:
        """The status of ``spec``, at most so old; also where nothing of it can be read."""
        from tidemark.errors import BrokerRefusedError, CatalogUnreachableError, TidemarkError
        from tidemark.runs.status import pipeline_status, unreadable_status

        cached = self._cache.get(spec.name)
        if cached is not None and time.monotonic() < cached.until:
            return cached.status
        try:
            status = pipeline_status(spec, self._world(spec))
        except TidemarkError as error:
            status = unreadable_status(spec, error)
        if isinstance(status.trouble, (BrokerRefusedError, CatalogUnreachableError)):
            with self._lock:  # Credentials may have changed: the next look opens both again.
                self._worlds.pop(spec.name, None)
        self._cache[spec.name] = _CachedStatus(status, time.monotonic() + FRESH_SECONDS)
        return status

    def data_docs(self, spec: PipelineSpec) -> Path | None:
        """The folder of its Data Docs; None where its installation cannot be read."""
        from tidemark.errors import TidemarkError
        from tidemark.runs.world import data_docs_folder

        try:
            return data_docs_folder(self._world(spec).installation, spec.name)
        except TidemarkError:
            return None

    def _world(self, spec: PipelineSpec) -> World:
        from tidemark.runs.world import open_world
        from tidemark.scheduling.connections import load_installation_for

        with self._lock:
            if spec.name not in self._worlds:
                self._worlds[spec.name] = open_world(load_installation_for(spec.name))
            return self._worlds[spec.name]
