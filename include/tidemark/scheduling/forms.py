"""The forms of the DAGs: a field each for what somebody may say when a run is triggered.

Each field takes null: the form stars what does not, and is locked while such a field is empty. What
was emptied again it sends as null, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import Param

from tidemark.model.event import Reason
from tidemark.scheduling.actions import LABELS
from tidemark.scheduling.xcom import ACTION, CUT, MAINTAIN, REFOLD, RESYNC
from tidemark.spec import OtherTables, PipelineSpec
from tidemark.spec.until import POSITION_FORMS, position_form

# For whoever triggers by the REST API: it does not look at ``format``, the form does.
TIME = r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?"
# The position of another source gets as far as `plan`, which says what this one takes.
UNTIL = f"^({'|'.join((TIME, *(form.pattern for form in POSITION_FORMS)))})$"


def forms_of(pipeline: PipelineSpec) -> Mapping[str, dict[str, Param]]:
    """The form of each DAG that the pipeline has, by its family; Canal has no snapshots."""
    snapshots = {} if pipeline.source.format.is_canal else {RESYNC: resync_form(pipeline)}
    return {
        CUT: cut_form(pipeline),
        MAINTAIN: maintain_form(pipeline),
        REFOLD: refold_form(pipeline),
        **snapshots,
        ACTION: action_form(pipeline),
    }


def cut_form(pipeline: PipelineSpec) -> dict[str, Param]:
    """What a cut takes, and what it is for."""
    form = position_form(pipeline.source)
    # The form asks for a date-time by its calendar, which takes nothing else.
    by_calendar: dict[str, Any] = {} if form else {"format": "date-time"}
    place = f", or before this position ({form.words})" if form else ""
    return {
        "until": Param(
            None,
            type=["null", "string"],
            **by_calendar,
            pattern=UNTIL,
            title="Until",
            description="Take only what the source committed before this time (UTC unless it says "
            f"otherwise){place}. Empty: the end of the data interval of a scheduled or backfill "
            "run, else as far as the gate allows.",
        ),
        "tables": _tables(pipeline, "Fold these source tables"),
        "reason": _text(
            "Reason", "Why this run was started by hand; kept with the cut in the ledger."
        ),
        "hold": _switch(
            "Hold for approval",
            "Once the cut is audited, wait until somebody publishes or discards it.",
        ),
        "dry_run": _switch(
            "Dry run", "Only say in the log of fold what the cut would hold. Nothing is changed."
        ),
    }


def maintain_form(pipeline: PipelineSpec) -> dict[str, Param]:
    """Some tables, or all."""
    return {"tables": _tables(pipeline, "Maintain the targets of these source tables")}


def resync_form(pipeline: PipelineSpec) -> dict[str, Param]:
    """A table, and whether its snapshot is whole."""
    return {
        "table": _table(pipeline, "The source table that is read again."),
        "complete": _switch("Complete", "The connector has read all of the table."),
    }


def refold_form(pipeline: PipelineSpec) -> dict[str, Param]:
    """What a target is built of, and what it is called."""
    return {
        "table": _table(pipeline, "The source table whose target is built again."),
        "into": _text(
            "Into",
            "Name of a new table that stays beside the target. Empty: the new table replaces the "
            "target.",
        ),
        "as_of": _text(
            "As of",
            "Fold the table as this published cut had it (its number), or the newest one that goes "
            "no further than this time of the source (such as 2026-11-24T08:00); needs a name "
            "above.",
        ),
        "cancel": _switch("Cancel", "Give the refold of the table up instead."),
    }


def action_form(pipeline: PipelineSpec) -> dict[str, Param]:
    """An action, and the fields of which each action takes some."""
    return {
        "action": Param(
            None,
            type=["null", "string"],
            enum=[None, *LABELS],
            values_display={name.value: label for name, label in LABELS.items()},
            title="Action",
            description="What is decided.",
        ),
        "table": _table(
            pipeline, "Quarantine: what is of this source table. Empty: of all. Erase: keys of it."
        ),
        "code": Param(
            None,
            type=["null", "string"],
            enum=[None, *(code.value for code in Reason)],
            title="Code",
            description="Quarantine: what has this code. Empty: any.",
        ),
        "record": _text(
            "Record",
            "Quarantine, or the schema change that cannot be read: the one "
            "at TOPIC:PARTITION:OFFSET.",
        ),
        "keys": _text(
            "Keys",
            "Erase: the name of a file with keys, in the folder erase of the installation's state. "
            "Airflow keeps what is typed here: type no key, here or in the reason.",
        ),
        "transaction": _text("Transaction", "The id of the transaction to skip."),
        "statement": _text("Statement", "The position of the schema change to skip."),
        "reason": _text(
            "Reason", "Why the findings are right, or why it is skipped or given up; kept with it."
        ),
        "confirm": _switch("Confirm", "Do it, though it cannot be undone."),
    }


def _table(pipeline: PipelineSpec, what: str) -> Param:
    sources = [str(table.source) for table in pipeline.tables]
    closed = pipeline.other_tables is OtherTables.IGNORE
    choices: dict[str, Any] = {"enum": [None, *sources]} if closed else {"examples": sources}
    return Param(None, type=["null", "string"], **choices, title="Table", description=what)


def _tables(pipeline: PipelineSpec, what: str) -> Param:
    sources = [str(table.source) for table in pipeline.tables]
    # A pipeline that follows every table of its stream has more than its file names.
    closed = {"enum": sources} if pipeline.other_tables is OtherTables.IGNORE else {}
    return Param(
        None,
        type=["null", "array"],
        items={"type": "string", **closed},
        examples=sources,
        uniqueItems=True,
        title="Tables",
        description=f"{what} only. Empty: all.",
    )


def _text(title: str, what: str) -> Param:
    return Param(None, type=["null", "string"], maxLength=500, title=title, description=what)


def _switch(title: str, what: str) -> Param:
    return Param(False, type=["null", "boolean"], title=title, description=what)
