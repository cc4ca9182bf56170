"""Tables of every field of the files, from the fields' own descriptions, for docs/configure.md."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from reference.pages import with_tables
from tidemark.spec.audit import SuiteSpec
from tidemark.spec.base import SpecModel
from tidemark.spec.installation import InstallationSpec
from tidemark.spec.pipeline import PipelineSpec

MODELS: Mapping[str, type[SpecModel]] = {
    "pipeline": PipelineSpec,
    "suite": SuiteSpec,
    "installation": InstallationSpec,
}
_HEADER = ("| key | takes | default | what |", "| --- | --- | --- | --- |")
_WORDS = {"string": "text", "integer": "number", "boolean": "true or false"}
_FORMATS = {"date": "date", "path": "folder", "file-path": "file", "password": "text"}
_Schema = Mapping[str, Any]


def with_fields(page: str) -> str:
    """``page`` with the table of a model between each ``<!-- fields: NAME -->`` and its end."""
    return with_tables(page, "fields", lambda name: field_table(MODELS[name]))


def field_table(model: type[SpecModel]) -> Iterator[str]:
    """A Markdown table with a row for every key of ``model``, those of its parts included."""
    schema = model.model_json_schema(by_alias=True)
    yield from _HEADER
    yield from _rows(schema, schema.get("$defs", {}), "")


def _rows(schema: _Schema, parts: _Schema, prefix: str) -> Iterator[str]:
    required = schema.get("required", ())
    for name, field in schema["properties"].items():
        kind, key = _resolved(field, parts), f"{prefix}{name}"
        inner = _resolved(kind.get("items", {}), parts)
        if "properties" in kind:
            yield from _rows(kind, parts, f"{key}.")
        elif "properties" in inner:
            yield from _rows(inner, parts, f"{key}[].")
        else:
            cells = (
                f"`{key}`",
                _takes(kind, parts),
                _default(field, is_required=name in required),
                field.get("description", ""),
            )
            yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _resolved(field: _Schema, parts: _Schema) -> _Schema:
    """``field`` with the part that it refers to, which it may do without."""
    parted = [choice for choice in field.get("anyOf", ()) if "$ref" in choice]
    is_model = parted and "properties" in _resolved(parted[0], parts)
    reference = parted[0]["$ref"] if is_model else field.get("$ref")
    return field if reference is None else {**parts[reference.rpartition("/")[2]], **field}


def _takes(kind: _Schema, parts: _Schema) -> str:
    if "enum" in kind:
        return ", ".join(f"`{value}`" for value in kind["enum"])
    if "anyOf" in kind:
        choices = (_takes(_resolved(choice, parts), parts) for choice in kind["anyOf"])
        return " or ".join(dict.fromkeys(choices))
    if kind.get("type") == "array":
        return f"list of {_takes(_resolved(kind['items'], parts), parts)}"
    if kind.get("type") == "object":
        return "map"
    word: str = kind.get("type", "any value")
    return _FORMATS.get(kind.get("format", ""), _WORDS.get(word, word))


def _default(field: _Schema, *, is_required: bool) -> str:
    if is_required:
        return "required"
    return f"`{json.dumps(field['default'])}`" if "default" in field else ""
