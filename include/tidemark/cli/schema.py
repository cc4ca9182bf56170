"""`tidemark schema`: JSON Schema of files for editors, and of documents for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import typer


class Described(StrEnum):
    """What has a schema: a file, or what a verb prints with ``--json``."""

    PIPELINE = "pipeline"
    SUITE = "suite"
    STATUS = "status"
    INIT = "init"
    CUT = "cut"
    PLAN = "plan"
    VALIDATE = "validate"
    DOCTOR = "doctor"
    HISTORY = "history"
    QUARANTINE = "quarantine"
    MAINTAIN = "maintain"
    ERASE = "erase"
    ACTION = "action"


def schema(
    described: Annotated[
        Described,
        typer.Argument(
            metavar="NAME",
            help="A file: pipeline or suite. A verb: cut, for accept too, init, plan, status, "
            "validate, doctor, history, maintain, or quarantine for its list and show; action for "
            "all others.",
        ),
    ] = Described.PIPELINE,
) -> None:
    """Print a JSON Schema: of a file for editors, or of what a verb prints with --json."""
    typer.echo(json.dumps(_SCHEMAS[described](), indent=2))


def _pipeline() -> dict[str, Any]:
    from tidemark.spec import pipeline_json_schema

    return pipeline_json_schema()


def _suite() -> dict[str, Any]:
    from tidemark.spec import suite_json_schema

    return suite_json_schema()


def _document(name: str) -> dict[str, Any]:
    from tidemark.cli import documents

    schema: dict[str, Any] = getattr(documents, name).model_json_schema()
    return schema


def _cut() -> dict[str, Any]:
    from pydantic import TypeAdapter

    from tidemark.model.result import CutResult
    from tidemark.model.stored_state import VERSION

    schema = TypeAdapter(CutResult).json_schema()
    version = {"description": "of what Tidemark stores", "type": "integer", "const": VERSION}
    schema["properties"]["version"] = version
    return schema


_SCHEMAS: Mapping[Described, Callable[[], dict[str, Any]]] = {
    Described.PIPELINE: _pipeline,
    Described.SUITE: _suite,
    Described.STATUS: partial(_document, "StatusesDocument"),
    Described.INIT: partial(_document, "DraftDocument"),
    Described.CUT: _cut,
    Described.PLAN: partial(_document, "PlanDocument"),
    Described.VALIDATE: partial(_document, "FaultsDocument"),
    Described.DOCTOR: partial(_document, "FindingsDocument"),
    Described.HISTORY: partial(_document, "HistoryDocument"),
    Described.QUARANTINE: partial(_document, "QuarantineDocument"),
    Described.MAINTAIN: partial(_document, "MaintenanceDocument"),
    Described.ERASE: partial(_document, "ErasureDocument"),
    Described.ACTION: partial(_document, "ActionDocument"),
}
