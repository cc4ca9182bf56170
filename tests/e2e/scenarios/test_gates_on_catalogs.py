"""Every gate in every kind of catalog: a commit is published whole, and no half of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.postgres import USER, running_postgres
from tests.support.records import boundary, debezium_row, ticdc_row, ticdc_watermark
from tests.support.rest_catalog import rest_block, running_rest_catalog
from tests.support.stack import Stream, reopened
from tidemark.lake.java_catalog import spark_catalog_conf
from tidemark.model.result import CutStatus
from tidemark.runs.world import World
from tidemark.spec import CatalogSpec

MYSQL = {"key": ["id"], "columns": {"id": "int", "name": "text"}}
ONE, TWO = (f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{number}" for number in (1, 2))


@pytest.fixture(scope="module", params=["sqlite", "postgres", "rest"])
def catalogued(
    request: pytest.FixtureRequest, world: World, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """The same session and broker, and a catalog of that kind."""
    folder = tmp_path_factory.mktemp(request.param)
    warehouse = str(folder / "warehouse")
    with ExitStack() as stack:
        block: Mapping[str, str]
        if request.param == "rest":
            block = rest_block(
                stack.enter_context(running_rest_catalog(folder, warehouse)), warehouse
            )
        else:
            block = {"uri": f"sqlite:///{folder}/catalog.db", "warehouse": warehouse}
            if request.param == "postgres":
                uri = stack.enter_context(running_postgres()).uri
                block = {**block, "uri": uri, "user": USER}
        name = f"of_{request.param}"
        spec = CatalogSpec.model_validate({**block, "name": name})
        for setting, value in spark_catalog_conf(spec).items():
            world.spark.conf.set(setting, value)
        yield reopened(world, catalog=spec)


@dataclass(frozen=True)
class Sends:
    """What a source sends: key 1, and a part of what comes with key 2; then the rest of that."""

    options: Mapping[str, Any]
    first: Callable[[Stream], None]
    rest: Callable[[Stream], None]


def ticdc_first(stream: Stream) -> None:
    stream.send([ticdc_row("INSERT", 1, 101, name="a"), ticdc_watermark(102)])
    stream.send([ticdc_row("INSERT", 2, 103, name="b")])


def ticdc_rest(stream: Stream) -> None:
    stream.send([ticdc_row("UPDATE", 1, 103, name="aa"), ticdc_watermark(104)])


def mysql_first(stream: Stream) -> None:
    marks = [boundary("BEGIN", ONE), boundary("END", ONE, 1), boundary("BEGIN", TWO)]
    stream.send(marks, stream.transactions)
    stream.send([debezium_row("c", 1, 101, name="a", transaction=(ONE, 1))])
    stream.send([debezium_row("c", 2, 102, name="b", transaction=(TWO, 1))])


def mysql_rest(stream: Stream) -> None:
    stream.send([boundary("END", TWO, 2)], stream.transactions)
    stream.send([debezium_row("u", 1, 103, name="aa", transaction=(TWO, 2))])


def ungated_first(stream: Stream) -> None:
    stream.send([debezium_row("c", 1, 101, name="a")])


def ungated_rest(stream: Stream) -> None:
    stream.send([debezium_row("c", 2, 102, name="b"), debezium_row("u", 1, 103, name="aa")])


DEBEZIUM = {"format": "debezium-mysql", "table": MYSQL}
GATES = {
    "watermark": Sends({}, ticdc_first, ticdc_rest),
    "transaction": Sends(DEBEZIUM, mysql_first, mysql_rest),
    "none": Sends(DEBEZIUM, ungated_first, ungated_rest),
}


@pytest.mark.parametrize("gate", GATES)
def test_what_is_committed_is_published_whole(catalogued: World, gate: str) -> None:
    """GATE-W1, GATE-T6, PUB-1: what is there of a commit waits for the rest of it."""
    sends = GATES[gate]
    stream = Stream(catalogued, gate=gate, **sends.options).create()
    sends.first(stream)
    assert stream.cut().status is CutStatus.PUBLISHED
    assert stream.rows() == {1: "a"}
    sends.rest(stream)
    assert stream.cut().status is CutStatus.PUBLISHED
    assert stream.rows() == {1: "aa", 2: "b"}
