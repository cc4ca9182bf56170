"""Types that Iceberg does not promote, though a cast loses nothing: the rows are rewritten.

That every value fits is for others to say: of a source that refuses an ``ALTER TABLE`` with a value
that does not fit, or of `schema.type_widening`. Here it is asked whether values that do fit stay
what they are (SCHEMA-13).
"""

from __future__ import annotations

import re

from tidemark.model.columns import SourceColumn

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_CASTS: dict[str, frozenset[str]] = {
    "int": frozenset({"string", "double"}),
    "bigint": frozenset({"string"}),
    "date": frozenset({"string", "timestamp_ntz"}),
}
_WHOLE = ("int", "bigint")


def is_rewritten(was: SourceColumn, now: SourceColumn) -> bool:
    """Whether rows are rewritten as the column ``was`` becomes ``now``, if their values fit.

    Of a BIT with more bytes than before; targets hold as many as the type has (TYPE-23).
    """
    if is_rewrite(was.iceberg, now.iceberg):
        return True
    return was.iceberg == now.iceberg and 0 < was.bit_bytes < now.bit_bytes


def is_rewrite(was: str, now: str) -> bool:
    """Whether a value of the type ``was`` that fits into ``now`` is the same value there.

    Both are types of Iceberg, of which the one is not promoted to the other.

    >>> is_rewrite("decimal(6,2)", "decimal(12,4)"), is_rewrite("decimal(6,2)", "decimal(6,1)")
    (True, False)
    >>> is_rewrite("int", "string"), is_rewrite("string", "int")
    (True, False)
    """
    if now in _CASTS.get(was, ()):
        return True
    before, after = _DECIMAL.fullmatch(was), _DECIMAL.fullmatch(now)
    if before is None:
        return was in _WHOLE and after is not None
    if after is None:
        return now == "string"
    scales, digits = (int(before[2]), int(after[2])), (int(before[1]), int(after[1]))
    is_promoted = scales[0] == scales[1] and digits[0] <= digits[1]
    return scales[0] <= scales[1] and not is_promoted
