"""Questions that a cut asks its changelog, in SQL that any engine answers alike.

They are texts and not code of one engine, so that the rules inside them can be tried out without
a cluster, on millions of records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidemark.model.position import OFFSET_DIGITS

PLACE = f"substr(position, 1, length(position) - {OFFSET_DIGITS})"
"""A position without its offset: what two copies of one event share (POS-13)."""


@dataclass(frozen=True, slots=True)
class Summary:
    """One row per group of changelog rows.

    keys, figures: name -> SQL expression over a changelog row, over a group of them. where: which
    rows take part.
    """

    keys: Mapping[str, str]
    figures: Mapping[str, str]
    where: str = "TRUE"


def listed(texts: tuple[str, ...]) -> str:
    """Words of our own as a list for IN; never names from a topic."""
    return ", ".join(f"'{text}'" for text in texts)
