"""`tidemark schema`: JSON Schema of files for editors, and of documents for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer


class Described(StrEnum):
    """What has a schema: a file, or what a verb prints with ``--json``."""

    PIPELINE = "pipeline"
    SUITE = "suite"
    STATUS = "status"
    CUT = "cut"


def schema(
    described: Annotated[
        Described, typer.Argument(metavar="NAME", help="pipeline, suite, status or cut.")
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


def _status() -> dict[str, Any]:
    from tidemark.cli.documents import StatusesDocument

    return StatusesDocument.model_json_schema()


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
    Described.STATUS: _status,
    Described.CUT: _cut,
}
