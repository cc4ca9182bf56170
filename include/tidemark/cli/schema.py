"""`tidemark schema`: JSON Schema for editors."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer


class File(StrEnum):
    """Files that have a schema."""

    PIPELINE = "pipeline"
    SUITE = "suite"


def schema(
    file: Annotated[File, typer.Argument(help="Which file it describes.")] = File.PIPELINE,
) -> None:
    """Print the JSON Schema of a kind of file, for editors."""
    from tidemark.spec import pipeline_json_schema, suite_json_schema

    described = pipeline_json_schema() if file is File.PIPELINE else suite_json_schema()
    typer.echo(json.dumps(described, indent=2))
