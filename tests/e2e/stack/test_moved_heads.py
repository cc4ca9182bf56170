"""What happens while a run works: it stands, and the run is superseded where it clashes (PUB-8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.support.records import Record, debezium_row
from tests.support.stack import Stream
from tidemark.errors import SupersededError, TableStoppedError
from tidemark.lake.catalog import SystemTables
from tidemark.model.names import TableName
from tidemark.model.result import CutStatus
from tidemark.runs import cut
from tidemark.runs.landing import land
from tidemark.runs.orders import begin_resync
from tidemark.runs.run import CutRequest
from tidemark.runs.staging import stage
from tidemark.runs.status import pipeline_status
from tidemark.runs.world import World

MYSQL = {"key": ["id"], "columns": {"id": "int", "name": "text"}}
ITEMS = TableName("shop", "items")
FIRST_OR_LATER = [pytest.param(0, id="first cut"), pytest.param(1, id="later cut")]


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Have something happen once, as a run comes to a step: ``meanwhile(module, step, what)``."""

    def arrange(module: ModuleType, step: str, what: Callable[[], Any]) -> None:
        real = getattr(module, step)

        def stepped(*args: Any, **kwargs: Any) -> Any:
            monkeypatch.setattr(module, step, real)
            what()
            return real(*args, **kwargs)

        monkeypatch.setattr(module, step, stepped)

    return arrange


def rows(*numbers: int) -> list[Record]:
    return [debezium_row("c", number, 100 + number) for number in numbers]


def streamed(world: World, cuts: int) -> Stream:
    """A stream with as many published cuts, and with something to do."""
    stream = Stream(world, 1, "debezium-mysql", "none", MYSQL).create()
    for number in range(cuts):
        stream.send(rows(number))
        assert stream.cut().status is CutStatus.PUBLISHED
    stream.send(rows(cuts, cuts + 1))
    return stream


def landed(stream: Stream) -> Counter[int]:
    """How often each offset of the topic is in the changelog."""
    tables = SystemTables.of(stream.pipeline.name)
    changelog = stream.world.catalog.load_table(tables.changelog.parts)
    return Counter(changelog.scan(selected_fields=("offset",)).to_arrow()["offset"].to_pylist())


@pytest.mark.parametrize("cuts", FIRST_OR_LATER)
def test_an_order_given_while_a_run_folds_stands_in_every_later_cut(
    world: World, meanwhile: Callable[..., None], cuts: int
) -> None:
    stream = streamed(world, cuts)
    meanwhile(cut, "plan_tables", lambda: begin_resync(stream.pipeline, world, ITEMS))
    with pytest.raises(SupersededError, match="ledger stands at snapshot"):
        stream.cut()
    assert stream.cut().status is CutStatus.PUBLISHED
    assert ITEMS in pipeline_status(stream.pipeline, world).snapshots
    assert set(stream.rows()) == set(range(cuts + 2))


@pytest.mark.parametrize("cuts", FIRST_OR_LATER)
def test_offsets_that_another_run_landed_first_are_landed_once(
    world: World, meanwhile: Callable[..., None], cuts: int
) -> None:
    stream = streamed(world, cuts)
    meanwhile(land, "refuse_order", stream.cut)
    with pytest.raises(SupersededError) as superseded:
        stream.cut()
    assert landed(stream) == Counter(range(cuts + 2))
    assert "changelog stands at snapshot" in str(superseded.value)
    assert stream.cut().status is CutStatus.IDLE
    assert set(stream.rows()) == set(range(cuts + 2))


def test_a_target_that_was_written_to_after_the_plan_looked_at_it_is_left_alone(
    world: World, meanwhile: Callable[..., None]
) -> None:
    stream = streamed(world, 1)

    def write() -> None:
        items = world.catalog.load_table((stream.name, "items"))
        items.append(items.scan().to_arrow().slice(0, 0))

    meanwhile(stage, "stage_table", write)
    with pytest.raises(SupersededError, match="items stands at snapshot"):
        stream.cut()
    assert set(stream.rows()) == {0}
    with pytest.raises(TableStoppedError, match="items is not as it was published"):
        stream.cut()


def test_records_that_another_run_lands_meanwhile_wait_for_the_next_cut(
    world: World, meanwhile: Callable[..., None]
) -> None:
    stream = streamed(world, 1)

    def land_more() -> None:
        stream.send(rows(7))
        cut.stage_cut(stream.pipeline, world, CutRequest(stream.attempt()))

    meanwhile(cut, "plan_tables", land_more)
    assert stream.cut().buckets["applied"] == 2
    assert set(stream.rows()) == {0, 1, 2}
    assert stream.cut().buckets["applied"] == 1
    assert set(stream.rows()) == {0, 1, 2, 7}
