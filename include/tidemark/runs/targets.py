"""Which Iceberg table follows which source table."""

from __future__ import annotations

from collections.abc import Mapping

from tidemark.lake.catalog import TableId
from tidemark.lake.history import History
from tidemark.model.names import TableName
from tidemark.model.progress import Progress
from tidemark.spec import PipelineSpec


def targets_of(
    pipeline: PipelineSpec, history: History, progress: Progress
) -> Mapping[TableName, TableId]:
    """The declared tables, and those that were followed without being declared."""
    declared = {spec.source: spec.target for spec in pipeline.tables}
    results = (table for entry in history.published for table in entry.result.tables)
    seen = {TableName.parse(result.table) for result in results} | progress.behind.keys()
    followed = {table: table.table for table in seen - declared.keys()}
    return {
        table: TableId(pipeline.target_namespace, target)
        for table, target in (declared | followed).items()
    }
