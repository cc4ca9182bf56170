"""Partitions that were added to a topic: keys moved, so its older partitions come first (TOP-3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidemark.model.names import TopicName
from tidemark.model.offsets import Offsets, offsets_from_json, offsets_to_json


@dataclass(frozen=True, slots=True)
class Growth:
    """Where keys of one topic moved between its partitions.

    before: per partition that was there, how far it was landed while the added ones were unknown;
    no key had moved below. ends: where it ended when an added one first held records, or at the
    newest landing while none does; all that was sent before keys moved is below. A topic that was
    not read to its end when it was first seen may have grown before that: of it, before is 0.
    """

    before: Offsets
    ends: Offsets


Growths = Mapping[TopicName, Growth]


def growths_to_json(growths: Growths) -> dict[str, Any]:
    """As kept in the summary of a changelog snapshot."""
    return {
        topic: {"before": offsets_to_json(growth.before), "ends": offsets_to_json(growth.ends)}
        for topic, growth in sorted(growths.items())
    }


def growths_from_json(kept: Mapping[str, Any]) -> dict[TopicName, Growth]:
    """The reverse of `growths_to_json`."""
    return {
        TopicName(topic): Growth(
            offsets_from_json(growth["before"]), offsets_from_json(growth["ends"])
        )
        for topic, growth in kept.items()
    }
