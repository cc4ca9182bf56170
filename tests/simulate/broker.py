"""A model Kafka: partitions that take records in the order in which they were sent to each."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.simulate.connector import TRANSACTIONS, Connector, Record
from tidemark.model.offsets import TopicPartition


@dataclass(slots=True)
class Broker:
    """What consumers can read, by partition."""

    logs: dict[TopicPartition, list[Record]] = field(default_factory=dict)

    def deliver(self, connector: Connector, index: int, records: int) -> None:
        """Take records of one partition; ``index`` counts those that have any waiting."""
        waiting = sorted(place for place, queue in connector.queues.items() if queue)
        if waiting:
            place = waiting[index % len(waiting)]
            for _ in range(min(records, len(connector.queues[place]))):
                self._take(connector, place)

    def deliver_but(self, connector: Connector, index: int) -> None:
        """Take everything but the records of one partition, counted like those of `deliver`."""
        waiting = sorted(place for place, queue in connector.queues.items() if queue)
        for number, place in enumerate(waiting):
            if number != index % len(waiting):
                self._take_all(connector, place)

    def deliver_all(self, connector: Connector) -> None:
        """Take everything."""
        for place in sorted(connector.queues):
            self._take_all(connector, place)

    def _take_all(self, connector: Connector, place: TopicPartition) -> None:
        while connector.queues[place]:
            self._take(connector, place)

    def repeat(self, index: int, start: int, records: int) -> None:
        """A stretch of one partition comes again; ``start`` counts back from its newest record."""
        places = sorted(place for place, log in self.logs.items() if log)
        if places:
            log = self.logs[places[index % len(places)]]
            first = len(log) - 1 - start % len(log)
            log.extend(log[first : first + records])

    def _take(self, connector: Connector, place: TopicPartition) -> None:
        record = connector.queues[place].popleft()
        if place == TRANSACTIONS:
            self._take_outside(connector, record.event)
        self.logs.setdefault(place, []).append(record)

    def _take_outside(self, connector: Connector, event: int) -> None:
        """What no END counts is there before a later boundary: nothing else could prove it."""
        for place, queue in connector.queues.items():
            if place == TRANSACTIONS:
                continue
            last = max(
                (n for n, r in enumerate(queue) if r.outside and r.event < event), default=-1
            )
            for _ in range(last + 1):
                self.logs.setdefault(place, []).append(queue.popleft())
