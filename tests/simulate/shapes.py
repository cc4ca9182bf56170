"""Draws histories: steps of any kind, and shapes in which what is rare happens often."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from hypothesis import strategies as st

from tests.simulate.history import (
    KEYS,
    TABLES,
    Break,
    Chunk,
    Commit,
    Deliver,
    DeliverAll,
    DeliverBut,
    Expire,
    Flavour,
    Grow,
    History,
    Lose,
    Repeat,
    Restart,
    Rotate,
    Run,
    Snapshot,
    Step,
    Truncate,
    Watermark,
    Write,
)

_small = st.integers(0, 5)
_tables = st.integers(0, len(TABLES) - 1)
_keys = st.integers(0, KEYS - 1)
_writes = st.builds(
    Write, _tables, _keys, st.none() | st.integers(0, 99), st.none() | st.none() | _keys
)
_commits = st.builds(Commit, st.lists(_writes, min_size=1, max_size=4).map(tuple), st.booleans())
_always: tuple[st.SearchStrategy[Step], ...] = (
    *3 * (_commits,),
    *3 * (st.builds(Deliver, _small, st.integers(1, 4)),),
    *3 * (st.builds(DeliverBut, _small),),
    *3 * (st.builds(Run, st.none() | st.integers(1, 12), st.sampled_from((False, False, True))),),
    st.builds(Deliver, _small, st.integers(5, 12)),
    st.builds(DeliverAll),
    st.builds(Truncate, _tables, st.lists(_writes, max_size=2).map(tuple)),
    st.builds(Restart, st.integers(0, 9)),
    st.builds(Repeat, _small, st.integers(0, 12), st.integers(1, 8)),
    st.builds(Repeat, _small, st.integers(0, 3), st.integers(1, 3)),
    st.builds(Grow),
    st.builds(Expire, _small, st.sampled_from((*[0] * 15, 1))),
)
_chunks = st.builds(Chunk, _tables, st.booleans(), st.lists(_writes, max_size=3).map(tuple))
_debezium: tuple[st.SearchStrategy[Step], ...] = (
    *_always,
    st.builds(Rotate, st.booleans()),
    _chunks,
    st.builds(Break, st.integers(0, 9)),
    st.builds(Snapshot),
    st.builds(Snapshot, st.just(True), st.booleans()),
    st.builds(Lose),
)
_ticdc: tuple[st.SearchStrategy[Step], ...] = (*_always, *3 * (st.builds(Watermark),))
_STEPS = {Flavour.TICDC: st.one_of(_ticdc), Flavour.BY_OFFSET: st.one_of(_always)}
_OTHERS = st.one_of(_debezium)
Shape = Callable[[st.SearchStrategy[Step]], st.SearchStrategy[tuple[Step, ...]]]
"""Histories that have something in common, between steps of any kind."""


def histories(
    flavours: Sequence[Flavour] = tuple(Flavour), shape: Shape | None = None
) -> st.SearchStrategy[History]:
    """Histories of one of ``flavours``; shape: in what they all have, any when it is None."""

    def of(flavour: Flavour) -> st.SearchStrategy[History]:
        steps = _STEPS.get(flavour, _OTHERS)
        return _history(flavour, shape(steps) if shape else _any_shape(flavour, steps))

    return st.sampled_from(flavours).flatmap(of)


_UNGATED = (Flavour.MYSQL_UNGATED, Flavour.POSTGRES_UNGATED)
_BY_TRANSACTION = (Flavour.MYSQL, Flavour.MARIADB, Flavour.POSTGRES)
_wide_commits = st.builds(
    Commit, st.tuples(*(st.builds(Write, st.just(n), _keys, st.integers(0, 99)) for n in (0, 1)))
)
_large_commits = st.builds(Commit, st.lists(_writes, min_size=2, max_size=5).map(tuple))
_small_runs = st.builds(Run, st.integers(1, 3), st.sampled_from((False, False, False, True)))


def _joined(*parts: st.SearchStrategy[list[Step]]) -> st.SearchStrategy[tuple[Step, ...]]:
    return st.tuples(*parts).map(lambda found: tuple(chain.from_iterable(found)))


def moving(steps: st.SearchStrategy[Step]) -> st.SearchStrategy[tuple[Step, ...]]:
    """Keys move while runs read less than there is, between ``steps`` of any kind."""
    return _joined(
        st.lists(steps, max_size=15),
        st.lists(_commits, min_size=1, max_size=5),
        st.just([DeliverAll(), Grow()]),
        st.lists(_commits, min_size=1, max_size=5),
        st.just([DeliverAll()]),
        st.lists(_small_runs | _small_runs | steps, min_size=2, max_size=12),
        st.lists(steps, max_size=10),
    )


def torn(steps: st.SearchStrategy[Step]) -> st.SearchStrategy[tuple[Step, ...]]:
    """A transaction is read in part, and a stretch of it twice, between ``steps`` of any kind."""
    return _joined(
        st.lists(steps, max_size=12),
        st.just([DeliverAll(), Run(), Run()]),
        st.lists(_large_commits, min_size=1, max_size=2),
        st.builds(DeliverBut, _small).map(lambda step: [step]),
        st.lists(st.builds(Repeat, _small, st.integers(0, 2), st.integers(1, 2)), max_size=2),
        st.just([Run()]),
        st.lists(steps, max_size=10),
    )


def capped(steps: st.SearchStrategy[Step]) -> st.SearchStrategy[tuple[Step, ...]]:
    """A run is capped where a transaction may be, and again in silence, between any ``steps``."""
    return _joined(
        st.lists(steps, max_size=12),
        st.lists(_large_commits, min_size=1, max_size=3),
        st.just([DeliverAll()]),
        st.lists(st.builds(Run, back=_small), min_size=1, max_size=3),
        st.lists(steps, max_size=10),
    )


def ended(steps: st.SearchStrategy[Step]) -> st.SearchStrategy[tuple[Step, ...]]:
    """Cuts end at statements, which may stand inside of transactions, between any ``steps``."""
    back = st.integers(0, 12)
    ends = st.builds(Run, st.none(), st.booleans(), back=back, ends_there=st.just(True))
    return _joined(
        st.lists(steps, max_size=8),
        st.lists(_large_commits | _wide_commits, min_size=1, max_size=3),
        (st.builds(DeliverBut, _small) | st.just(DeliverAll())).map(lambda step: [step]),
        st.lists(ends | ends | st.just(Run()), min_size=1, max_size=3),
        st.lists(steps | ends, max_size=14),
    )


def begun(steps: st.SearchStrategy[Step]) -> st.SearchStrategy[tuple[Step, ...]]:
    """A snapshot is read in part, and may break off, before ``steps`` of any kind."""
    breaks: st.SearchStrategy[Step] = st.builds(Restart, st.integers(0, 9))
    return _joined(
        st.just([]) | _wide_commits.map(lambda commit: [commit, DeliverAll(), Run(), Lose()]),
        st.lists(st.builds(Deliver, _small, st.integers(1, 3)), max_size=2),
        st.lists(_commits | st.builds(Truncate, _tables), min_size=1, max_size=3),
        (st.builds(DeliverBut, _small) | breaks).map(lambda step: [step]),
        st.just([Run()]),
        st.lists(steps, max_size=20),
    )


def lost(steps: st.SearchStrategy[Step]) -> st.SearchStrategy[tuple[Step, ...]]:
    """A transaction is sent in part when its connector starts over; no later one is complete."""
    return _joined(
        _wide_commits.map(lambda commit: [commit, DeliverAll(), Run()]),
        st.lists(_large_commits, min_size=1, max_size=2),
        st.builds(DeliverBut, _small).map(lambda step: [step, Lose(), DeliverAll(), Run()]),
        st.lists(_large_commits, min_size=1, max_size=2),
        st.lists(st.builds(Deliver, _small, st.integers(1, 2)), min_size=1, max_size=2),
        st.just([Run()]),
        st.lists(steps, max_size=8),
    )


def lagging(steps: st.SearchStrategy[Step]) -> st.SearchStrategy[tuple[Step, ...]]:
    """A partition has neither the newest commits nor the watermark that the others have."""
    return _joined(
        st.just([]) | st.lists(steps, max_size=12).map(lambda s: [*s, Watermark(), DeliverAll()]),
        st.lists(_commits | st.builds(Truncate, _tables), min_size=1, max_size=3),
        st.builds(DeliverBut, _small).map(lambda step: [Watermark(), step, Run()]),
        st.lists(steps, max_size=10),
    )


def resnapshot(steps: st.SearchStrategy[Step]) -> st.SearchStrategy[tuple[Step, ...]]:
    """Tables are read chunk by chunk under load, truncated, and by a connector that dies."""
    truncates = st.builds(Truncate, _tables, st.lists(_writes, max_size=2).map(tuple))
    breaks = st.builds(Break, st.integers(0, 9)) | st.builds(Restart, st.integers(0, 9))
    return _joined(
        st.lists(steps, max_size=8),
        st.lists(_commits | _chunks, max_size=3),
        st.lists(truncates, max_size=1),
        st.lists(_commits | _chunks, min_size=1, max_size=4),
        st.lists(breaks | st.builds(DeliverBut, _small), max_size=2),
        st.lists(_commits | _chunks | st.just(DeliverAll()), min_size=1, max_size=4),
        st.just([Run()]),
        st.lists(steps, max_size=8),
    )


def emptied(steps: st.SearchStrategy[Step]) -> st.SearchStrategy[tuple[Step, ...]]:
    """A table is read by a snapshot and emptied before anybody runs, between any ``steps``."""
    empty = st.builds(Chunk, _tables, truncated=st.just(True)) | st.builds(Truncate, _tables)
    return _joined(
        st.lists(steps, max_size=6),
        st.lists(_commits, min_size=1, max_size=2),
        st.just([DeliverAll(), Run(), Snapshot()]),
        st.lists(empty, min_size=1, max_size=2),
        st.just([DeliverAll(), Run()]),
        st.lists(steps, max_size=6),
    )


def overtaken(steps: st.SearchStrategy[Step]) -> st.SearchStrategy[tuple[Step, ...]]:
    """A snapshot is ahead of commits, which are read in pieces behind it, between any ``steps``."""
    ahead = st.builds(Snapshot, st.just(True), st.booleans())
    piece: st.SearchStrategy[Step] = st.builds(Deliver, _small, st.integers(1, 4))
    return _joined(
        st.lists(steps, max_size=8).map(lambda s: [*s, DeliverAll(), Run()]),
        st.lists(_commits, min_size=1, max_size=4),
        ahead.map(lambda step: [step]),
        st.lists(piece | st.just(Run()) | st.builds(Restart, _small), min_size=2, max_size=8),
        st.lists(steps, max_size=8),
    )


def _any_shape(
    flavour: Flavour, steps: st.SearchStrategy[Step]
) -> st.SearchStrategy[tuple[Step, ...]]:
    any_steps = st.lists(steps, min_size=10, max_size=40).map(tuple)
    if flavour in _UNGATED:
        steady = any_steps | moving(steps) | resnapshot(steps)
        return steady | emptied(steps) | overtaken(steps)
    if flavour is Flavour.TICDC:
        return any_steps | lagging(steps)
    if flavour in _BY_TRANSACTION:
        steady = any_steps | torn(steps) | begun(steps)
        return steady | lost(steps) | resnapshot(steps) | overtaken(steps)
    return any_steps


def _history(
    flavour: Flavour, steps: st.SearchStrategy[tuple[Step, ...]]
) -> st.SearchStrategy[History]:
    return st.builds(
        History,
        st.just(flavour),
        st.integers(1, 3),
        st.lists(_commits | _wide_commits, max_size=3).map(tuple),
        steps,
        st.booleans(),
    )
