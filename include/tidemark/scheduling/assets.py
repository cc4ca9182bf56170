"""Target tables as Airflow assets, and what the event of a published cut tells about one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from urllib.parse import quote

from airflow.sdk import Asset

from tidemark.model.result import CutResult, TableResult
from tidemark.spec import PipelineSpec, TableSpec


def asset_of(pipeline: PipelineSpec, table: TableSpec) -> Asset:
    """The asset of a target; other DAGs schedule on it by its name, ``namespace.table``."""
    namespace, target = pipeline.target_namespace, table.target
    return Asset(
        name=f"{namespace}.{target}",
        uri=f"iceberg://{quote(namespace, safe='')}/{quote(target, safe='')}",
        group="tidemark",
        extra={"pipeline": pipeline.name, "source": str(table.source)},
    )


def events_of(
    pipeline: PipelineSpec, result: CutResult, changed: Iterable[TableResult]
) -> list[tuple[Asset, Mapping[str, str | int]]]:
    """One event with its extra for each of the ``changed`` tables, which the pipeline file names.

    By target: a source may have renamed the table since.
    """
    assets = {asset.name: asset for asset in (asset_of(pipeline, t) for t in pipeline.tables)}
    return [(assets[table.target], event_extra(result, table)) for table in changed]


def event_extra(result: CutResult, table: TableResult) -> Mapping[str, str | int]:
    """Cut, snapshot and rows of ``table`` in a published cut; ids and counts only.

    Snapshot ids are text, as browsers round integers above 2**53.
    """
    return {
        "cut": result.cut,
        "attempt": result.attempt,
        "complete_until": _iso(result.complete_until_ms),
        "snapshot_id": str(table.snapshot_id),
        "inserted_rows": table.inserted,
        "updated_rows": table.updated,
        "deleted_rows": table.deleted,
        "truncated_rows": table.truncated,
    }


def _iso(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, UTC).isoformat() if millis else ""
