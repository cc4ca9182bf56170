"""Times and numbers as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def now_ms() -> int:
    """The clock, to tell ages; nothing is decided by it."""
    return int(datetime.now(UTC).timestamp() * 1000)


def clock(at_ms: int) -> str:
    """A moment in UTC.

    >>> clock(1_767_225_600_000)
    '2026-01-01 00:00:00'
    """
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def age(at_ms: int, now: int) -> str:
    """How long ago a moment is, in its largest unit.

    >>> age(0, 59_000), age(0, 61_000), age(0, 7_300_000)
    ('59 s', '1 min', '2 h')
    """
    seconds = max(0, now - at_ms) // 1000
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def moment(at_ms: int, now: int) -> str:
    """A moment in UTC and how long ago it is.

    >>> moment(1_767_225_600_000, 1_767_225_660_000)
    '2026-01-01 00:00:00 UTC, 1 min ago'
    """
    return f"{clock(at_ms)} UTC, {age(at_ms, now)} ago"


def plural(number: int, noun: str) -> str:
    """A count with its noun.

    >>> plural(1, "offset"), plural(1200, "offset")
    ('1 offset', '1,200 offsets')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
