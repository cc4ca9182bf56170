"""What waits when partitions are added to a topic, and on what (TOP-3).

A delete leaves nothing behind in its table. If it is published before an insert of the same key
that waits in another partition, the insert brings the row back, and no later record fixes that.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidemark.model.expansion import PartitionExpansion, PartitionExpansions
from tidemark.model.names import TopicName, few
from tidemark.model.offsets import Offsets, TopicPartition


def seen_expansions(
    remembered: PartitionExpansions, landed: Offsets, ends: Offsets, planned: Offsets
) -> dict[TopicName, PartitionExpansion]:
    """The expansions to remember with the next landing.

    remembered, landed: as of the newest landing. ends: of every partition now. planned: how far
    the next landing goes. Nobody tells whether a topic grew before it was first seen, so it may
    have.
    """
    expansions = dict(remembered)
    for topic, places in _by_topic(ends).items():
        known = {place: landed[place] for place in places if place in landed}
        expansion = remembered.get(topic)
        if not known and len(places) > 1 and any(planned[p] < ends[p] for p in places):
            expansions[topic] = PartitionExpansion(
                dict.fromkeys(places, 0), {p: ends[p] for p in places}
            )
        elif known and len(known) < len(places):
            expansions[topic] = PartitionExpansion(
                _unmoved(known, expansion), {p: ends[p] for p in known}
            )
        elif expansion is not None and _added_are_empty(known, expansion):
            expansions[topic] = PartitionExpansion(
                expansion.before, {p: ends[p] for p in expansion.before}
            )
    return expansions


def _added_are_empty(landed: Offsets, expansion: PartitionExpansion) -> bool:
    added = landed.keys() - expansion.before.keys()
    return bool(added) and not any(landed[place] for place in added)


def _by_topic(ends: Offsets) -> dict[TopicName, list[TopicPartition]]:
    places: dict[TopicName, list[TopicPartition]] = {}
    for place in sorted(ends):
        places.setdefault(place.topic, []).append(place)
    return places


def _unmoved(known: Offsets, expansion: PartitionExpansion | None) -> Offsets:
    """Below which no key had moved: of the expansion before, until its older ones are landed."""
    if expansion is None or not _lagging(known, expansion):
        return known
    return {place: expansion.before.get(place, 0) for place in known}


def held_back(
    expansions: PartitionExpansions, reach: Offsets, read: Offsets
) -> tuple[dict[TopicPartition, int], list[str]]:
    """How far a cut to ``reach`` may go; for each expansion that holds it, what it waits for.

    read: how far the older partitions are.

    What keys moved in is taken in one cut by all partitions of the topic, as soon as the older
    ones reach their ends. A single older one need not wait, as keys moved from it and not to it.
    """
    limits, waits = dict(reach), []
    for expansion in expansions.values():
        lagging = _lagging(read, expansion)
        if lagging:
            waits.append(_sentence(lagging, expansion, read))
            for place, end in _taking_keys(expansion, reach):
                limits[place] = min(end, expansion.before.get(place, 0))
    return limits, waits


def _lagging(reach: Offsets, expansion: PartitionExpansion) -> list[TopicPartition]:
    return [place for place, end in sorted(expansion.ends.items()) if reach[place] < end]


def _taking_keys(
    expansion: PartitionExpansion, reach: Offsets
) -> Iterator[tuple[TopicPartition, int]]:
    topics = {place.topic for place in expansion.before}
    for place, end in reach.items():
        if place.topic in topics and (place not in expansion.before or len(expansion.before) > 1):
            yield place, end


def _sentence(lagging: list[TopicPartition], expansion: PartitionExpansion, read: Offsets) -> str:
    topic = lagging[0].topic
    named = few(
        [
            f"partition {p.partition} to offset {expansion.ends[p]} (read to {read[p]})"
            for p in lagging
        ]
    )
    added = sorted(p.partition for p in read if p.topic == topic and p not in expansion.before)
    if added:
        grew = f"topic {topic} got partition {few(list(map(str, added)))}, so keys move"
    else:
        grew = f"keys of topic {topic} may have moved before it was first read"
    return f"{grew}; their changes wait until it is read in {named}"
