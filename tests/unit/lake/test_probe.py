"""What doctors leave that die amid their trial of a catalog."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tidemark.lake.catalog import TableId
from tidemark.lake.ledger import ensure_table
from tidemark.lake.probe import PROBE, probe_table
from tidemark.lake.refs import DAY_MS

ROWS = pa.schema([pa.field("id", pa.int64())])
LEFT = "_tidemark_probe_1"


@pytest.mark.parametrize(
    ("name", "properties", "rows", "days", "stays"),
    [
        pytest.param(LEFT, {PROBE: "true"}, 0, 2, False, id="dead"),
        pytest.param(LEFT, {PROBE: "true"}, 0, 0, True, id="perhaps alive"),
        pytest.param(LEFT, {PROBE: "true"}, 1, 2, True, id="not empty"),
        pytest.param(LEFT, {}, 0, 2, True, id="of somebody else"),
        pytest.param("items", {PROBE: "true"}, 0, 2, True, id="of another name"),
    ],
)
def test_the_next_doctor_removes_what_a_dead_one_left(  # noqa: PLR0913  a case is a row
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    properties: dict[str, str],
    rows: int,
    days: int,
    stays: bool,
) -> None:
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    catalog.create_namespace("shop")
    left = ensure_table(catalog, TableId("shop", name), ROWS, properties)
    if rows:
        left.append(pa.table({"id": [1] * rows}, schema=ROWS))
    now_ns = time.time_ns() + days * DAY_MS * 1_000_000
    monkeypatch.setattr("tidemark.lake.probe.time_ns", lambda: now_ns)
    with probe_table(catalog, "shop") as table:
        assert table.properties[PROBE] == "true"
    assert [parts[-1] for parts in catalog.list_tables("shop")] == [name] * stays
    assert any(tmp_path.rglob("*.avro")) == stays


def test_a_namespace_that_is_made_stays(tmp_path: Path) -> None:
    """A first run that begins meanwhile makes its tables there."""
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    with probe_table(catalog, "shop"):
        pass
    assert catalog.namespace_exists("shop")
    assert catalog.list_tables("shop") == []
