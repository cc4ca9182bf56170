"""Tables whose rows are ordered by offsets, and which come by another topic than before."""

from __future__ import annotations

from collections.abc import Collection

from tidemark.errors import WAITING, TableStoppedError
from tidemark.model.event import Kind
from tidemark.model.names import TopicName
from tidemark.model.position import Position, place_of
from tidemark.model.profile import ProfileEntry
from tidemark.spec import TableSpec


def topics_by_offset(profile_entries: Collection[ProfileEntry]) -> list[TopicName]:
    """The topics that have rows among ``profile_entries`` which offsets alone order."""
    return sorted(
        {
            entry.at.topic
            for entry in profile_entries
            if entry.kind is Kind.ROW and entry.highest and _is_offset(entry.highest)
        }
    )


def refuse_other_topic(
    spec: TableSpec,
    profile_entries: Collection[ProfileEntry],
    before: TopicName | None,
    statement_topics: Collection[TopicName] = (),
) -> None:
    """Raise where offsets of two topics would have to order the changes of a table (POS-11).

    profile_entries: its row events in the cut. before: the topic of those of earlier cuts.
    statement_topics: of statements about it that offsets order. A change of another topic would be
    taken for an older one, and be lost; a truncate would remove too many rows or too few.
    """
    topics = sorted({*topics_by_offset(profile_entries), *([before] if before else [])})
    if len(topics) > 1:
        raise TableStoppedError(
            f"topics {topics[0]} and {topics[-1]} have rows of {spec.source}, and without "
            "positions only the offsets of a single topic order its changes (POS-11)",
            state=WAITING,
            next_step="have the writer send the table to a single topic, and fold it by a new "
            "pipeline from a new snapshot of the source",
        )
    others = sorted({*statement_topics} - {*topics})
    if topics and others:
        raise TableStoppedError(
            f"topic {others[0]} has a statement about {spec.source}, whose rows come by topic "
            f"{topics[0]}, and without positions only the offsets of a single topic order its "
            "changes (POS-11)",
            state=WAITING,
            next_step="have the writer send statements to the topic of their table, and fold it by "
            "a new pipeline from a new snapshot of the source",
        )


def _is_offset(position: Position) -> bool:
    return place_of(position) is None
