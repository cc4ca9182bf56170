"""A process that dies at a statement of the catalog's database, in the midst of what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy import event


class DiedError(BaseException):
    """Nobody catches it, and whatever cleans up on the way asks the catalog in vain."""


class Statements:
    """Counts what is asked of the database; ``last``: the one behind which all are refused."""

    def __init__(self, catalog: Catalog) -> None:
        assert isinstance(catalog, SqlCatalog)
        self.number, self.last, self._engine = 0, -1, catalog.engine

    @contextmanager
    def counted(self, last: int = -1) -> Iterator[Statements]:
        """Count those of the block; it ends with `DiedError` behind the statement ``last``."""
        self.number, self.last = 0, last
        event.listen(self._engine, "before_cursor_execute", self._before)
        try:
            yield self
        finally:
            event.remove(self._engine, "before_cursor_execute", self._before)

    def _before(self, *_: Any) -> None:
        self.number += 1
        if 0 <= self.last < self.number:
            raise DiedError


def dies(catalog: Catalog, last: int, work: Callable[[], object]) -> bool:
    """Do ``work`` as a process that dies behind the statement ``last``; False where it ended."""
    try:
        with Statements(catalog).counted(last):
            work()
    except DiedError:
        return True
    return False
