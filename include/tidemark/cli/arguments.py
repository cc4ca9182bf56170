"""What verbs take: pipelines, caps, tables and attempts, checked before anything is opened."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from tidemark.errors import NameRefusedError
from tidemark.model.event import Reason
from tidemark.model.names import AttemptId, TableName, TagName, tag_name
from tidemark.model.quarantine import RecordPlace

if TYPE_CHECKING:
    from tidemark.model.until import Until as UntilCap
    from tidemark.spec import PipelineSpec

_ATTEMPT = re.compile(r"[a-z0-9_]{1,40}")


def _table(text: str) -> TableName:
    try:
        return TableName.parse(text)
    except NameRefusedError as error:
        expected = "a table as records name it, such as shop.orders"
        raise typer.BadParameter(f"{text!r} is not {expected}") from error


def _record(text: str) -> RecordPlace:
    try:
        return RecordPlace.parse(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not TOPIC:PARTITION:OFFSET") from error


def _attempt(text: str) -> AttemptId:
    if _ATTEMPT.fullmatch(text) is None:
        raise typer.BadParameter(f"{text!r} is not 1 to 40 of a-z, 0-9 and _")
    return AttemptId(text)


def _tag(text: str) -> TagName:
    try:
        return tag_name(text)
    except NameRefusedError as error:
        raise typer.BadParameter(error.what) from error


Pipeline = Annotated[str, typer.Argument(metavar="PIPELINE", help="Name of the pipeline.")]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document; its schema: tidemark schema."),
]
Until = Annotated[
    str | None,
    typer.Option(
        metavar="TIME|POSITION",
        help="Changes at or behind it wait: an ISO time of the source (UTC unless it says "
        "otherwise), or a position as the source shows it: a commitTs, FILE:POS of the binlog, "
        "or PostgreSQL's LSN.",
    ),
]
Tables = Annotated[
    list[TableName] | None,
    typer.Option(
        "--table",
        parser=_table,
        metavar="TABLE",
        help="Fold this source table only (database.table); may be repeated.",
    ),
]
MaintainedTables = Annotated[
    list[TableName] | None,
    typer.Option(
        "--table",
        parser=_table,
        metavar="TABLE",
        help="Maintain the target of this source table only (database.table); may be repeated.",
    ),
]
Table = Annotated[
    TableName,
    typer.Argument(parser=_table, metavar="TABLE", help="Source table (database.table)."),
]
Attempt = Annotated[
    str | None,
    typer.Option(
        parser=_attempt, metavar="ID", help="Name of this attempt, never used before; made up."
    ),
]
Tag = Annotated[
    TagName | None,
    typer.Option(
        parser=_tag,
        metavar="NAME",
        help="Tag all targets, if they hold what the source committed before --until, a time, and "
        "nothing later.",
    ),
]
OfTable = Annotated[
    TableName | None,
    typer.Option(
        "--table", parser=_table, metavar="TABLE", help="What is of this source table only."
    ),
]
WithCode = Annotated[
    Reason | None, typer.Option("--code", metavar="CODE", help="What has this code only.")
]
OfRecord = Annotated[
    RecordPlace | None,
    typer.Option(
        "--record",
        parser=_record,
        metavar="TOPIC:PARTITION:OFFSET",
        help="What is of this record only.",
    ),
]
AcknowledgedRecord = Annotated[
    RecordPlace | None,
    typer.Option(
        "--record",
        parser=_record,
        metavar="TOPIC:PARTITION:OFFSET",
        help="Take this record of a schema-change topic, which cannot be read, for one without "
        "effect; the message that stops the pipeline names it.",
    ),
]


def load_named(name: str) -> PipelineSpec:
    """The pipeline called ``name``; a wrong name ends with the nearest right one."""
    from tidemark.spec import pipeline_files, pipeline_named

    _refuse_unknown("pipeline", name, [file.stem for file in pipeline_files()])
    return pipeline_named(name)


def declared_tables(
    pipeline: PipelineSpec, asked: Iterable[TableName] | None
) -> tuple[TableName, ...]:
    """The tables that were asked for; the pipeline must fold them."""
    from tidemark.spec import OtherTables

    tables = tuple(asked or ())
    if pipeline.other_tables is OtherTables.IGNORE:
        for table in tables:
            _refuse_unknown("table", str(table), [str(spec.source) for spec in pipeline.tables])
    return tables


def refuse_plain_password(option: str, password: str | None) -> None:
    """A password on the command line is a reference, as all processes can read it there."""
    from tidemark.spec.references import holds_reference, keeps_secret

    if password is not None and not (holds_reference(password) and keeps_secret(password)):
        raise typer.BadParameter(
            f"{option} takes a reference alone: ${{env:NAME}} or ${{file:/path}}"
        )


def refuse_tag_without_time(until: UntilCap | None, tables: Collection[TableName]) -> None:
    """A tag is of all targets and of one moment; else a wrong usage."""
    if until is None or not until.is_time or tables:
        raise typer.BadParameter("--tag needs --until with a time, and all tables: no --table")


def _refuse_unknown(kind: str, name: str, known: Collection[str]) -> None:
    from tidemark.spec.faults import nearest

    if name not in known:
        near = nearest(name, known)
        hint = f"; did you mean {near}?" if near else ";"
        there = ", ".join(sorted(known)) or "none"
        raise typer.BadParameter(f"there is no {kind} {name!r}{hint} there is {there}")
