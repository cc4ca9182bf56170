"""What must be true of topics before they are read, and which offsets a run reads (GATE-2)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tidemark.errors import (
    UNCHANGED,
    BrokerRefusedError,
    DataLossError,
    PreflightError,
    TopicMissingError,
    TopicRecreatedError,
)
from tidemark.model.names import TopicName, few
from tidemark.model.offsets import OffsetRange, TopicPartition
from tidemark.model.progress import LandingMark
from tidemark.spec import PipelineSpec, SourceFormat
from tidemark.spec.topics import selects
from tidemark.topics.client import Broker, TopicFacts


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """The input of one run: topics by role, and the unread offsets of every partition.

    ranges: half-open; partitions without unread records are in it with an empty range.
    """

    data: frozenset[TopicName]
    schema_changes: frozenset[TopicName]
    transactions: frozenset[TopicName]
    facts: tuple[TopicFacts, ...]
    ranges: Mapping[TopicPartition, OffsetRange]

    @property
    def unread(self) -> int:
        """Offsets that are not landed yet; an upper bound of the records."""
        return sum(span.count for span in self.ranges.values())

    @property
    def topic_ids(self) -> dict[str, str]:
        """Topic -> id, as kept with the landing."""
        return {facts.name: facts.topic_id for facts in self.facts}

    @property
    def data_places(self) -> tuple[TopicPartition, ...]:
        """Every partition of every data topic."""
        return tuple(
            place for facts in self.facts if facts.name in self.data for place in facts.places
        )


_POSITIONLESS: Mapping[SourceFormat, tuple[str, str]] = {
    SourceFormat.TICDC_CANAL_JSON: (
        "without the TiDB extension",
        "set enable-tidb-extension=true on the changefeed and gate: watermark in the pipeline "
        "file, or use a topic with one partition",
    ),
    SourceFormat.CANAL_JSON: (
        "as Canal tells no position in the binlog,",
        "have Canal write a new topic of one partition, without partitionHash, and start a new "
        "pipeline on it",
    ),
}
"""What a source without positions lacks, and what its operator can do about it."""
_COMPACTED = (
    "as tombstones tell no position,",
    "have the connector write a new compacted topic of one partition; or set cleanup.policy=delete "
    "on the topic, and fold it by a pipeline without source.compacted",
)


def plan_topics(pipeline: PipelineSpec, broker: Broker, mark: LandingMark) -> TopicPlan:
    """What is unread now, or the reason why it must not be read.

    `TopicMissingError`, `PreflightError`, `TopicRecreatedError` (TOP-1, TOP-4), `DataLossError`
    (TOP-2, TOP-3), `BrokerRefusedError`. Nothing is ever reset to the earliest or latest offset.
    """
    topics = pipeline.source.topics
    data = broker.find(topics.data)
    schema_changes = broker.find(topics.schema_changes)
    transactions = broker.find(topics.transactions)
    facts = broker.describe({*data, *schema_changes, *transactions})
    refuse_vanished(pipeline, {topic.name for topic in facts}, mark)
    _refuse_unusable(pipeline, [topic for topic in facts if topic.name in set(data)])
    _refuse_unordered_ends([topic for topic in facts if topic.name in set(transactions)])
    _refuse_recreated(facts, mark)
    places = [place for topic in facts for place in topic.places]
    ranges = {
        place: unread_range(place, span, mark.offsets.get(place, 0))
        for place, span in broker.reach(places).items()
    }
    return TopicPlan(
        frozenset(data), frozenset(schema_changes), frozenset(transactions), facts, ranges
    )


def refuse_vanished(
    pipeline: PipelineSpec, there: Collection[TopicName], mark: LandingMark
) -> None:
    """Raise where a topic that was landed, and that the file still means, is not ``there``.

    What it held and was not landed is lost, or nobody may see it: a pattern would leave it out
    without a word, and no gate would wait for it (TOP-1, TOP-2).
    """
    topics = pipeline.source.topics
    selectors = (*topics.data, *topics.schema_changes, *topics.transactions)
    meant = {topic for topic in mark.topic_ids if any(selects(s, topic) for s in selectors)}
    gone = sorted(meant - set(there))
    if gone:
        raise TopicMissingError(
            f"topic {few(gone)} was landed before, and is not on the broker any more, or not to be "
            "seen by this client",
            state=UNCHANGED,
            next_step="where Kafka has ACLs, grant READ and DESCRIBE; if it was deleted, and all "
            "that its tables need was landed, have source.topics mean it no more; else take a new "
            "snapshot at the source into a new pipeline",
        )


def _refuse_unusable(pipeline: PipelineSpec, data: Sequence[TopicFacts]) -> None:
    source = pipeline.source
    compacted = [topic.name for topic in data if topic.compacted]
    if compacted and not source.is_compacted:
        raise PreflightError(
            f"topic {few(compacted)} is compacted, so older changes and truncates are gone "
            "(KEY-13)",
            state=UNCHANGED,
            next_step="set cleanup.policy=delete on the topic and take a new snapshot; or, where "
            "the newest state of each key is enough, set source.compacted: allow in the file of a "
            "new pipeline",
        )
    untold = [topic.name for topic in data if topic.compacted is None]
    if untold and source.is_compacted:
        raise BrokerRefusedError(
            f"the broker does not tell how long topic {few(untold)} keeps tombstones (KEY-12)",
            state=UNCHANGED,
            next_step="grant this client DESCRIBE_CONFIGS on it, then run again",
        )
    wide = [topic for topic in data if topic.partitions > 1]
    if (source.is_without_positions or source.is_compacted) and wide:
        lacking, remedy = _COMPACTED if source.is_compacted else _POSITIONLESS[source.format]
        raise PreflightError(
            f"topic {wide[0].name} has {wide[0].partitions} partitions, but {lacking} only the "
            "offset of a single partition orders its changes (POS-11)",
            state=UNCHANGED,
            next_step=remedy,
        )


def _refuse_unordered_ends(transactions: Collection[TopicFacts]) -> None:
    """The ENDs of a source have one order, which only one partition of one topic keeps."""
    if sum(topic.partitions for topic in transactions) > 1:
        named = ", ".join(f"{topic.name} ({topic.partitions})" for topic in transactions)
        raise PreflightError(
            f"transactions come from several partitions: {named}; their order is lost (GATE-T1)",
            state=UNCHANGED,
            next_step="name one transaction topic with one partition, or set gate: none",
        )


def _refuse_recreated(facts: Collection[TopicFacts], mark: LandingMark) -> None:
    for topic in facts:
        known = mark.topic_ids.get(topic.name)
        if known is not None and known != topic.topic_id:
            _raise_recreated(f"topic {topic.name} has id {topic.topic_id}, but id {known}")
        landed = [place.partition for place in mark.offsets if place.topic == topic.name]
        if landed and max(landed) >= topic.partitions:
            _raise_recreated(
                f"topic {topic.name} has {topic.partitions} partitions, but partition {max(landed)}"
            )


def _raise_recreated(difference: str) -> None:
    raise TopicRecreatedError(
        f"{difference} was landed before: it was deleted and made again",
        state=UNCHANGED,
        next_step="what is landed stays readable; to go on from the new topic, take a new "
        "snapshot at the source into a new pipeline",
    )


def unread_range(place: TopicPartition, reach: OffsetRange, next_offset: int) -> OffsetRange:
    """What of ``reach`` is not landed; refused as `plan_topics` does when it is not all there."""
    if reach.end < next_offset:
        raise DataLossError(
            f"{place} ends at offset {reach.end}, but offset {next_offset - 1} was landed before, "
            "and its topic is the same: the broker lost records, as after an unclean leader "
            "election (TOP-5)",
            state=UNCHANGED,
            next_step="the tables of this topic need a new snapshot at the source into a new "
            "pipeline; set unclean.leader.election.enable=false on the topic",
        )
    if reach.start > next_offset:
        raise DataLossError(
            f"the records {next_offset} to {reach.start - 1} of {place} were deleted by the "
            "topic's retention before they were landed",
            state=UNCHANGED,
            next_step="the tables of this topic need a new snapshot at the source; then start "
            "a new pipeline for them, and give the topic a longer retention",
        )
    return OffsetRange(next_offset, reach.end)
