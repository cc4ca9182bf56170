"""The JSON Schema that editors check with agrees with what is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # ships no types

from tidemark.spec import load_pipelines, pipeline_json_schema, suite_json_schema
from tidemark.spec.document import read_document
from tidemark.spec.load import expectations_folder, pipelines_folder

PIPELINES = sorted(pipelines_folder().glob("*.yaml"))
SUITES = sorted(expectations_folder().glob("*.yaml"))


def errors(schema: dict[str, Any], content: object) -> list[str]:
    Draft202012Validator.check_schema(schema)
    return [error.message for error in Draft202012Validator(schema).iter_errors(content)]


@pytest.mark.parametrize("file", PIPELINES, ids=lambda file: file.stem)
def test_pipelines_of_the_project_are_valid(file: Path) -> None:
    assert errors(pipeline_json_schema(), read_document(file).content) == []


@pytest.mark.parametrize("file", SUITES, ids=lambda file: file.stem)
def test_suites_of_the_project_are_valid(file: Path) -> None:
    assert errors(suite_json_schema(), read_document(file).content) == []


def test_slips_are_underlined() -> None:
    content = read_document(PIPELINES[0]).content
    assert isinstance(content, dict)
    wrong = {**content, "ovner": "me", "name": "Shop", "publish": {"consistency": "all"}}
    assert len(errors(pipeline_json_schema(), wrong)) == 3


def test_every_key_is_described_and_in_kebab_case() -> None:
    schema = pipeline_json_schema()
    models = [schema, *schema["$defs"].values()]
    fields = {key: field for model in models for key, field in model.get("properties", {}).items()}
    assert "target-namespace" in fields
    assert not [key for key in fields if "_" in key]
    assert not [key for key, field in fields.items() if not field.get("description")]


def test_a_spec_written_as_json_reads_back() -> None:
    for pipeline in load_pipelines():
        text = pipeline.model_dump_json(by_alias=True, exclude_unset=True)
        assert type(pipeline).model_validate_json(text) == pipeline
