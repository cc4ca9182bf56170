"""Tables without a key that cannot be followed, as copies of their changes are not known."""

from __future__ import annotations

from collections.abc import Collection

from tidemark.errors import WAITING, TableStoppedError
from tidemark.model.position import Position, place_of
from tidemark.model.profile import ProfileEntry
from tidemark.spec import SourceSpec, TableSpec


def refuse_without_identity(
    source: SourceSpec, spec: TableSpec, profile_entries: Collection[ProfileEntry]
) -> None:
    """Raise where the rows of a table without a key could be doubled or lost unseen (POS-14).

    profile_entries: its row events in the cut. What was streamed at a log coordinate may come by
    several topics, as it does after RENAME TABLE.
    """
    if source.format.is_canal:
        return
    if any(profile_entry.without_key < profile_entry.records for profile_entry in profile_entries):
        raise _stopped(
            f"some records of {spec.source} have a key and others have none (KEY_MISMATCH)",
            f"declare key: of {spec.source} in the pipeline file",
        )
    topics = sorted({entry.at.topic for entry in profile_entries if _is_known_by_offset(entry)})
    if len(topics) > 1:
        raise _stopped(
            f"{spec.source} has no key, and {len(topics)} topics have rows of it without a log "
            f"coordinate of their own, among them {topics[0]} and {topics[-1]}: such rows are "
            "identified by their offsets, which are those of one topic",
            "have the connector write the table to one topic, and fold it by a new pipeline",
        )
    if any(profile_entry.chunk_from for profile_entry in profile_entries):
        raise _stopped(
            f"{spec.source} has no key, and rows of an incremental snapshot of it were sent: "
            "it is unknown which of them changed meanwhile",
            "have the connector take a blocking snapshot, and fold the table by a new pipeline",
        )


def _is_known_by_offset(entry: ProfileEntry) -> bool:
    """Whether some of its rows were read by a snapshot, or the source has no positions."""
    return entry.read_at is not None or place_of(entry.highest or Position("")) is None


def _stopped(what: str, next_step: str) -> TableStoppedError:
    return TableStoppedError(
        what,
        state=WAITING,
        next_step=next_step,
    )
