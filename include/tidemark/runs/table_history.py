"""The history of a table: the cuts that changed its target, and why. Reads only, no JVM."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tidemark.errors import UNCHANGED, ActionRefusedError
from tidemark.lake.catalog import SystemTables
from tidemark.lake.history import Order, orders_since, read_history
from tidemark.lake.landing import LandedStatement, landed_statements, newest_statements
from tidemark.lake.ledger import read_progress
from tidemark.lake.target_cuts import TargetCut, cuts_of, published_verdicts
from tidemark.model.cut import GateMode
from tidemark.model.names import TableName
from tidemark.model.progress import Progress
from tidemark.model.verdict import Verdict
from tidemark.runs.ddl.effects import DdlRecord
from tidemark.runs.ddl.records import Statement, read_statement
from tidemark.runs.targets import targets_of
from tidemark.runs.world import World
from tidemark.schema.session_schemas import FollowedNames
from tidemark.spec import PipelineSpec


@dataclass(frozen=True, slots=True)
class TableChange:
    """What one cut did to the target. statements: texts, in the source's order."""

    cut: TargetCut
    verdict: Verdict | None
    statements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableHistory:
    """What became of a table.

    changes: newest first. orders: what was ordered of it, or of all tables, since the oldest of
    these, newest first; what somebody expired of the ledger is not among them. unread: how many
    older schema changes, of all tables, were not looked through.
    """

    table: TableName
    target: str
    changes: tuple[TableChange, ...]
    orders: tuple[Order, ...] = ()
    unread: int = 0


def table_history(
    pipeline: PipelineSpec, world: World, table: TableName, last: int, most: int | None = None
) -> TableHistory:
    """The newest ``last`` published cuts that changed the target of ``table``.

    `ActionRefusedError` where it has none. Statements are told where their texts are kept as JSON,
    and not of Avro. most: so many are read at most, those of the newest landings; None: all.
    """
    system = SystemTables.of(pipeline.name)
    progress = read_progress(world.catalog, system).under(pipeline.renames)
    targets = targets_of(pipeline, read_history(world.catalog, system), progress)
    target = targets.get(table)
    if target is None:
        raise ActionRefusedError(
            f"{table} has no target in pipeline {pipeline.name}",
            state=UNCHANGED,
            next_step=f"look which tables have: tidemark status {pipeline.name}",
        )
    cuts = cuts_of(world.catalog, system, str(target), progress.cut, last)
    if not cuts:
        return TableHistory(table, str(target), ())
    verdicts = published_verdicts(world.catalog, system, cuts)
    spans, unread = _spans(pipeline, world, cuts, most)
    statements = _statements(pipeline, world, cuts, spans, targets)
    changes = (
        TableChange(
            cut,
            verdicts.get(cut.result.cut),
            tuple(followed_by(pipeline.source.gate, cut, statements)),
        )
        for cut in cuts
    )
    others = {str(other) for other in targets if other != table}
    orders = orders_since(world.catalog, system, cuts[-1].at_ms)
    concerned = (order for order in orders if table_in(order.command) not in others)
    return TableHistory(table, str(target), tuple(changes), tuple(concerned), unread)


_TABLE_IN = re.compile(
    r"(?:resync|refold|quarantine replay --table) (?P<first>.+?)(?: --.*)?"
    r"|erase (?P<erased>.+?), [\d,]+ keys?: .*",
    re.DOTALL,
)


def table_in(command: str) -> str | None:
    """The table that an order names, perhaps with blanks; None of one that is of all tables.

    What a reason says behind it names none.

    >>> table_in("resync shop.order lines --complete"), table_in("skip --record t:0:7 --reason 'x'")
    ('shop.order lines', None)
    """
    named = _TABLE_IN.fullmatch(command)
    return (named["first"] or named["erased"]) if named is not None else None


Spans = tuple[tuple[int, int], ...]
Statements = Sequence[tuple[LandedStatement, Statement]]


def _spans(
    pipeline: PipelineSpec, world: World, cuts: Sequence[TargetCut], most: int | None
) -> tuple[Spans, int]:
    """The landings of which the schema changes are read, and how many of older ones are not."""
    spans: Spans = () if pipeline.source.avro is not None else tuple(read_by(cuts))
    if most is None or not spans:
        return spans, 0
    first, unread = newest_statements(world.catalog, SystemTables.of(pipeline.name), spans, most)
    return tuple((max(low, first), high) for low, high in spans if high >= first), unread


def _statements(
    pipeline: PipelineSpec,
    world: World,
    cuts: Sequence[TargetCut],
    spans: Spans,
    tables: Iterable[TableName],
) -> Statements:
    """What was landed that ``cuts``, newest first, may have followed, with what it says."""
    newest = cuts[0].after
    if newest is None or not spans:
        return ()
    landed = landed_statements(world.catalog, SystemTables.of(pipeline.name), spans)
    former = (name for rename in newest.renames for name in (rename.old, rename.new))
    followed = FollowedNames({*tables, *former}, pipeline.source.shadowed)
    return tuple(
        (one, statement)
        for one in landed
        if (statement := _read(pipeline, one, followed)) is not None
    )


def read_by(cuts: Sequence[TargetCut]) -> Iterator[tuple[int, int]]:
    """The first and the last landing of which each of ``cuts`` may have taken something."""
    for cut in cuts:
        if cut.before is not None and cut.after is not None:
            yield cut.before.oldest_held, cut.after.landing


def _read(
    pipeline: PipelineSpec, landed: LandedStatement, followed: FollowedNames
) -> Statement | None:
    try:
        text = landed.value.decode()
        record = DdlRecord(landed.position, landed.schema, text, landed.at.topic)
        return read_statement(pipeline.source, record, followed)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # A cut has stopped at it, or a person took it for one without effect.


def followed_by(gate: GateMode, cut: TargetCut, statements: Statements) -> Iterator[str]:
    """The texts of those of ``statements`` about its table that ``cut`` was the first to reach."""
    if cut.before is None or cut.after is None:
        return
    table, known = TableName.parse(cut.of_target.table), set[tuple[str, str]]()
    for landed, statement in statements:
        same = (landed.position, statement.text)
        if table not in statement.tables or same in known:
            continue
        known.add(same)
        if _is_reached(gate, landed, cut.after, table) and not (
            _is_reached(gate, landed, cut.before, table)
        ):
            yield statement.text


def _is_reached(
    gate: GateMode, landed: LandedStatement, progress: Progress, table: TableName
) -> bool:
    """Whether ``landed`` is below the frontier of ``table``.

    Positions of several logs do not compare as they were landed: then landings alone tell.
    """
    if landed.landing > progress.landing_of(table):
        return False
    frontier = progress.frontier_of(table)
    if gate is GateMode.NONE:
        return landed.offset < frontier.offsets.get(landed.at, 0)
    return bool(progress.epochs) or landed.position < frontier.bound_in(gate)
