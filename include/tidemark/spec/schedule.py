"""A cron schedule is checked where it is declared, so that one slip does not stop all pipelines."""

from __future__ import annotations

import re
from datetime import date, timedelta
from itertools import pairwise
from typing import Annotated

from pydantic import AfterValidator

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[str, int, int, tuple[str, ...]], ...] = (
    ("a minute", 0, 59, ()),
    ("an hour", 0, 23, ()),
    ("a day of the month", 1, 31, ()),
    ("a month", 1, 12, _MONTHS),
    ("a day of the week", 0, 7, _WEEKDAYS),
)
_ITEM = re.compile(r"(?:\*|(?P<first>\w+)(?:-(?P<last>\w+))?)(?:/(?P<step>[1-9]\d*))?")


def _checked(cron: str) -> str:
    parts = cron.split()
    if len(parts) != len(_FIELDS):
        raise ValueError("five cron fields, such as '*/10 * * * *', or null")
    for text, (unit, low, high, names) in zip(parts, _FIELDS, strict=True):
        if not all(_is_item(item, low, high, names) for item in text.lower().split(",")):
            raise ValueError(f"{unit} from {low} to {high} where it says {text!r}")
    return cron


def _is_item(item: str, low: int, high: int, names: tuple[str, ...]) -> bool:
    match = _ITEM.fullmatch(item)
    if match is None:
        return False
    numbers = [_number(end, low, names) for end in match.group("first", "last") if end]
    return all(low <= number <= high for number in numbers) and numbers == sorted(numbers)


def _number(text: str, low: int, names: tuple[str, ...]) -> int:
    """The number that ``text`` stands for, -1 when it is none."""
    if text in names:
        return names.index(text) + low
    return int(text) if text.isascii() and text.isdigit() else -1


def longest_pause(cron: str) -> int:
    """Seconds between the two runs of ``cron`` that are furthest apart, over `_DAYS` days.

    >>> longest_pause("*/10 * * * *"), longest_pause("0 6,20 * * mon-fri") // 3600
    (600, 58)
    """
    minutes, hours, of_month, months, weekdays = (
        _members(text.lower(), low, high, names)
        for text, (_, low, high, names) in zip(cron.split(), _FIELDS, strict=True)
    )
    any_day = cron.split()[2] == "*" or cron.split()[4] == "*"
    weekdays = {day % 7 for day in weekdays}  # 7 is Sunday, too
    runs = []
    for day in (_FIRST_DAY + timedelta(days=number) for number in range(_DAYS)):
        is_named = (day.day in of_month, day.isoweekday() % 7 in weekdays)
        if day.month in months and (all(is_named) if any_day else any(is_named)):
            start = day.toordinal() * 86_400
            runs += [start + hour * 3600 + minute * 60 for hour in hours for minute in minutes]
    runs.sort()
    return max((later - run for run, later in pairwise(runs)), default=_DAYS * 86_400)


def _members(text: str, low: int, high: int, names: tuple[str, ...]) -> set[int]:
    """The numbers that a field means."""
    members: set[int] = set()
    for item in text.split(","):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise RuntimeError("a schedule was not checked as it was read")
        first = _number(match["first"], low, names) if match["first"] else low
        is_single = match["first"] and not match["last"] and not match["step"]
        last = _number(match["last"], low, names) if match["last"] else high
        members |= set(range(first, (first if is_single else last) + 1, int(match["step"] or 1)))
    return members


_FIRST_DAY = date(2026, 1, 1)
_DAYS = 400
Cron = Annotated[str, AfterValidator(_checked)]
