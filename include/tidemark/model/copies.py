"""Copies of the change that was settled last of a key, as SQL expressions (POS-20).

Of what stands where the newest settled change of a partition does, nothing tells by its position
alone whether it came before: the rows of one event share a log coordinate, and so do both halves of
a key change. But a log holds no change twice in a row of one key. So what does the same as the
newest settled change of its key there, with no other change of that key before it, is a copy.

A row of an incremental snapshot may stand beside what was streamed, and what the log holds of its
key there is not what a chunk holds: so it is a copy of such rows alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidemark.model.position import OFFSET_DIGITS

_KEY = "PARTITION BY topic, partition, row_key, snapshot IS NULL"
_SO_FAR = "ORDER BY offset ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_SETTLED = f"CASE WHEN in_cut THEN NULL ELSE printf('%0{OFFSET_DIGITS}X', offset) || effect END"

COPIES: tuple[Mapping[str, str], ...] = (
    {"newest": f"substr(max({_SETTLED}) OVER ({_KEY}), {OFFSET_DIGITS + 1})"},
    {"differs": "CASE WHEN NOT in_cut OR newest = effect THEN 0 ELSE 1 END"},
    {"is_copy": f"in_cut AND max(differs) OVER ({_KEY} {_SO_FAR}) = 0"},
)
"""Columns to add to changes one after the other, the last one ``is_copy``.

In: the changes at the newest settled place of their partition, and rows that were read beside it:
those that are settled, and those of a cut, which are ``in_cut``. effect: what a change does, its
op and its row, as text.
"""
