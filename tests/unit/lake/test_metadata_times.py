"""PUB-1: no time in a table's metadata steps back, or Iceberg in Java reads the table no more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyiceberg.table.update
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.utils.datetime import datetime_to_millis

from tidemark.lake.catalog import TableId, mend_times, open_catalog
from tidemark.lake.publication import update_mains
from tidemark.lake.refs import RefUpdate, create_branch, main_head
from tidemark.spec import CatalogSpec

ROWS = pa.schema([pa.field("id", pa.int64())])
TABLE = TableId("db", "t")
LAG_MS = 180_000
JAVA_ALLOWS_MS = 60_000


@pytest.fixture
def spec(tmp_path: Path) -> CatalogSpec:
    uri = f"sqlite:///{tmp_path}/catalog.db"
    return CatalogSpec.model_validate({"name": "lake", "uri": uri, "warehouse": str(tmp_path)})


@pytest.fixture
def catalog(spec: CatalogSpec) -> Catalog:
    catalog = open_catalog(spec)
    catalog.create_namespace("db")
    catalog.create_table(TABLE.parts, ROWS).append(ROWS.empty_table())
    return catalog


@contextmanager
def clock_behind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The block runs on a machine whose clock is `LAG_MS` behind."""
    with monkeypatch.context() as changed:
        changed.setattr(
            pyiceberg.table.update,
            "datetime_to_millis",
            lambda now: datetime_to_millis(now) - LAG_MS,
        )
        yield


def is_readable(metadata: TableMetadata) -> bool:
    """What `org.apache.iceberg.TableMetadata` looks at as it is made."""
    return all(
        after - before >= -JAVA_ALLOWS_MS
        for log in (metadata.snapshot_log, metadata.metadata_log)
        for times in [[*(entry.timestamp_ms for entry in log), metadata.last_updated_ms]]
        for before, after in zip(times, times[1:], strict=False)
    )


def stage(catalog: Catalog, branch: str, number: int) -> RefUpdate:
    base = main_head(catalog.load_table(TABLE.parts))
    assert base is not None
    create_branch(catalog.load_table(TABLE.parts), branch, base)
    table = catalog.load_table(TABLE.parts)
    table.append(pa.table({"id": [number]}, schema=ROWS), branch=branch)
    return RefUpdate(TABLE, base, table.refs()[branch].snapshot_id, (branch,))


def metadata_of(catalog: Catalog) -> TableMetadata:
    return catalog.load_table(TABLE.parts).metadata


def test_a_clock_that_is_behind_leaves_a_table_readable(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    update_mains(catalog, [stage(catalog, "tidemark_1_a", 1)])
    staged = stage(catalog, "tidemark_2_a", 2)
    before = metadata_of(catalog)
    with clock_behind(monkeypatch):
        update_mains(catalog, [staged])
        assert is_readable(metadata_of(catalog))
        with catalog.load_table(TABLE.parts).transaction() as change:
            change.set_properties({"owner": "somebody"})
    after = metadata_of(catalog)
    assert is_readable(after)
    assert after.last_updated_ms >= before.last_updated_ms
    assert after.snapshot_log[-1].snapshot_id == after.current_snapshot_id == staged.snapshot


def test_what_an_earlier_version_wrote_is_mended(
    catalog: Catalog, spec: CatalogSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged = stage(catalog, "tidemark_1_a", 1)
    earlier = SqlCatalog("lake", uri=spec.uri, warehouse=spec.warehouse)
    with clock_behind(monkeypatch):
        update_mains(earlier, [staged])
    broken = metadata_of(catalog)
    assert not is_readable(broken)
    mend_times(catalog, TABLE)
    mended = metadata_of(catalog)
    assert is_readable(mended)
    assert mended.snapshots == broken.snapshots
    assert mended.refs == broken.refs
    place = catalog.load_table(TABLE.parts).metadata_location
    mend_times(catalog, TABLE)
    assert catalog.load_table(TABLE.parts).metadata_location == place
