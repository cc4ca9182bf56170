"""JSON Schema of the files, for editors that complete and check while somebody types."""

from __future__ import annotations

from typing import Any

from tidemark.spec.audit import SuiteSpec
from tidemark.spec.base import SpecModel
from tidemark.spec.pipeline import PipelineSpec

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def pipeline_json_schema() -> dict[str, Any]:
    """Schema of a pipeline file."""
    return _json_schema(PipelineSpec)


def suite_json_schema() -> dict[str, Any]:
    """Schema of an expectation suite."""
    return _json_schema(SuiteSpec)


def _json_schema(model: type[SpecModel]) -> dict[str, Any]:
    return {"$schema": _DIALECT, **model.model_json_schema(by_alias=True)}
