"""A cron schedule is checked where it is declared, so that one slip does not stop all pipelines."""

from __future__ import annotations

import re
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


Cron = Annotated[str, AfterValidator(_checked)]
