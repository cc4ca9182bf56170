"""What the page keeps between two looks: nothing that was refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

import tidemark.page.statuses
from tidemark.errors import UNCHANGED, BrokerRefusedError, CatalogUnreachableError, TidemarkError
from tidemark.model.names import TableName
from tidemark.page.statuses import Statuses

NEXT = "look at the password"


@pytest.mark.parametrize(
    ("trouble", "opened"),
    [
        pytest.param(None, 1, id="all is well"),
        pytest.param(CatalogUnreachableError("no", state=UNCHANGED, next_step=NEXT), 2, id="lake"),
        pytest.param(BrokerRefusedError("no", state=UNCHANGED, next_step=NEXT), 2, id="broker"),
    ],
)
def test_a_password_that_was_refused_is_read_again(
    monkeypatch: pytest.MonkeyPatch, trouble: TidemarkError | None, opened: int
) -> None:
    worlds: list[object] = []
    spec: Any = SimpleNamespace(name="shop")

    def open_world(_: object) -> object:
        worlds.append(object())
        return worlds[-1]

    monkeypatch.setattr("tidemark.runs.world.open_world", open_world)
    monkeypatch.setattr("tidemark.scheduling.connections.load_installation_for", lambda _: None)
    status = SimpleNamespace(trouble=trouble)
    monkeypatch.setattr("tidemark.runs.status.pipeline_status", lambda *_: status)
    monkeypatch.setattr(tidemark.page.statuses, "FRESH_SECONDS", 0.0)
    statuses = Statuses()
    for _ in range(2):
        statuses.read(spec)
    assert len(worlds) == opened


def test_a_catalog_that_is_down_is_asked_once_by_all_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its trouble is as old as a status may be; the folder of Data Docs asks no catalog."""
    opened: list[object] = []
    loaded: list[object] = []
    spec: Any = SimpleNamespace(name="shop")
    down = CatalogUnreachableError("no", state=UNCHANGED, next_step=NEXT)

    def open_world(_: object) -> object:
        opened.append(object())
        raise down

    def load(_: object) -> object:
        loaded.append(object())
        return SimpleNamespace(state=Path("/state"))

    monkeypatch.setattr("tidemark.runs.world.open_world", open_world)
    monkeypatch.setattr("tidemark.scheduling.connections.load_installation_for", load)
    monkeypatch.setattr(
        "tidemark.runs.status.unreadable_status", lambda _, error: SimpleNamespace(trouble=error)
    )
    statuses = Statuses()
    for _ in range(3):
        assert statuses.data_docs(spec) == Path("/state/data_docs/shop")
    assert (len(opened), len(loaded)) == (0, 1)
    assert statuses.read(spec).trouble is down
    for table in ("items", "orders", "customers"):
        assert statuses.history(spec, TableName("shop", table)) is down
    assert len(opened) == 1


def test_a_catalog_that_does_not_answer_holds_up_no_other_pipeline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, goes_on = Event(), Event()

    def open_world(name: object) -> object:
        if name == "slow":
            asked.set()
            assert goes_on.wait(30)
        return object()

    monkeypatch.setattr("tidemark.runs.world.open_world", open_world)
    monkeypatch.setattr("tidemark.scheduling.connections.load_installation_for", lambda name: name)
    status = SimpleNamespace(trouble=None)
    monkeypatch.setattr("tidemark.runs.status.pipeline_status", lambda *_: status)
    statuses = Statuses()

    def look(name: str) -> object:
        spec: Any = SimpleNamespace(name=name)
        return statuses.read(spec)

    with ThreadPoolExecutor(2) as people:
        slow = people.submit(look, "slow")
        assert asked.wait(30)
        try:
            assert people.submit(look, "shop").result(timeout=2) is status
        finally:
            goes_on.set()
        assert slow.result(timeout=30) is status
