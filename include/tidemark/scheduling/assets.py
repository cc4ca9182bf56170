"""Target tables as Airflow assets, and what the event of a published cut tells about one."""

from __future__ import annotations

from collections.abc import Mapping
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


def event_extra(result: CutResult, table: TableSpec) -> Mapping[str, str | int]:
    """Cut, snapshot and rows of ``table`` in a published cut; ids and counts only.

    A table without changes is complete up to the new cut as well: its event has no snapshot and
    zero rows. Snapshot ids are text, as browsers round integers above 2**53.
    """
    source = str(table.source)
    done = {each.table: each for each in result.tables}
    return {
        "cut": result.cut,
        "attempt": result.attempt,
        "complete_until": _iso(result.complete_until_ms),
        **_rows(done.get(source)),
        **({"stopped": result.stopped[source]} if source in result.stopped else {}),
    }


def _rows(table: TableResult | None) -> Mapping[str, str | int]:
    return {
        "snapshot_id": str(table.snapshot_id) if table else "",
        "inserted_rows": table.inserted if table else 0,
        "updated_rows": table.updated if table else 0,
        "deleted_rows": table.deleted if table else 0,
        "truncated_rows": table.truncated if table else 0,
    }


def _iso(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, UTC).isoformat() if millis else ""
