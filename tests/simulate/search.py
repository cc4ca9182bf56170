"""Looks for a history that breaks an invariant, and makes it as short as it can."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.simulate.check import BrokenInvariantError, run_history
from tests.simulate.history import Commit, History
from tests.simulate.shapes import histories


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A short history, and which invariant it breaks."""

    history: History
    broken: str

    def __str__(self) -> str:
        return f"{self.history}\n{self.broken}"


def find(
    number: int, at_seed: int, drawn: st.SearchStrategy[History] | None = None
) -> Counterexample | None:
    """The first of ``number`` histories that breaks something, shortened; None when none does.

    drawn: where they come from, all histories unless told.
    """
    broken = first_broken(number, at_seed, histories() if drawn is None else drawn)
    if broken is None:
        return None
    short = shorten(broken)
    return Counterexample(short, _broken(short))


def first_broken(number: int, at_seed: int, drawn: st.SearchStrategy[History]) -> History | None:
    """The first of ``number`` histories that breaks something, as it was found."""
    broken: list[History] = []

    def search(history: History) -> None:
        if _broken(history):
            broken.append(history)
            raise BrokenInvariantError

    try:
        _each(search, number, at_seed, drawn)
    except BrokenInvariantError:
        return broken[0]
    return None


def searched(number: int, at_seed: int) -> list[History]:
    """The histories that `find` looks at."""
    seen: list[History] = []
    _each(seen.append, number, at_seed, histories())
    return seen


def _each(
    look: Callable[[History], None], number: int, at_seed: int, drawn: st.SearchStrategy[History]
) -> None:
    """Call ``look`` with histories that depend on the seed alone, until it raises."""
    options = settings(
        max_examples=number,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    given_history = given(drawn)

    @seed(at_seed)
    @options
    @given_history
    def visit(history: History) -> None:
        look(history)

    visit()


def shorten(history: History) -> History:
    """Leave out whatever can be left out while something is still broken."""
    for shorter in _shorter(history):
        if _broken(shorter):
            return shorten(shorter)
    return history


def _broken(history: History) -> str:
    try:
        run_history(history)
    except AssertionError as error:  # what the product refuses is a break, too
        return str(error)
    return ""


def _shorter(history: History) -> Iterator[History]:
    steps, before = history.steps, history.before
    for index, step in enumerate(steps):
        yield replace(history, steps=steps[:index] + steps[index + 1 :])
        if isinstance(step, Commit) and len(step.writes) > 1:
            for write in range(len(step.writes)):
                fewer = replace(step, writes=step.writes[:write] + step.writes[write + 1 :])
                yield replace(history, steps=(*steps[:index], fewer, *steps[index + 1 :]))
    for index in range(len(before)):
        yield replace(history, before=before[:index] + before[index + 1 :])
    if history.partitions > 1:
        yield replace(history, partitions=1)
