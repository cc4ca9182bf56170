"""Whether a source's log has begun anew: then old and new positions cannot be compared (POS-16).

After a fail-over, or a restore from a backup, positions may fall. What comes then looks like a
repeat of what is published, and would be dropped as one; but a repeat is never newer than all that
is published.
"""

from __future__ import annotations

from collections.abc import Collection

from tidemark.model.cut import GateMode
from tidemark.model.progress import Progress
from tidemark.model.survey import Group
from tidemark.model.zone import Zone


def suspects(progress: Progress, mode: GateMode, groups: Collection[Group]) -> list[Group]:
    """The groups whose changes stand below what is published, and are newer than all of it.

    With gate ``watermark`` a commitTs is a time itself, so none can be.
    """
    if mode is GateMode.WATERMARK or not progress.newest_ms:
        return []
    return [
        group
        for group in groups
        if group.zone is Zone.LATE
        and group.is_new
        and group.is_change
        and (group.newest_ms or 0) > progress.newest_ms
    ]
