"""Tables that a cut leaves as they are, before anything of them is read, and what to do then."""

from __future__ import annotations

from collections.abc import Mapping

from tidemark.errors import TableStoppedError
from tidemark.model.names import TableName
from tidemark.runs.ddl_effects import DdlStop
from tidemark.spec import PipelineSpec, TableSpec


def refuse_late(table: TableName, late: Mapping[TableName, str]) -> None:
    """Raise when a change that was promised to be there came after its cut (GATE-5)."""
    if table in late:
        raise TableStoppedError(
            f"{table}: {late[table]}",
            state="the table stays as it was last published, without these changes; they wait in "
            "the changelog",
            next_step="find out why the source sent them late, then fold the table by a new "
            "pipeline from a new changefeed, or take it out of the pipeline file",
        )


def refuse_statement(
    pipeline: PipelineSpec, spec: TableSpec, stops: Mapping[TableName | None, DdlStop]
) -> None:
    """Raise when DDL stops the table."""
    stop = stops.get(spec.source, stops.get(None))
    if stop is None:
        return
    rebuild = "fold the table into a new target from a new snapshot of the source, or take it out "
    rebuild += "of the pipeline file"
    if stop.position is not None:
        skip = f"tidemark skip {pipeline.name} --statement {stop.position} --reason WHY"
        rebuild = f"did it leave all rows and columns as they were? Then: {skip}; else {rebuild}"
    raise TableStoppedError(
        f"{spec.source} cannot be followed: {stop.why}",
        state="the table stays as it was last published; its records wait in the changelog",
        next_step=rebuild,
    )


def refuse_shared(spec: TableSpec, owner: TableName) -> None:
    """Raise when the target belongs to another table."""
    if owner != spec.source:
        raise TableStoppedError(
            f"{spec.source} and {owner} would share the target {spec.target}",
            state=f"{owner} is folded into it, {spec.source} is not folded",
            next_step=f"give {spec.source} a target: of its own in the pipeline file",
        )
