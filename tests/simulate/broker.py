"""A model Kafka: partitions that take records in the order in which they were sent to each."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from tests.simulate.connector import TRANSACTIONS, Connector, Record
from tidemark.model.offsets import OffsetRange, TopicPartition


@dataclass(slots=True)
class Broker:
    """What was written, by partition; consumers can read it from ``starts`` on."""

    logs: dict[TopicPartition, list[Record]] = field(default_factory=dict)
    forgotten: dict[TopicPartition, int] = field(default_factory=dict)
    starts: dict[TopicPartition, int] = field(default_factory=dict)
    taken: int = 0

    def reach(self, place: TopicPartition) -> OffsetRange:
        """What consumers can read of a partition."""
        return OffsetRange(self.starts.get(place, 0), len(self.logs.get(place, ())))

    def expire(self, place: TopicPartition, before: int) -> None:
        """Retention deletes the records before an offset, as far as there are any."""
        reach = self.reach(place)
        self.starts[place] = max(reach.start, min(before, reach.end))

    def deliver(self, connector: Connector, index: int, records: int) -> None:
        """Take records of one partition; ``index`` counts those that have any waiting."""
        waiting = sorted(place for place, queue in connector.queues.items() if queue)
        if waiting:
            self.deliver_first(connector, waiting[index % len(waiting)], records)

    def deliver_first(self, connector: Connector, place: TopicPartition, records: int) -> None:
        """Take the first records of a partition, as far as there are so many."""
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

    def repeat(self, index: int, start: int, records: int, *, reads_moved: bool) -> None:
        """A stretch of one partition comes again; ``start`` counts back from its newest record.

        reads_moved: also rows of a snapshot from before keys moved to other partitions.
        """
        known = {place: log[self.forgotten.get(place, 0) :] for place, log in self.logs.items()}
        places = sorted(place for place, log in known.items() if log)
        if places:
            place = places[index % len(places)]
            widest = max(o.width for p in places if p.topic == place.topic for o in self.logs[p])
            first = len(known[place]) - 1 - start % len(known[place])
            for record in known[place][first : first + records]:
                if reads_moved or not record.is_read or record.width == widest:
                    self._append(place, record)

    def forget(self) -> None:
        """What is there comes never again."""
        self.forgotten = {place: len(log) for place, log in self.logs.items()}

    def _take(self, connector: Connector, place: TopicPartition) -> None:
        record = connector.queues[place].popleft()
        for other, queue in connector.queues.items():
            if other not in (place, TRANSACTIONS):
                self._take_outside(other, queue, record)
                self._take_narrower(other, queue, record)
        self._append(place, record)

    def _append(self, place: TopicPartition, record: Record) -> None:
        self.taken += 1
        self.logs.setdefault(place, []).append(replace(record, time=self.taken))

    def _take_narrower(self, place: TopicPartition, queue: deque[Record], before: Record) -> None:
        """What was sent before the producer knew of a partition is there before what was after."""
        while queue and place.topic == before.at.topic and queue[0].width < before.width:
            self._append(place, queue.popleft())

    def _take_outside(self, place: TopicPartition, queue: deque[Record], before: Record) -> None:
        """What nothing counts is there before a later boundary: nothing else could prove it.

        The first row of a snapshot is there before everything that is streamed behind it.
        """
        is_boundary = before.at == TRANSACTIONS
        wanted = (
            number
            for number, record in enumerate(queue)
            if record.outside
            and record.event < before.event
            and (is_boundary or (record.is_read and not before.is_read))
        )
        for _ in range(max(wanted, default=-1) + 1):
            self._append(place, queue.popleft())
