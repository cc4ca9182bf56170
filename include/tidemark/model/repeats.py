"""Which repeats a cut may tell by the place that their partition had settled (POS-20)."""

from __future__ import annotations

from tidemark.model.cut import GateMode
from tidemark.model.zone import NEW_NEXT, REACHED


def told_below(mode: GateMode) -> str:
    """SQL for what stands in REACHED beside a changelog row.

    With gate ``none`` a repeat above the cut waits like everything there: if it were told already,
    each cut that leaves it above would count it again (ACC-1).
    """
    if mode is GateMode.NONE:
        return f"CASE WHEN offset < {NEW_NEXT} THEN {REACHED} ELSE '' END"
    return REACHED
