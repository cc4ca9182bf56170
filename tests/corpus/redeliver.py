"""At-least-once delivery: stretches that a partition already has are sent once more."""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterator, Sequence

from tests.corpus.cases import Record
from tests.corpus.source import envelope_of, moment_of

LONGEST = 50
SHARE = 0.15


def with_repeats(
    lines: Sequence[tuple[Record, ...]], rng: random.Random, *, to_newest: bool
) -> tuple[tuple[Record, ...], ...]:
    """``lines`` with repeats after some of them, always after the last.

    A repeat is a contiguous stretch of one partition, in order. to_newest: it runs to the newest
    record of the partition, as it does when a producer goes back and starts again; without
    positions nothing else could be told from new changes. It is taken from what was sent first: a
    stretch of repeats would grow with each of them where all have one position.
    """
    sent: dict[tuple[str, int], list[Record]] = {}
    repeated: list[tuple[Record, ...]] = []
    for number, line in enumerate(lines, start=1):
        for record in line:
            sent.setdefault((record.topic, record.partition), []).append(record)
        extra: Sequence[Record] = ()
        if number == len(lines) or rng.random() < SHARE:
            extra = stretch(sent[rng.choice(sorted(sent))], rng, to_newest=to_newest)
        repeated.append((*line, *extra))
    return tuple(repeated)


def stretch(
    partition: Sequence[Record], rng: random.Random, *, to_newest: bool
) -> Sequence[Record]:
    """A contiguous stretch of ``partition``, at most so long that a run stays short.

    It never ends inside one event of the source's log: a connector sends such an event whole.
    """
    newest = len(partition)
    length = rng.randint(1, min(newest, LONGEST))
    start = newest - length if to_newest else rng.randint(0, newest - length)
    end = start + length
    moments = list(_moments(partition))
    while end < newest and moments[end] is not None and moments[end] == moments[end - 1]:
        end += 1
    return partition[start:end]


def _moments(partition: Sequence[Record]) -> Iterator[Hashable]:
    """Position of each record; a tombstone stands where its delete does."""
    moment: Hashable = None
    for record in partition:
        if record.value is not None:
            moment = moment_of(envelope_of(record))
        yield moment
