"""What the page keeps between two looks: nothing that was refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import tidemark.page.statuses
from tidemark.errors import UNCHANGED, BrokerRefusedError, CatalogUnreachableError, TidemarkError
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
