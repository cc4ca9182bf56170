"""Maintenance of several tables: where one cannot be maintained the others are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from tidemark.lake.catalog import TableId
from tidemark.model.maintenance import TableMaintenance
from tidemark.runs import maintain as module

PIPELINE: Any = SimpleNamespace(name="shop")
WORLD: Any = SimpleNamespace(spark=None, catalog=None)


@pytest.mark.parametrize("error", [Py4JError("no"), PySparkException("no")])
def test_others_go_on_whatever_one_raises(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    names = [TableId("shop", name) for name in ("a", "b")]

    def maintained(_: object, __: object, name: TableId) -> TableMaintenance:
        if name.table == "a":
            raise error
        return TableMaintenance(str(name))

    monkeypatch.setattr(module, "unmark_session", lambda _: None)
    monkeypatch.setattr(module, "_names", lambda *_: names)
    monkeypatch.setattr(module, "_maintained", maintained)
    tables = module.maintain(PIPELINE, WORLD)
    assert next(tables).table == "shop.b"
    with pytest.raises(type(error)):
        next(tables)
