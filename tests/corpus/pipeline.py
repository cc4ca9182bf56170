"""The pipeline file of a case: what an operator of its source would write down."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.corpus.cases import Case, Column, Table, name_of
from tests.corpus.source import Role, Source
from tidemark.model.cut import GateMode
from tidemark.spec import PipelineSpec, load_pipeline

_UNTOLD = ("bit varying", "float")
"""Types that no record schema tells from another: BIT, and DOUBLE in old connectors."""
_MODES = {
    "decimal": "decimal.handling.mode",
    "time": "time.precision.mode",
    "bigint-unsigned": "bigint.unsigned.handling.mode",
    "binary": "binary.handling.mode",
    "interval": "interval.handling.mode",
    "hstore": "hstore.handling.mode",
    "field-names": "field.name.adjustment.mode",
}
_SOURCE_TYPES = {"string": "text", "isbn": "text"}
"""What cases write that have their types from a reader, not from the source; and of extensions."""
_RENAMED = {"adaptive_time_microseconds": "adaptive-microseconds"}


def make_pipeline(case: Case, source: Source, name: str, folder: Path) -> PipelineSpec:
    """The pipeline, written to ``folder`` and read as the product reads it.

    Its topics are those of the case behind ``name`` and a dot. `SpecError` when the product does
    not know such a source.
    """
    file = folder / f"{name}.yaml"
    content = laid_over(pipeline_content(case, source, name), case.operator)
    if case.schemas:
        schemas = folder / f"{name}_schemas"
        schemas.mkdir()
        for number, schema in case.schemas.items():
            (schemas / f"{number}.avsc").write_text(json.dumps(schema))
        content["source"]["avro"] = {"folder": str(schemas)}
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    return load_pipeline(file, suites=folder)


def pipeline_content(case: Case, source: Source, name: str) -> dict[str, Any]:
    """What the file says."""
    return {
        "name": name,
        "description": case.title,
        "owner": "corpus",
        "schedule": None,
        "source": {
            "format": source.format.value,
            "gate": gate_of(case, source).value,
            "topics": {
                role.value: [f"{name}.{topic}" for topic in source.topics(role)]
                for role in Role
                if source.topics(role)
            },
            **_modes(case.connector),
        },
        "other-tables": "follow",
        "on-drop": "empty",  # A case has no table that its source dropped.
        "tables": [
            declared
            for table_name, table in sorted(case.tables.items())
            if (declared := _declared(table_name, table, case, source))
        ],
    }


def laid_over(content: Mapping[str, Any], operator: Mapping[str, Any]) -> dict[str, Any]:
    """The file with what an ``operator`` has for the case: by field, of other values the whole."""
    merged = dict(content)
    for name, value in operator.items():
        below = merged.get(name)
        if isinstance(below, dict) and isinstance(value, dict):
            value = laid_over(below, value)
        merged[name] = value
    return merged


def gate_of(case: Case, source: Source) -> GateMode:
    """The strongest gate that the recording has proofs for."""
    if case.is_gated:
        return GateMode.WATERMARK
    proven = source.has_positions and source.topics(Role.TRANSACTIONS)
    return GateMode.TRANSACTION if proven else GateMode.NONE


def _modes(connector: Mapping[str, str]) -> dict[str, Any]:
    modes = {
        mode: _RENAMED.get(connector[setting], connector[setting]).replace("_", "-")
        for mode, setting in _MODES.items()
        if setting in connector
    }
    return {"modes": modes} if modes else {}


def _declared(name: str, table: Table, case: Case, source: Source) -> dict[str, Any]:
    """What nobody but the operator can know of a table; empty when the stream tells all."""
    told: dict[str, Any] = {}
    if case.lacks_keys and table.key:
        told["key"] = list(table.key)
    columns = {
        column.name: _SOURCE_TYPES.get(column.source_type, column.source_type)
        for column in table.columns
        if _is_untold(column, source)
    }
    if columns:
        told["columns"] = columns
    return {"source": str(name_of(name)), **told, "expectations": "none"} if told else {}


def _is_untold(column: Column, source: Source) -> bool:
    """Whether no record, DDL or schema change names the type, or names it wrong."""
    if source.format.is_canal or source.topics(Role.SCHEMA_CHANGES):
        return False
    return not source.tells_columns or column.source_type.startswith(_UNTOLD)
