"""Where a cut ends, as a table goes on otherwise behind a statement (SCHEMA-11)."""

from __future__ import annotations

from tidemark.model.names import TableName
from tidemark.model.rekey import first_rekey
from tidemark.model.until import Barrier
from tidemark.runs.ddl_effects import DdlEffects
from tidemark.runs.targets import is_folded
from tidemark.spec import PipelineSpec


def barrier_of(pipeline: PipelineSpec, table: TableName, effects: DdlEffects) -> Barrier | None:
    """The first statement that gives ``table`` another key; one that the file has stays (KEY-1)."""
    rekey = first_rekey(effects.rekeyed.get(table, ()))
    has_own = any(spec.source == table and spec.key for spec in pipeline.tables)
    if rekey is None or has_own or not is_folded(pipeline, (table.schema, table.table)):
        return None
    return Barrier(table, rekey.position)
