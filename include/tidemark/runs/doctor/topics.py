"""Topics: whether they can be read as the file says, and for how long their records stay."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from tidemark.errors import TidemarkError
from tidemark.model.finding import Finding, Grade
from tidemark.model.names import TopicName, few
from tidemark.model.offsets import OffsetRange, Ranges, TopicPartition
from tidemark.model.progress import LandingMark
from tidemark.model.shown import clock, plural
from tidemark.runs.doctor.catalog import CLOCK_SECONDS, FIX_CLOCK, WRONG_CLOCK
from tidemark.runs.doctor.trouble import finding_of
from tidemark.spec import PipelineSpec
from tidemark.spec.schedule import longest_pause
from tidemark.topics.client import Broker
from tidemark.topics.fingerprints import read_fingerprints
from tidemark.topics.preflight import TopicPlan, plan_topics

DAY_MS = 86_400_000
NEVER = -1
CLOCKS = 50
"""Of how many partitions the newest record is looked at, for the clocks of those that write."""
RUNS_MISSED = 3
"""How many runs may fail one after the other before retention deletes what they did not read."""


def topic_findings(
    pipeline: PipelineSpec, broker: Broker, mark: LandingMark, now_ms: int
) -> Iterator[Finding]:
    """What is wrong with the topics of ``pipeline``; mark: how far they are landed."""
    about = f"topics of {pipeline.name}"
    try:
        plan = plan_topics(pipeline, broker, mark)
        yield from _signals(pipeline, broker)
        rights = broker.rights([topic.name for topic in plan.facts])
        yield from rights_findings(rights, "READ", "no run can land its records")
        settings = broker.settings([topic.name for topic in plan.facts])
        unread = {place: span for place, span in plan.ranges.items() if span.count}
        first = _times(broker, {p: OffsetRange(s.start, s.start + 1) for p, s in unread.items()})
        written = [(p, s.end) for p, s in plan.ranges.items() if s.end][:CLOCKS]
        last = _times(broker, {place: OffsetRange(end - 1, end) for place, end in written})
    except TidemarkError as error:
        yield finding_of(error, about)
        return
    if not plan.data:
        yield Finding(
            Grade.WARNING,
            about,
            f"no topic is there that {few(list(pipeline.source.topics.data))} means",
            "a run finds nothing to do",
            "look at source.topics.data, or start the connector that makes the topics",
        )
        return
    yield _summary(about, plan, settings)
    yield from _untold(about, plan, settings)
    pause_ms = longest_pause(pipeline.schedule) * 1000 if pipeline.schedule else 0
    for topic in plan.facts:
        of_topic = settings.get(topic.name, {})
        oldest = min((at for place, at in first.items() if place.topic == topic.name), default=None)
        yield from retention_findings(topic.name, of_topic, pause_ms, oldest, now_ms)
    newest = max(last.values(), default=now_ms)
    if newest > now_ms + CLOCK_SECONDS * 1000:
        ahead = f"the newest record is of {clock(newest)} UTC, which has not come here yet"
        yield Finding(Grade.WARNING, about, ahead, WRONG_CLOCK, FIX_CLOCK)


def rights_findings(
    rights: Mapping[TopicName, Collection[str]], needed: str, cost: str
) -> Iterator[Finding]:
    """The topics with which this client may not do what is ``needed``."""
    refused = sorted(topic for topic, allowed in rights.items() if needed not in allowed)
    if refused:
        what = f"this client has no right to {needed} topic {few(refused)}"
        yield Finding(Grade.ERROR, "broker", what, cost, f"grant it {needed} on them")


def retention_findings(
    topic: TopicName, settings: Mapping[str, str], pause_ms: int, oldest_ms: int | None, now_ms: int
) -> Iterator[Finding]:
    """How long unread records of ``topic`` stay.

    settings: of the topic, empty where the broker does not tell them. pause_ms: the longest between
    two runs, 0 where there is no schedule. oldest_ms: when the oldest unread record was written, in
    ms since 1970; None where nothing is unread.
    """
    about = f"topic {topic}"
    keeps_ms = _keeps_ms(settings)
    least_ms = max(DAY_MS, RUNS_MISSED * pause_ms)
    tombstones_ms = int(settings.get("delete.retention.ms", least_ms))
    if "compact" in settings.get("cleanup.policy", "") and tombstones_ms < least_ms:
        yield Finding(
            Grade.WARNING,
            about,
            f"delete.retention.ms={tombstones_ms}, {_hours(tombstones_ms)}",
            "tombstones go before they are landed where runs fail for as long: runs then stop, as "
            "nobody knows which rows were deleted",
            f"set delete.retention.ms={max(7 * DAY_MS, least_ms)}",
        )
    if "delete" not in settings.get("cleanup.policy", ""):
        return
    if int(settings.get("retention.bytes", NEVER)) != NEVER:
        yield Finding(
            Grade.WARNING,
            about,
            f"retention.bytes={settings['retention.bytes']}",
            "much that is written at once has records deleted, however new they are: what is not "
            "landed by then is lost",
            "set retention.bytes=-1, and bound the topic by retention.ms",
        )
    if keeps_ms == NEVER:
        return
    if keeps_ms < least_ms:
        yield Finding(
            Grade.ERROR if keeps_ms <= pause_ms else Grade.WARNING,
            about,
            f"retention.ms={keeps_ms}, {_hours(keeps_ms)}",
            "records are deleted before they are landed where runs fail for as long: its tables "
            "then need a new snapshot into a new pipeline",
            f"set retention.ms={max(7 * DAY_MS, least_ms)}",
        )
    if oldest_ms is None:
        return
    left_ms = oldest_ms + keeps_ms - now_ms
    if left_ms < max(pause_ms, min(DAY_MS, keeps_ms // 2)):
        yield Finding(
            Grade.ERROR,
            about,
            f"the oldest unread record is of {clock(oldest_ms)} UTC; "
            + (
                f"it may be deleted in {_hours(left_ms)}" if left_ms > 0 else "it may go any moment"
            ),
            "what is deleted before it is landed is lost: its tables then need a new snapshot into "
            "a new pipeline",
            "raise retention.ms now, then run a cut",
        )


def _summary(about: str, plan: TopicPlan, settings: Mapping[str, Mapping[str, str]]) -> Finding:
    partitions = sum(topic.partitions for topic in plan.facts)
    topics = f"{plural(len(plan.facts), 'topic')} with {plural(partitions, 'partition')}"
    ages = [_keeps_ms(of_topic) for of_topic in settings.values()]
    bounded = [age for age in ages if age != NEVER]
    stay = f", records stay for {_hours(min(bounded))} at least" if bounded else ""
    return Finding.good(
        about, f"{topics} can be read{stay}; {plural(plan.unread, 'offset')} unread"
    )


def _keeps_ms(settings: Mapping[str, str]) -> int:
    """After how many milliseconds records are deleted for their age; NEVER where none are."""
    is_deleted = "delete" in settings.get("cleanup.policy", "")
    return int(settings.get("retention.ms", NEVER)) if is_deleted else NEVER


def _untold(about: str, plan: TopicPlan, settings: Collection[str]) -> Iterator[Finding]:
    untold = sorted(topic.name for topic in plan.facts if topic.name not in settings)
    if untold:
        yield Finding(
            Grade.WARNING,
            about,
            f"the broker does not tell the settings of {few(untold)}",
            "whether they are compacted, and when their records are deleted, is unknown",
            "grant this client DESCRIBE_CONFIGS on them",
        )


def _signals(pipeline: PipelineSpec, broker: Broker) -> Iterator[Finding]:
    name = pipeline.source.signal_topic
    if name is None:
        return
    (topic,) = broker.describe(broker.find([name]))
    rights = broker.rights([topic.name])
    yield from rights_findings(rights, "WRITE", "no signal is sent: no table is read again")
    if topic.partitions > 1:
        yield Finding(
            Grade.WARNING,
            f"topic {name}",
            f"it has {topic.partitions} partitions",
            "the connector reads signals of a topic of one partition alone",
            "create it again with one partition",
        )


def _times(broker: Broker, ranges: Ranges) -> Mapping[TopicPartition, int]:
    """When the one record of each range was written, in ms since 1970; markers hold no record."""
    if not ranges:
        return {}
    with broker.reading() as consumer:
        read = read_fingerprints(consumer, ranges)
    return {place: records[0].time_ms for place, records in read.items() if records}


def _hours(millis: int) -> str:
    hours = millis / 3_600_000
    return f"{hours / 24:.1f} days" if hours >= 48 else f"{hours:.1f} hours"
