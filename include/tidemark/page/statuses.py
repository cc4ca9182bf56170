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
STATEMENTS_OF_TABLE = 1_000
"""So many schema changes are read for the history of a table, of whatever tables they are."""
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


@dataclass(slots=True)
class _Edges:
    """The world of a pipeline; or why it cannot be opened, and until when nobody tries again."""

    lock: Lock = field(default_factory=Lock)
    world: World | None = None
    trouble: TidemarkError | None = None
    until: float = 0.0


class Statuses:
    """The status of each pipeline, and the history of each table; threads share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._edges: dict[PipelineName, _Edges] = {}
        self._statuses: _Readings[PipelineStatus] = _Readings()
        self._histories: _Readings[TableHistory | TidemarkError] = _Readings()
        self._folders: _Readings[Path | None] = _Readings()

    def read(self, spec: PipelineSpec) -> PipelineStatus:
        """The status of ``spec``; also where nothing of it can be read."""
        return self._statuses.read(spec.name, lambda: self._status(spec))

    def history(self, spec: PipelineSpec, table: TableName) -> TableHistory | TidemarkError:
        """The cuts that changed ``table`` last, or why they cannot be read."""
        return self._histories.read((spec.name, table), lambda: self._history(spec, table))

    def data_docs(self, spec: PipelineSpec) -> Path | None:
        """The folder of its Data Docs; None where its installation cannot be read."""
        return self._folders.read(spec.name, lambda: self._folder(spec))

    def _folder(self, spec: PipelineSpec) -> Path | None:
        from tidemark.errors import TidemarkError
        from tidemark.runs.world import data_docs_folder
        from tidemark.scheduling.connections import load_installation_for

        try:
            return data_docs_folder(load_installation_for(spec.name), spec.name)
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
            return table_history(spec, self._world(spec), table, CUTS_OF_TABLE, STATEMENTS_OF_TABLE)
        except TidemarkError as error:
            self._forget_refused(spec, error)
            return error

    def _forget_refused(self, spec: PipelineSpec, trouble: TidemarkError | None) -> None:
        """Credentials may have changed: a later look opens catalog and broker again."""
        from tidemark.errors import BrokerRefusedError, CatalogUnreachableError

        edges = self._edges_of(spec)
        with edges.lock:
            if isinstance(trouble, BrokerRefusedError):
                edges.world = None
            if isinstance(trouble, CatalogUnreachableError):
                edges.world, edges.trouble = None, trouble
                edges.until = time.monotonic() + FRESH_SECONDS

    def _world(self, spec: PipelineSpec) -> World:
        """The edges of ``spec``, opened by one of those who ask meanwhile."""
        from tidemark.errors import TidemarkError
        from tidemark.runs.world import open_world
        from tidemark.scheduling.connections import load_installation_for

        edges = self._edges_of(spec)
        with edges.lock:
            if edges.world is not None:
                return edges.world
            if edges.trouble is not None and time.monotonic() < edges.until:
                raise edges.trouble
            try:
                edges.world = open_world(load_installation_for(spec.name))
            except TidemarkError as error:
                edges.trouble, edges.until = error, time.monotonic() + FRESH_SECONDS
                raise
            return edges.world

    def _edges_of(self, spec: PipelineSpec) -> _Edges:
        with self._lock:
            return self._edges.setdefault(spec.name, _Edges())
