"""A table's log of changes, and in plain Python what each target mode keeps of it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

EVENT = re.compile(r"([udt])(\d*)@(\d+)(?:=(\w+))?")
START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Logged:
    """One event of the log: ``u`` makes row ``key`` hold ``value``, ``d`` ends it, ``t`` ends all.

    The two halves of a change of key stand at one place.
    """

    op: str
    key: int
    place: int
    value: str = ""

    @property
    def at(self) -> datetime:
        """The source's time of it."""
        return time_of(self.place)


def time_of(place: int) -> datetime:
    return START + timedelta(seconds=place)


def logged(events: str) -> list[Logged]:
    """``u1@20=b`` makes row 1 hold b, ``d1@20`` ends it, ``t@20`` truncates."""
    found = []
    for text in events.split():
        match = EVENT.fullmatch(text)
        assert match is not None, text
        op, key, place, value = match.groups()
        found.append(Logged(op, int(key or 0), int(place), value or ""))
    return found


def random_log(rng: random.Random, length: int, keys: int = 6) -> list[Logged]:
    """A history of a table: inserts, updates, deletes, changes of keys, truncates."""
    log: list[Logged] = []
    alive: set[int] = set()
    while len(log) < length:
        place, value = 10 * len(log) + 10, f"v{rng.randrange(4)}"
        free = sorted(set(range(1, keys + 1)) - alive)
        if rng.random() < 0.08:
            log.append(Logged("t", 0, place))
            alive.clear()
        elif alive and rng.random() < 0.2:
            log.append(Logged("d", gone := rng.choice(sorted(alive)), place))
            alive.discard(gone)
        elif alive and free and rng.random() < 0.2:
            old, new = rng.choice(sorted(alive)), rng.choice(free)
            log += [Logged("d", old, place), Logged("u", new, place, value)]
            alive ^= {old, new}
        else:
            key = rng.randint(1, keys)
            log.append(Logged("u", key, place, value))
            alive.add(key)
    return log


def delivered(rng: random.Random, log: Sequence[Logged]) -> Iterator[tuple[list[Logged], int]]:
    """What comes batch by batch, stretches of it again, and how much of the log is there then."""
    at = furthest = 0
    while furthest < len(log):
        batch: list[Logged] = []
        for _ in range(rng.randint(1, 2)):
            step = rng.randint(2, 9)
            batch += log[at : at + step]
            at = min(at + step, len(log))
            furthest = max(furthest, at)
            at = max(0, at - rng.randint(1, 12)) if rng.random() < 0.4 else at
        yield batch, furthest


def soft_deleted(log: Sequence[Logged]) -> dict[int, tuple[str, datetime | None]]:
    """Key -> its last value, and since when it is gone."""
    rows: dict[int, tuple[str, datetime | None]] = {}
    for event in log:
        if event.op == "u":
            rows[event.key] = (event.value, None)
        ended = rows if event.op == "t" else {event.key} & rows.keys()
        for key in ended if event.op != "u" else ():
            value, gone = rows[key]
            rows[key] = (value, gone or event.at)
    return rows


Version = tuple[int, str, datetime, datetime | None]


def versions(log: Sequence[Logged]) -> list[Version]:
    """Key, value, from when and to when, of every version."""
    closed: list[Version] = []
    alive: dict[int, Logged] = {}
    for event in log:
        for key in sorted(alive) if event.op == "t" else [event.key]:
            if begun := alive.pop(key, None):
                closed.append((key, begun.value, begun.at, event.at))
        if event.op == "u":
            alive[event.key] = event
    return sorted([*closed, *((key, e.value, e.at, None) for key, e in alive.items())], key=str)


WORDS = {"u": "upsert", "d": "delete", "t": "truncate"}


def changes(log: Sequence[Logged]) -> list[tuple[str, int | None, str | None, datetime]]:
    """What happened, to which key, the value that it got, and when."""
    return sorted(
        (
            (WORDS[e.op], None if e.op == "t" else e.key, e.value if e.op == "u" else None, e.at)
            for e in log
        ),
        key=str,
    )
