"""Tables without a key that cannot be followed, as what is sent again could not be told."""

from __future__ import annotations

from collections.abc import Collection

from tidemark.errors import WAITING, TableStoppedError
from tidemark.model.profile import ProfileEntry
from tidemark.spec import SourceSpec, TableSpec


def refuse_untold(
    source: SourceSpec, spec: TableSpec, profile_entries: Collection[ProfileEntry]
) -> None:
    """Raise where the rows of a table without a key could be doubled or lost unseen.

    profile_entries: its row events in the cut.
    """
    if source.format.is_canal:
        return
    if any(profile_entry.without_key < profile_entry.records for profile_entry in profile_entries):
        raise _stopped(
            f"some records of {spec.source} have a key and others have none (KEY_MISMATCH)",
            f"declare key: of {spec.source} in the pipeline file",
        )
    topics = sorted({profile_entry.at.topic for profile_entry in profile_entries})
    if len(topics) > 1:
        raise _stopped(
            f"{spec.source} has no key, and its records come by {len(topics)} topics, among them "
            f"{topics[0]} and {topics[-1]}: rows that a snapshot read are told apart by their "
            "offsets, which are those of one topic",
            "have the connector write the table to one topic, and fold it by a new pipeline",
        )
    if any(profile_entry.chunk_from for profile_entry in profile_entries):
        raise _stopped(
            f"{spec.source} has no key, and rows of an incremental snapshot of it were sent: "
            "it is unknown which of them changed meanwhile",
            "have the connector take a blocking snapshot, and fold the table by a new pipeline",
        )


def _stopped(what: str, next_step: str) -> TableStoppedError:
    return TableStoppedError(
        what,
        state=WAITING,
        next_step=next_step,
    )
