"""What the page offers to do: runs of a pipeline's DAGs, their forms filled in by what it shows.

Pure. Commands that the next step of a message names are offered as the run that does the same, for
whoever has no shell. Nothing else of a message counts: it may quote what the source wrote. Which
tables there are is known by the status, whatever a message says.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from urllib.parse import urlencode

from tidemark.model.cut import HoldCode
from tidemark.model.names import PipelineName, TableName
from tidemark.model.quarantine import Kind
from tidemark.model.result import CutStatus
from tidemark.model.shown import plural
from tidemark.runs.status import UNTIL_NONE_IS_OLDER, PipelineStatus, TableStatus
from tidemark.scheduling.actions import Action
from tidemark.scheduling.xcom import ACTION, CUT, REFOLD, RESYNC

_END = r"(?=[;,.]?(?:\n|$)|[;,.] )"
"""What ends a command in a sentence: names of tables may hold blanks, and positions dots."""
_COMMAND = "tidemark "
_NEXT_STEP = "\n  next:  "
_TRANSACTION = re.compile(r"transaction (?P<id>\S+) (?:has not come|is not complete)")


@dataclass(frozen=True, slots=True)
class Order:
    """A run that somebody may want. fields: of the form of the DAG, those that are filled in."""

    title: str
    family: str
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def query(self) -> str:
        """How a link to its form says it."""
        return urlencode({"dag": self.family, **self.fields})


def orders_of(status: PipelineStatus) -> tuple[Order, ...]:
    """What may be done about the state of a pipeline, the likeliest first."""
    texts = [status.next_step, status.trouble.next_step if status.trouble else ""]
    texts += [_last_behind(_NEXT_STEP, attempt.error) for attempt in status.failed[:1]]
    tables = [table.table for table in status.tables]
    orders = [_named_in(text, status.pipeline, tables) for text in texts]
    return _once(chain(_acceptance(status), *orders, _skip_of_hold(status)))


def orders_of_table(status: PipelineStatus, table: TableStatus) -> tuple[Order, ...]:
    """What may be done about the state of one of its tables."""
    name = table.table
    texts = (
        _last_behind(_NEXT_STEP, table.why),
        status.snapshots.get(name, ""),
        _last_behind(UNTIL_NONE_IS_OLDER, status.withheld.get(name, "")),
    )
    named = (_named_in(text, status.pipeline, [name]) for text in texts)
    cancel = {"table": str(name), "cancel": "true"}
    refold = [Order("Give up the refold", REFOLD, cancel)] if table.refold else []
    return _once(chain(*named, refold))


def orders_of_kind(kind: Kind, quarantine: Iterable[Kind]) -> tuple[Order, ...]:
    """What may be done about changes in quarantine that have one cause, among all of them.

    A form takes table and code, no column, and without a table it takes those of all: the title
    says how many changes that makes.
    """
    of = {"code": kind.code.value, **({"table": kind.table} if kind.table else {})}
    taken = (other for other in quarantine if other.code is kind.code)
    number = sum(other.changes for other in taken if kind.table in ("", other.table))
    changes = plural(number, "change")
    return (
        Order(f"Try {changes} again", ACTION, {"action": Action.QUARANTINE_REPLAY.value, **of}),
        Order(f"Give up {changes}", ACTION, {"action": Action.QUARANTINE_DROP.value, **of}),
    )


def _acceptance(status: PipelineStatus) -> Iterator[Order]:
    """What its expectations found may be right; what the engine's own checks found is a fault."""
    if status.attempt is None or status.attempt.result.status is not CutStatus.BLOCKED:
        return
    if not any(table.verdict.faults for table in status.tables if table.verdict):
        fields = {"action": Action.ACCEPT.value}
        yield Order(f"Publish cut {status.attempt.result.cut} all the same", ACTION, fields)


def _skip_of_hold(status: PipelineStatus) -> Iterator[Order]:
    """A transaction that will never be whole; one that is young has its events on their way."""
    if not status.stalled_ms or status.published is None:
        return
    named = _TRANSACTION.search(status.hold)
    is_short = status.published.result.hold_code == HoldCode.TX_INCOMPLETE
    if is_short and named is not None:
        fields = {"action": Action.SKIP_TRANSACTION.value, "transaction": named["id"]}
        yield Order("Skip the transaction", ACTION, fields)


def _named_in(text: str, pipeline: PipelineName, tables: Collection[TableName]) -> Iterator[Order]:
    """The runs that do what the commands in ``text`` do; the name of a table is no command."""
    for table in tables:
        if _COMMAND in str(table):
            text = text.replace(str(table), "")
    if _COMMAND not in text:
        return
    yield from _of_tables(text, pipeline, tables)
    start = f"tidemark skip {re.escape(pipeline)}"
    if statement := re.search(rf"{start} --statement (\S+) --reason", text):
        fields = {"action": Action.SKIP_STATEMENT.value, "statement": statement[1]}
        yield Order("Skip the schema change", ACTION, fields)
    if record := re.search(rf"{start} --record (\S+:\d+:\d+) --reason", text):
        fields = {"action": Action.SKIP_RECORD.value, "record": record[1]}
        yield Order("Skip the record", ACTION, fields)
    if f"tidemark handover {pipeline} " in text:
        for action in (Action.HANDOVER_CONTINUOUS, Action.HANDOVER_GAP):
            how = action.value.partition(" ")[2]
            yield Order(f"The log began again: {how}", ACTION, {"action": action.value})
    if cut := re.search(rf"tidemark cut {re.escape(pipeline)}(?: --until (\S+?))?{_END}", text):
        until = {"until": cut[1]} if cut[1] else {}
        yield Order("Publish up to there" if until else "Run the next cut", CUT, until)


def _of_tables(text: str, pipeline: PipelineName, tables: Iterable[TableName]) -> Iterator[Order]:
    for table in tables:
        for family, flag, titles in (
            (RESYNC, "complete", ("Read the table again", "The table was read: complete")),
            (REFOLD, "cancel", ("Build the target again", "Give up the refold")),
        ):
            command = f"{_COMMAND}{family} {pipeline} {table}"
            if command not in text:
                continue
            if named := re.search(rf"{re.escape(command)}( --{flag})?{_END}", text):
                fields = {"table": str(table), **({flag: "true"} if named[1] else {})}
                yield Order(titles[1 if named[1] else 0], family, fields)


def _last_behind(mark: str, text: str) -> str:
    """What follows the last ``mark`` in ``text``."""
    return text.rpartition(mark)[2] if mark in text else ""


def _once(orders: Iterable[Order]) -> tuple[Order, ...]:
    return tuple({order.query: order for order in orders}.values())
