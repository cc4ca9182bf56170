"""Operator actions as a form in Airflow: what the commands of the same names do, without a shell.

Read whenever DAGs are parsed, so what is heavy is imported inside the functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidemark.errors import UNCHANGED, ActionRefusedError
from tidemark.log import get_logger
from tidemark.model.erasure import Key, keys_in
from tidemark.model.event import Reason
from tidemark.model.names import TableName
from tidemark.model.position import Position
from tidemark.model.quarantine import RecordPlace, Selection, by_kind
from tidemark.model.result import CutResult
from tidemark.model.shown import plural
from tidemark.scheduling.submit import tables_named

if TYPE_CHECKING:
    from tidemark.runs.world import World
    from tidemark.spec import PipelineSpec

log = get_logger()

ERASURES = "erase"
"""The folder below the state of the installation that has files of keys."""
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Action(StrEnum):
    """What the form offers."""

    ACCEPT = "accept"
    QUARANTINE_LIST = "quarantine list"
    QUARANTINE_REPLAY = "quarantine replay"
    QUARANTINE_DROP = "quarantine drop"
    SKIP_TRANSACTION = "skip transaction"
    SKIP_STATEMENT = "skip statement"
    SKIP_RECORD = "skip record"
    HANDOVER_CONTINUOUS = "handover continuous"
    HANDOVER_GAP = "handover gap"
    ERASE = "erase"


LABELS: Mapping[Action, str] = {
    Action.ACCEPT: "Publish the blocked cut: what its expectations found is right",
    Action.QUARANTINE_LIST: "Quarantine: list what waits",
    Action.QUARANTINE_REPLAY: "Quarantine: try again",
    Action.QUARANTINE_DROP: "Quarantine: give up",
    Action.SKIP_TRANSACTION: "Skip an incomplete transaction",
    Action.SKIP_STATEMENT: "Skip a schema change that has no effect",
    Action.SKIP_RECORD: "Skip a schema change that cannot be read",
    Action.HANDOVER_CONTINUOUS: "Binlog reset: the new log holds every later change",
    Action.HANDOVER_GAP: "Binlog reset: changes are missing, re-snapshot all tables",
    Action.ERASE: "Erase what is known of the keys in a file",
}
"""What the form calls each."""


@dataclass(frozen=True, slots=True)
class Done:
    """What an action did: a sentence, and the cut that it published, where it published one."""

    sentence: str
    published: CutResult | None = None


@dataclass(frozen=True, slots=True)
class _Form:
    """The fields of the form beside the action, empty where nobody filled them in."""

    table: str
    transaction: str
    statement: str
    record: str
    code: str
    keys: str
    reason: str

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> _Form:
        return cls(*((params.get(name) or "").strip() for name in cls.__slots__))

    @property
    def place(self) -> RecordPlace:
        """The record that is named."""
        try:
            return RecordPlace.parse(self.record)
        except ValueError as error:
            raise _refused(f"{self.record!r} is no TOPIC:PARTITION:OFFSET") from error

    @property
    def named_table(self) -> TableName:
        """The one table that is named."""
        (name,) = tables_named([self.table])
        return TableName.parse(name)

    def keys_below(self, state: Path) -> list[Key]:
        """The keys in the file that is named, which nobody typed into the form."""
        if not _FILE.fullmatch(self.keys):
            raise _refused("what stands in keys is no name of a file alone")
        file = state / ERASURES / self.keys
        try:
            return keys_in(file.read_text("utf-8"))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise _refused(f"{file} cannot be read as keys: {why}") from None

    @property
    def selection(self) -> Selection:
        """What of the quarantine is meant."""
        table = "".join(tables_named([self.table] if self.table else []))
        code = Reason(self.code) if self.code else None
        return Selection(table, code, self.place if self.record else None)


@dataclass(frozen=True, slots=True)
class _Rule:
    """How an action is done. needs, takes: fields that must and fields that may be filled in.

    is_final: it cannot be undone, and has to be confirmed.
    """

    do: Callable[[PipelineSpec, World, _Form], Done]
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    is_final: bool = False


def fields_of(action: Action) -> Mapping[str, bool]:
    """The fields of the form that ``action`` takes, and whether it needs them."""
    rule = _RULES[action]
    confirm = {"confirm": True} if rule.is_final else {}
    return dict.fromkeys(rule.takes, False) | dict.fromkeys(rule.needs, True) | confirm


def act(spec: PipelineSpec, world: World, params: Mapping[str, Any]) -> Done:
    """Do what the form says. `ActionRefusedError` where its fields do not fit each other."""
    if not params["action"]:
        raise _refused("the form names no action")
    action, form = Action(params["action"]), _Form.of(params)
    rule = _RULES[action]
    fields = [name for name in form.__slots__ if getattr(form, name)]
    missing = [name for name in rule.needs if name not in fields]
    foreign = [name for name in fields if name not in (*rule.needs, *rule.takes)]
    if missing or foreign:
        wants = f"needs {', '.join(missing)}" if missing else f"takes no {', '.join(foreign)}"
        raise _refused(f"the action {action.value!r} {wants}")
    if rule.is_final and not params["confirm"]:
        raise _refused(f"the action {action.value!r} cannot be undone, and is not confirmed")
    return rule.do(spec, world, form)


def _refused(what: str) -> ActionRefusedError:
    return ActionRefusedError(
        what, state=UNCHANGED, next_step="trigger the DAG again, and fill in its form"
    )


def _accept(spec: PipelineSpec, world: World, form: _Form) -> Done:
    from tidemark.runs.accept import accept_audit, blocked_attempt

    result = accept_audit(spec, world, blocked_attempt(spec, world), form.reason)
    return Done(f"cut {result.cut} is published", result)


def _list(spec: PipelineSpec, world: World, form: _Form) -> Done:
    from tidemark.runs.orders import all_waiting

    selection = form.selection
    waiting = [entry for entry in all_waiting(spec, world) if selection.takes(entry)]
    for kind in by_kind(waiting):
        named = {"table": kind.table, "code": kind.code.value, "column": kind.column}
        log.info("quarantined", changes=kind.changes, **named, record=str(kind.record))
    return Done(f"{plural(len(waiting), 'change')} in quarantine")


def _replay(spec: PipelineSpec, world: World, form: _Form) -> Done:
    from tidemark.runs.orders import replay_entries

    number = replay_entries(spec, world, form.selection)
    return Done(f"the next cut tries {plural(number, 'change')} again")


def _drop(spec: PipelineSpec, world: World, form: _Form) -> Done:
    from tidemark.runs.orders import drop_entries

    number = drop_entries(spec, world, form.selection, form.reason)
    return Done(f"{plural(number, 'change')} given up")


def _skip_transaction(spec: PipelineSpec, world: World, form: _Form) -> Done:
    from tidemark.runs.orders import skip_transaction

    skip_transaction(spec, world, form.transaction)
    return Done(f"transaction {form.transaction} is given up; re-snapshot the tables it changed")


def _skip_statement(spec: PipelineSpec, world: World, form: _Form) -> Done:
    from tidemark.runs.orders import skip_statement

    skip_statement(spec, world, Position(form.statement), form.reason)
    return Done(f"the statement at {form.statement} counts for nothing")


def _skip_record(spec: PipelineSpec, world: World, form: _Form) -> Done:
    from tidemark.runs.orders import skip_record

    skip_record(spec, world, form.place, form.reason)
    return Done(f"the record at {form.record} counts for nothing")


def _erase(spec: PipelineSpec, world: World, form: _Form) -> Done:
    from tidemark.runs.erase import erase
    from tidemark.runs.jvm import stop_session
    from tidemark.runs.session import start_session

    table, keys = form.named_table, form.keys_below(world.installation.state)
    session = world.session or start_session(world.installation, spec.spark.conf)
    try:
        done = erase(spec, replace(world, session=session), table, keys, form.reason)
    finally:
        if world.session is None:
            stop_session(session)
    for name in (*done.refs, *done.tables):
        log.warning("holds_what_was_erased", name=name)
    if not done.is_rewritten:
        log.warning("files_not_rewritten", table=str(table), next="erase the same keys again")
    counts = {
        "record": done.records,
        "shortened record": done.shortened,
        "row": done.rows,
        "change": done.entries,
    }
    gone = ", ".join(plural(number, name) for name, number in counts.items())
    return Done(
        f"{plural(done.keys, 'key')} of {table}: {gone}; files of before go when they are "
        f"{plural(done.days, 'day')} old; left are {plural(done.shared, 'shared record')}, "
        f"{plural(done.unreadable, 'unreadable record')} and "
        f"{plural(len(done.refs) + len(done.tables), 'name')} in the log"
    )


def _handover(*, is_continuous: bool) -> Callable[[PipelineSpec, World, _Form], Done]:
    def hand_over_as(spec: PipelineSpec, world: World, _: _Form) -> Done:
        from tidemark.runs.orders import hand_over

        starts = hand_over(spec, world, is_continuous=is_continuous)
        places = ", ".join(f"{at}: {offset}" for at, offset in sorted(starts.items()))
        return Done(f"a new log begins at these offsets: {places}")

    return hand_over_as


_OF_QUARANTINE = ("table", "code", "record")
_RULES: Mapping[Action, _Rule] = {
    Action.ACCEPT: _Rule(_accept, needs=("reason",)),
    Action.QUARANTINE_LIST: _Rule(_list, takes=_OF_QUARANTINE),
    Action.QUARANTINE_REPLAY: _Rule(_replay, takes=_OF_QUARANTINE),
    Action.QUARANTINE_DROP: _Rule(_drop, needs=("reason",), takes=_OF_QUARANTINE, is_final=True),
    Action.SKIP_TRANSACTION: _Rule(_skip_transaction, needs=("transaction",), is_final=True),
    Action.SKIP_STATEMENT: _Rule(_skip_statement, needs=("statement", "reason"), is_final=True),
    Action.SKIP_RECORD: _Rule(_skip_record, needs=("record", "reason"), is_final=True),
    Action.HANDOVER_CONTINUOUS: _Rule(_handover(is_continuous=True), is_final=True),
    Action.HANDOVER_GAP: _Rule(_handover(is_continuous=False), is_final=True),
    Action.ERASE: _Rule(_erase, needs=("table", "keys", "reason"), is_final=True),
}
