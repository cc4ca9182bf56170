"""Documents that are almost right: some of their parts taken out, doubled, moved or replaced."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any, Protocol

HOSTILE: Sequence[Any] = (
    *(None, True, False, 0, -1, 1, 38, 65, 2**31, 2**63, 10**30, 0.5, -1e308, "", " ", "0", "-1"),
    *("null", "x" * 300, "a.b", "..", "/", "`", '"', "\0", "☕", "\ud800", "９", "1e5", "٣"),
    *([], {}, [None], [[]], {"": None}, [{}], {"type": "struct"}, "string", "int32", "bytes"),
    *("array", "map", "struct", "union", "record", "enum", "fixed", "null", "int", "decimal(1,2)"),
)
MOST_EDITS = 4


class Chances(Protocol):
    """What decides; atheris' FuzzedDataProvider."""

    def ConsumeIntInRange(self, low: int, high: int) -> int:  # noqa: N802  its own name
        """A number from ``low`` to ``high``."""
        ...


def edited(seeds: Sequence[str], chances: Chances) -> Any:
    """One of the documents ``seeds`` after a few edits."""
    document = json.loads(_chosen(seeds, chances))
    for _ in range(chances.ConsumeIntInRange(0, MOST_EDITS)):
        _edit(document, chances)
    return document


def _chosen(options: Sequence[Any], chances: Chances) -> Any:
    return options[chances.ConsumeIntInRange(0, len(options) - 1)]


def _edit(document: Any, chances: Chances) -> None:
    """Walk down some way, and change what is found there."""
    inner = document
    while True:
        places = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
        if not places:
            return
        place = _chosen(places, chances)
        below = inner[place]
        if not isinstance(below, dict | list) or chances.ConsumeIntInRange(0, 7) == 0:
            break
        inner = below
    _EDITS[chances.ConsumeIntInRange(0, len(_EDITS) - 1)](inner, place, chances)


def _replaced(inner: Any, place: Any, chances: Chances) -> None:
    inner[place] = copy.deepcopy(_chosen(HOSTILE, chances))


def _removed(inner: Any, place: Any, _chances: Chances) -> None:
    del inner[place]


def _wrapped(inner: Any, place: Any, _chances: Chances) -> None:
    inner[place] = [inner[place]]


def _doubled(inner: Any, place: Any, _chances: Chances) -> None:
    if isinstance(inner, list):
        inner.append(copy.deepcopy(inner[place]))
    else:
        inner[f"{place}2"] = copy.deepcopy(inner[place])


def _renamed(inner: Any, place: Any, chances: Chances) -> None:
    if isinstance(inner, dict):
        inner[str(_chosen(HOSTILE, chances))] = inner.pop(place)


_EDITS: Sequence[Callable[[Any, Any, Chances], None]] = (
    *(_replaced, _replaced, _removed, _wrapped, _doubled, _renamed),
)
