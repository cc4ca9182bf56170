"""Whether a source's log has started over: then old and new positions cannot be compared (POS-16).

After a fail-over, or a restore from a backup, positions may fall. What comes then looks like a
repeat of what is published, and would be dropped as one; but a repeat is never newer than all that
is published.
"""

from __future__ import annotations

from collections.abc import Collection

from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.cut import GateMode
from tidemark.model.profile import ProfileEntry
from tidemark.model.progress import Progress


def suspects(
    progress: Progress, mode: GateMode, profile_entries: Collection[ProfileEntry]
) -> list[ProfileEntry]:
    """The groups whose changes stand below what is published, and are newer than all of it.

    With gate ``watermark`` a commitTs is a time itself, so none can be.
    """
    if mode is GateMode.WATERMARK or not progress.newest_ms:
        return []
    return [
        profile_entry
        for profile_entry in profile_entries
        if profile_entry.status is CheckpointStatus.DUPLICATE
        and profile_entry.is_new
        and profile_entry.is_change
        and (profile_entry.newest_ms or 0) > progress.newest_ms
    ]
