"""The form by which the page has a DAG run: the fields of its parameters, some filled in. Pure.

Airflow's own form (3.3) takes no values by its address.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from airflow.sdk import Param

from tidemark.scheduling.actions import LABELS, Action, fields_of
from tidemark.scheduling.forms import forms_of
from tidemark.scheduling.xcom import ACTION, CUT, MAINTAIN, REFOLD, RESYNC
from tidemark.spec import PipelineSpec

Forms = Mapping[str, Mapping[str, Param]]
"""By the family of the DAG, the parameters of each."""
TITLES: Mapping[str, str] = {
    CUT: "Publish what changed",
    MAINTAIN: "Maintain the tables",
    REFOLD: "Build a target again from the changelog",
    RESYNC: "Have a table read again by a snapshot",
    ACTION: "Decide what cuts wait for",
}
"""What the page calls a run of each family of DAGs."""
NEEDED: Mapping[str, tuple[str, ...]] = {REFOLD: ("table",), RESYNC: ("table",)}
"""The fields without which a run of a family is refused."""
DROPS = (
    "It gives up all that waits when the run begins and that these fields name, also what came "
    "after you looked. For one change alone, fill in its record."
)


class Input(StrEnum):
    """How a field is filled in."""

    TEXT = "text"
    LINES = "lines"
    CHOICE = "choice"
    SWITCH = "switch"


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter of the DAG. choices: values and labels; of a text, what is likely.

    is_needed: the run would be refused without it.
    """

    name: str
    title: str
    what: str
    input: Input
    value: str
    choices: tuple[tuple[str, str], ...]
    is_needed: bool


@dataclass(frozen=True, slots=True)
class Form:
    """What is asked before a DAG runs.

    fixed: parameters that are not asked for, as JSON has them. has_schedule: unpaused, the DAG also
    runs by itself. note: what a run does beyond what is filled in; empty, nothing.
    """

    dag_id: str
    title: str
    fields: tuple[Field, ...]
    fixed: Mapping[str, object]
    has_schedule: bool
    note: str


def dag_of(family: str, pipeline: PipelineSpec) -> str:
    """The id of the DAG of that family."""
    return f"{family}__{pipeline.name}"


def form_of(family: str, pipeline: PipelineSpec, given: Mapping[str, str]) -> Form | None:
    """The form of a DAG with what is ``given`` filled in; of an action, the fields that it takes.

    None where there is no such DAG, or it does not take all of that: without a table or a code, a
    run would do more than what was meant. No link confirms anything.
    """
    params = forms_of(pipeline).get(family)
    asked = None if params is None else _asked(family, params, given)
    if asked is None:
        return None
    action, fields, fixed = asked
    title = TITLES[family] if action is None else LABELS[action]
    schedules = {CUT: pipeline.schedule, MAINTAIN: pipeline.maintenance.schedule}
    has_schedule = schedules.get(family) is not None
    note = DROPS if action is Action.QUARANTINE_DROP else ""
    return Form(dag_of(family, pipeline), title, fields, fixed, has_schedule, note)


def takes(family: str, params: Mapping[str, Param], given: Mapping[str, str]) -> bool:
    """Whether the form of a DAG with ``params`` takes all that is ``given``."""
    return _asked(family, params, given) is not None


def _asked(
    family: str, params: Mapping[str, Param], given: Mapping[str, str]
) -> tuple[Action | None, tuple[Field, ...], Mapping[str, object]] | None:
    """The action that is meant, what is asked and what is fixed; None as `form_of` says."""
    named = given.get("action", "") if family == ACTION else ""
    action = Action(named) if named in LABELS else None
    needed = NEEDED.get(family, ())
    shown = {name: name in needed for name in params} if action is None else fields_of(action)
    fixed: dict[str, object] = {
        name: param.value for name, param in params.items() if name not in shown
    }
    if action is not None:
        fixed["action"] = action.value
        given = {name: text for name, text in given.items() if name != "action"}
    fields = {
        name: _field(name, param, given.get(name, ""), is_needed=shown[name])
        for name, param in params.items()
        if name in shown
    }
    if any(name not in fields or not _takes(fields[name], text) for name, text in given.items()):
        return None
    return action, tuple(fields.values()), fixed


def _takes(field: Field, text: str) -> bool:
    """Whether a link may fill ``text`` in."""
    if field.name == "confirm":
        return False
    if field.input is Input.SWITCH:
        return text in ("true", "false")
    return field.input is not Input.CHOICE or text in {value for value, _ in field.choices}


def _field(name: str, param: Param, value: str, *, is_needed: bool) -> Field:
    schema: Mapping[str, Any] = param.schema
    labels: Mapping[str, str] = schema.get("values_display", {})
    likely = [choice for choice in schema.get("enum", schema.get("examples", ())) if choice]
    return Field(
        name=name,
        title=schema["title"],
        what=param.description or "",
        input=_input(schema),
        value=value,
        choices=tuple((choice, labels.get(choice, choice)) for choice in likely),
        is_needed=is_needed,
    )


def _input(schema: Mapping[str, Any]) -> Input:
    if "array" in schema["type"]:
        return Input.LINES
    if "boolean" in schema["type"]:
        return Input.SWITCH
    return Input.CHOICE if "enum" in schema else Input.TEXT
