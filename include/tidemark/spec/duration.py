"""How long something may take, as people write it: a number and its unit."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

_UNITS_MS = {"min": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"([1-9][0-9]{0,4}) ?(min|h|d)")


def _checked(text: str) -> str:
    if _DURATION.fullmatch(text) is None:
        raise ValueError("a number of minutes, hours or days, such as 30 min, 2 h or 1 d")
    return text


def milliseconds(duration: str) -> int:
    """What a `Duration` is in milliseconds.

    >>> milliseconds("30 min"), milliseconds("2h")
    (1800000, 7200000)
    """
    match = _DURATION.fullmatch(duration)
    return int(match[1]) * _UNITS_MS[match[2]] if match else 0


Duration = Annotated[
    str,
    AfterValidator(_checked),
    Field(json_schema_extra={"pattern": f"^{_DURATION.pattern}$"}),
]
