"""A connector dies between a snapshot amid the stream and what that overtook (SNAP-10, GATE-T6)."""

from __future__ import annotations

import pytest

from tests.simulate.broker import Broker
from tests.simulate.connector import TRANSACTIONS, Connector
from tests.simulate.consumer import Consumer
from tests.simulate.history import Flavour, Write
from tests.simulate.source import Database

RUNS_TO_SETTLE = 3
OVERTAKEN = (
    [Write(0, 1, None), Write(1, 3, 8)],
    [Write(0, 3, 5)],
    [Write(0, 3, None), Write(0, 0, 9)],
)


class Pipeline:
    """A source, its connector and Tidemark, behind a published snapshot that is ahead."""

    def __init__(self, flavour: Flavour) -> None:
        self.database = Database(flavour)
        self.connector = Connector(self.database, partitions=2)
        self.broker = Broker()
        self.consumer = Consumer(self.connector, self.broker)
        self.database.commit([Write(0, 0, 1), Write(0, 1, 1), Write(1, 0, 1)])
        self.connector.snapshot(initial=True)
        self._settle()
        self.database.commit([Write(0, 2, 7)])
        self.connector.stream()
        self._settle()
        for writes in OVERTAKEN:
            self.database.commit(writes)
        self.connector.overtake(beside=False)
        self._deliver_snapshot()
        self.connector.restart(0)
        for _ in range(RUNS_TO_SETTLE):
            self.run()
        assert self.consumer.rows() == self.database.state, "silence has settled the snapshot"
        self.connector.stream()

    def run(self) -> None:
        self.consumer.run(None, None, dies=False)

    def take(self, step: str) -> None:
        match step:
            case "run":
                self.run()
            case "follow":
                self.follow()
            case _:
                self.deliver(step)

    def deliver(self, what: str) -> None:
        """``ends`` are BEGINs and ENDs, ``rows`` all others, ``row`` one of each partition."""
        for place in self.connector.queues:
            if (place == TRANSACTIONS) == (what == "ends"):
                self.broker.deliver_first(self.connector, place, 1 if what == "row" else 99)

    def follow(self) -> None:
        """The source goes on, above the snapshot."""
        self.database.commit([Write(0, 2, 55), Write(1, 3, 56)])
        self.connector.stream()

    def _deliver_snapshot(self) -> None:
        for place, queue in self.connector.queues.items():
            read = [number for number, record in enumerate(queue, 1) if record.is_read]
            self.broker.deliver_first(self.connector, place, max(read, default=0))

    def _settle(self) -> None:
        self.broker.deliver_all(self.connector)
        for _ in range(RUNS_TO_SETTLE):
            self.run()


@pytest.mark.parametrize("flavour", [Flavour.MYSQL, Flavour.MARIADB])
@pytest.mark.parametrize(
    "steps",
    [
        pytest.param("rows ends run", id="all at once"),
        pytest.param("rows run ends run", id="ENDs a run behind their rows"),
        pytest.param("rows run run run ends run", id="and silent runs between"),
        pytest.param("ends run rows run", id="rows behind their ENDs"),
        pytest.param("ends run row run row run rows run", id="row by row"),
        pytest.param("row run row run ends run rows run", id="ENDs amid the rows"),
        pytest.param("rows follow rows run ends run", id="beside what stands above the snapshot"),
    ],
)
def test_what_a_snapshot_overtook_is_counted_below_it(flavour: Flavour, steps: str) -> None:
    """GATE-T4, SNAP-10: no transaction waits for events that are published already."""
    pipeline = Pipeline(flavour)
    for step in steps.split():
        pipeline.take(step)
    pipeline.follow()
    for what in ("rows", "ends"):
        pipeline.deliver(what)
        pipeline.run()
    assert pipeline.consumer.rows() == pipeline.database.state
    pipeline.run()
    assert pipeline.consumer.unsettled() == 0
    ends = pipeline.consumer.progress.frontier.offsets[TRANSACTIONS]
    assert ends == len(pipeline.broker.logs[TRANSACTIONS]), "no END waits"
    assert pipeline.consumer.progress.oldest_held == pipeline.consumer.landing + 1
