"""Which topic of a source plays which role; the role fixes how a record is read (MSG-1)."""

from __future__ import annotations

from dataclasses import dataclass

from tidemark.model.names import TopicName


@dataclass(frozen=True, slots=True)
class TopicRoles:
    """Topics by role; what is neither schema changes nor transactions is data."""

    schema_changes: frozenset[TopicName] = frozenset()
    transactions: frozenset[TopicName] = frozenset()
