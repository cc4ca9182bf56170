"""Where truncates and new snapshots ended rows that their target keeps (TRUNC-12, SNAP-6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidemark.model.position import Position


@dataclass(frozen=True, order=True, slots=True)
class End:
    """What stood below ``position`` ended there; micros: the source's time of it, None if untold.

    Microseconds since 1970.
    """

    position: Position
    micros: int | None = None

    @property
    def place(self) -> str:
        """``position`` as SQL."""
        return f"'{self.position}'"

    @property
    def time(self) -> str:
        """The time as SQL."""
        return f"timestamp_micros({'NULL' if self.micros is None else self.micros})"


def first_end(position: str, ends: Sequence[End], sql_of: Callable[[End], str]) -> str:
    """What ``sql_of`` says of the first of ``ends`` above ``position``, as SQL; null above all.

    position: SQL; what has none stands below all (TRUNC-11). ends: one at least, in order.

    >>> first_end("p", [End(Position("0A")), End(Position("0B"))], lambda end: end.place)
    "CASE WHEN coalesce(p, '') < '0A' THEN '0A' WHEN coalesce(p, '') < '0B' THEN '0B' END"
    """
    at = f"coalesce({position}, '')"
    cases = "".join(f"WHEN {at} < {end.place} THEN {sql_of(end)} " for end in ends)
    return f"CASE {cases}END"
