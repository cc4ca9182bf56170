"""Partitions that were added to a topic: keys moved, so its older partitions come first (TOP-3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidemark.model.names import TopicName
from tidemark.model.offsets import Offsets, offsets_from_json, offsets_to_json


@dataclass(frozen=True, slots=True)
class PartitionExpansion:
    """Where keys of one topic moved between its partitions.

    before: per partition that was there, how far it was landed while the added ones were unknown;
    no key had moved below. ends: where it ended when an added one first held records, or at the
    newest landing while none does; all that was sent before keys moved is below. A topic that was
    not read to its end when it was first seen may have grown before that: of it, before is 0.
    """

    before: Offsets
    ends: Offsets


PartitionExpansions = Mapping[TopicName, PartitionExpansion]


def expansions_to_json(expansions: PartitionExpansions) -> dict[str, Any]:
    """As kept in the summary of a changelog snapshot."""
    return {
        topic: {
            "before": offsets_to_json(expansion.before),
            "ends": offsets_to_json(expansion.ends),
        }
        for topic, expansion in sorted(expansions.items())
    }


def expansions_from_json(stored: Mapping[str, Any]) -> dict[TopicName, PartitionExpansion]:
    """The reverse of `expansions_to_json`."""
    return {
        TopicName(topic): PartitionExpansion(
            offsets_from_json(expansion["before"]), offsets_from_json(expansion["ends"])
        )
        for topic, expansion in stored.items()
    }
