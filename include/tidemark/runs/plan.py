"""Plan: is there anything to do? Offsets against progress, in milliseconds, without a JVM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from tidemark.gate.as_of import is_passed
from tidemark.lake.catalog import SystemTables
from tidemark.lake.heads import read_heads
from tidemark.lake.landing import refuse_lost
from tidemark.lake.ledger import newest_result, newest_tag
from tidemark.lake.unfinished import missing_moves
from tidemark.model.cut import GateMode, HoldCode
from tidemark.model.offsets import OffsetRange, TopicPartition
from tidemark.model.progress import Progress
from tidemark.model.reconcile import BELOW_ALL_OFFSETS
from tidemark.model.shown import plural
from tidemark.model.until import Until
from tidemark.runs.landing.ordering import expected_ordering, refuse_unplaced
from tidemark.runs.targets import added_tables
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec, SourceFormat, SourceSpec
from tidemark.topics.preflight import plan_topics


@dataclass(frozen=True, slots=True)
class CutPlan:
    """What the next cut would start from.

    next_cut: its number. unread: offsets per partition that are not landed yet. waiting: records
    that are landed but in no cut yet may be there. complete_until_ms: source time up to which the
    tables are complete, 0 when the gate tells none. sentence: what a run would do, and why.
    """

    next_cut: int
    unread: Mapping[TopicPartition, OffsetRange]
    waiting: bool
    complete_until_ms: int
    has_work: bool
    sentence: str

    @property
    def unread_records(self) -> int:
        """How many offsets are unread; an upper bound of the records."""
        return sum(span.count for span in self.unread.values())


def plan_cut(
    pipeline: PipelineSpec, world: World, until: Until | None = None, tag: str = ""
) -> CutPlan:
    """Look what is unread and what waits; reads metadata only and changes nothing.

    until: where the cut is capped, if it is. tag: that the tables are to get if they stand there,
    empty where none is asked for. Raises what `refuse_lost`, `refuse_unplaced` and
    `plan_topics` refuse.
    """
    tables = SystemTables.of(pipeline.name)
    heads = read_heads(world.catalog, tables)
    progress, mark = heads.ledger.progress, heads.changelog.mark
    refuse_unplaced(pipeline, until, expected_ordering(pipeline, mark))
    refuse_lost(tables, mark, progress.landing)
    unread = plan_topics(pipeline, world.broker, mark).ranges
    records = sum(span.count for span in unread.values())
    ungated = mark.number > progress.landing
    held = progress.oldest_held <= mark.number
    complete = progress.frontier.complete_until_ms
    last = newest_result(world.catalog, tables)
    capped = last is not None and last.hold_code == HoldCode.UNTIL
    is_due, note = _tag_of(pipeline, world, progress, until, tag)
    if missing := missing_moves(world.catalog, tables):
        names = ", ".join(str(move.table) for move in missing)
        has_work, sentence = True, f"the newest cut is published, and not in {names} yet"
    elif until is not None and _is_reached(pipeline, progress, until) and not is_due:
        has_work, sentence = False, f"everything before {until.text} is published"
    elif records or ungated:
        has_work, sentence = True, unread_sentence(records, pipeline.limits.max_records)
        if ungated:
            sentence += "; records of an earlier run are landed but not in a cut yet"
    elif is_due:
        has_work, sentence = True, f"every target is to get the tag {tag}"
    elif added := added_tables(pipeline, progress.under(pipeline.renames)):
        names = ", ".join(map(str, sorted(added)))
        has_work, sentence = True, f"{names} came into the file, and was not folded yet"
    elif progress.replays:
        has_work, sentence = True, "what was quarantined is to be tried again"
    elif progress.quiet_settles:
        has_work, sentence = True, "nothing is unread, so what the last run held may settle now"
    elif held and (capped or progress.behind):
        has_work, sentence = True, "records that an earlier run left wait in the changelog"
    else:
        has_work, sentence = False, _nothing_to_do(last.hold if held and last is not None else "")
    return CutPlan(progress.cut + 1, unread, held or ungated, complete, has_work, sentence + note)


def unread_sentence(records: int, limit: int) -> str:
    """How much is unread, and what stays so after one run that lands ``limit`` records.

    >>> unread_sentence(7, 10)
    '7 offsets are unread'
    >>> unread_sentence(35, 10)
    '35 offsets are unread: a run lands 10 of them, and 25 are left to 3 runs behind it'
    """
    left = records - limit
    if left <= 0:
        return f"{records} offsets are unread"
    runs = plural(ceil(left / limit), "run")
    return (
        f"{records} offsets are unread: a run lands {limit} of them, and {left} are left to {runs} "
        "behind it"
    )


def _nothing_to_do(hold: str) -> str:
    """hold: why records wait; empty where none do."""
    if hold:
        return f"nothing is unread; records wait because {hold}"
    return "nothing is unread and nothing waits"


def _tag_of(
    pipeline: PipelineSpec, world: World, progress: Progress, until: Until | None, tag: str
) -> tuple[bool, str]:
    """Whether ``tag`` may be given, and what to say where it is too late for that (PUB-14)."""
    if not tag or until is None:
        return False, ""
    if is_passed(pipeline.source.gate, progress, until):
        return False, f"; what came later is published too, so that no table gets the tag {tag}"
    return newest_tag(world.catalog, SystemTables.of(pipeline.name)) != tag, ""


def _is_reached(pipeline: PipelineSpec, progress: Progress, until: Until) -> bool:
    """Whether the frontier stands at or above ``until``; no gate but ``watermark`` tells."""
    by_commit = pipeline.source.gate is GateMode.WATERMARK
    return by_commit and 0 < until.commit_ts <= progress.frontier.commit_ts


def statement_note(source: SourceSpec) -> str:
    """What DDL is not seen, and what shows it; empty where statements are read (SCHEMA-5)."""
    if source.format.is_canal or source.topics.schema_changes:
        return ""
    lost = "dropped and renamed columns, renamed and recreated tables, and most defaults"
    if source.format is SourceFormat.DEBEZIUM_POSTGRES:
        return f"{lost} are not seen: tidemark sources postgres-ddl has PostgreSQL tell them"
    return f"{lost} are not seen: name the connector's topic in source.topics.schema-changes"


def truncate_note(pipeline: PipelineSpec, progress: Progress) -> str:
    """What to check while no truncate has come: that none came proves nothing (TRUNC-15)."""
    is_real = (not position.endswith(BELOW_ALL_OFFSETS) for position in progress.truncated.values())
    if pipeline.source.format.is_canal or any(is_real):
        return ""
    return "none has come yet; Debezium drops them unless the connector has skipped.operations=none"
