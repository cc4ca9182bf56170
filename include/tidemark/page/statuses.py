"""What the page reads of pipelines and their tables, and how old it may be."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from pathlib import Path

    from tidemark.errors import TidemarkError
    from tidemark.model.names import PipelineName, TableName
    from tidemark.runs.status import PipelineStatus
    from tidemark.runs.table_history import TableHistory
    from tidemark.runs.world import World
    from tidemark.spec import PipelineSpec

FRESH_SECONDS = 10.0
READINGS = 500
"""So many of a kind are kept, those that were asked for last."""
CUTS_OF_TABLE = 20
T = TypeVar("T")


@dataclass(slots=True)
class _Reading(Generic[T]):
    """What was read, and until when it is shown."""

    lock: Lock = field(default_factory=Lock)
    until: float = 0.0
    read: list[T] = field(default_factory=list)


class _Readings(Generic[T]):
    """Each is read again when it is `FRESH_SECONDS` old, by one of those who ask meanwhile."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._newest: dict[object, _Reading[T]] = {}

    def read(self, key: object, how: Callable[[], T]) -> T:
        """What ``how`` returned for ``key``, at most so old."""
        with self._lock:
            reading = self._newest.pop(key, _Reading())
            self._newest[key] = reading
            if len(self._newest) > READINGS:
                self._newest.pop(next(iter(self._newest)))
        with reading.lock:
            if time.monotonic() >= reading.until:
                reading.read = [how()]
                reading.until = time.monotonic() + FRESH_SECONDS
            return reading.read[0]


class Statuses:
    """The status of each pipeline, and the history of each table; threads share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._worlds: dict[PipelineName, World] = {}
        self._statuses: _Readings[PipelineStatus] = _Readings()
        self._histories: _Readings[TableHistory | TidemarkError] = _Readings()

    def read(self, spec: PipelineSpec) -> PipelineStatus:
        """The status of ``spec``; also where nothing of it can be read."""
        return self._statuses.read(spec.name, lambda: self._status(spec))

    def history(self, spec: PipelineSpec, table: TableName) -> TableHistory | TidemarkError:
        """The cuts that changed ``table`` last, or why they cannot be read."""
        return self._histories.read((spec.name, table), lambda: self._history(spec, table))

    def data_docs(self, spec: PipelineSpec) -> Path | None:
        """The folder of its Data Docs; None where its installation cannot be read."""
        from tidemark.errors import TidemarkError
        from tidemark.runs.world import data_docs_folder

        try:
            return data_docs_folder(self._world(spec).installation, spec.name)
        except TidemarkError:
            return None

    def _status(self, spec: PipelineSpec) -> PipelineStatus:
        from tidemark.errors import TidemarkError
        from tidemark.runs.status import pipeline_status, unreadable_status

        try:
            status = pipeline_status(spec, self._world(spec))
        except TidemarkError as error:
            status = unreadable_status(spec, error)
        self._forget_refused(spec, status.trouble)
        return status

    def _history(self, spec: PipelineSpec, table: TableName) -> TableHistory | TidemarkError:
        from tidemark.errors import TidemarkError
        from tidemark.runs.table_history import table_history

        try:
            return table_history(spec, self._world(spec), table, CUTS_OF_TABLE)
        except TidemarkError as error:
            self._forget_refused(spec, error)
            return error

    def _forget_refused(self, spec: PipelineSpec, trouble: TidemarkError | None) -> None:
        """Credentials may have changed: the next look opens catalog and broker again."""
        from tidemark.errors import BrokerRefusedError, CatalogUnreachableError

        if isinstance(trouble, (BrokerRefusedError, CatalogUnreachableError)):
            with self._lock:
                self._worlds.pop(spec.name, None)

    def _world(self, spec: PipelineSpec) -> World:
        from tidemark.runs.world import open_world
        from tidemark.scheduling.connections import load_installation_for

        with self._lock:
            if spec.name not in self._worlds:
                self._worlds[spec.name] = open_world(load_installation_for(spec.name))
            return self._worlds[spec.name]
