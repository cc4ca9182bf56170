"""What maintenance is due, by the files of a table: rules alone, no engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tidemark.model.maintenance import (
    DAY_MS,
    DataFile,
    MaintenanceResult,
    Policy,
    TableFiles,
    TableMaintenance,
    due_work,
)
from tidemark.spec.maintenance import MaintenanceSpec, PolicySpec

POLICY = Policy(
    small_files=3,
    max_deleted=0.1,
    max_delete_files=4,
    max_manifests=10,
    keep_days=5,
    max_snapshots=4,
    orphan_days=3,
)
NOW = 100 * DAY_MS
SMALL, LARGE = DataFile(74, 10), DataFile(75, 10)


def table(*files: DataFile, **more: Any) -> TableFiles:
    return replace(TableFiles(100, {"": files}), **more)


@pytest.mark.parametrize(
    ("found", "rewrites"),
    [
        pytest.param(table(), 0, id="no files"),
        pytest.param(table(SMALL, SMALL), 0, id="two small files"),
        pytest.param(table(SMALL, SMALL, SMALL, LARGE), 3, id="three small files"),
        pytest.param(table(LARGE, LARGE, LARGE), 0, id="three large files"),
        pytest.param(
            TableFiles(100, {"a": [SMALL, SMALL], "b": [SMALL]}), 0, id="in two partitions"
        ),
        pytest.param(table(DataFile(75, 100, deleted=9)), 0, id="few deleted rows"),
        pytest.param(table(DataFile(75, 100, deleted=10)), 1, id="a tenth of the rows"),
        pytest.param(table(DataFile(75, 100, 3, delete_files=3)), 0, id="three delete files"),
        pytest.param(table(DataFile(75, 100, 4, delete_files=4)), 1, id="four delete files"),
        pytest.param(
            table(SMALL, SMALL, DataFile(10, 10, deleted=10)), 3, id="small and worn counts once"
        ),
        pytest.param(table(DataFile(75, 0)), 0, id="no rows"),
    ],
)
def test_files_are_rewritten_by_size_and_by_deletes(found: TableFiles, rewrites: int) -> None:
    due = due_work(found, POLICY, NOW)
    assert due.rewrites == rewrites
    assert (due.bytes > 0) == (rewrites > 0)


@pytest.mark.parametrize(
    ("days", "expires"),
    [
        pytest.param([], 0, id="none"),
        pytest.param([1, 2, 3, 4], 0, id="young and few"),
        pytest.param([1, 4, 6, 7], 2, id="older than five days"),
        pytest.param([1, 2, 3, 4, 4.5, 4.7], 2, id="beyond the newest four"),
        pytest.param([1, 2, 3, 4, 4.5, 9], 2, id="both"),
    ],
)
def test_snapshots_expire_by_age_and_by_number(days: list[float], expires: int) -> None:
    made = [int(NOW - day * DAY_MS) for day in days]
    due = due_work(table(snapshots=made), POLICY, NOW)
    assert due.expires == expires
    assert sum(one < due.expires_before for one in made) == expires


def test_manifests_and_shared_delete_files_are_due_in_numbers() -> None:
    assert due_work(table(manifests=10, delete_files=2), POLICY, NOW).manifests == 0
    due = due_work(table(manifests=11, delete_files=3), POLICY, NOW)
    assert (due.manifests, due.deletes) == (11, True)


def test_a_pipeline_says_what_differs_from_the_installation() -> None:
    installation = PolicySpec(keep_days=30, max_deleted=0.5)
    pipeline = MaintenanceSpec.model_validate({"schedule": None, "keep-days": 5})
    policy = pipeline.policy(installation)
    assert (policy.keep_days, policy.max_deleted) == (5, 0.5)
    assert MaintenanceSpec().policy(installation).keep_days == 30


def test_a_result_is_read_as_it_was_written() -> None:
    done = TableMaintenance("db.a").counted({"rewritten": 2}).counted({"rewritten": 1, "bytes": 9})
    assert (done.rewritten, done.bytes, done.is_due) == (3, 9, True)
    result = MaintenanceResult((done, TableMaintenance("db.b", skipped="why")), "an error", True)
    assert MaintenanceResult.from_json(result.to_json()) == result
    assert not result.tables[1].is_due
