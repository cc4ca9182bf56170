"""Staged rows: what of them is lost between staging and merge fails the attempt by name (ACC-4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import functions as F

from tests.spark.lake.test_merge import KEYS, context, make, published, schema_of, stage
from tests.support.staged import NAMESPACE
from tidemark.errors import AccountingError, StorageError, TidemarkError
from tidemark.lake.catalog import TableId
from tidemark.lake.effect import Effect, refuse_unaccounted
from tidemark.lake.publication import update_mains
from tidemark.lake.spark_errors import spark_errors
from tidemark.lake.staged import StagedRows, drop_staged, dropping_staged
from tidemark.lake.staging import stage_table
from tidemark.model.names import quote
from tidemark.runs.world import World

SCHEMA = schema_of(KEYS["long"])


def remove_files(world: World, rows: StagedRows, most: int) -> None:
    files = sorted(Path(rows.written.location).rglob("*.parquet"))
    assert len(files) > 1, "several files, so that one of them is not all"
    for file in files[:most]:
        file.unlink()


def empty(world: World, rows: StagedRows) -> None:
    name = quote(*rows.written.table)
    world.spark.table(name).limit(0).writeTo(name).overwrite(F.lit(True))


def skip_a_file(world: World, rows: StagedRows) -> None:
    """As a reader does that passes over one of the files."""
    table = world.catalog.load_table(rows.written.table[1:])
    file = next(iter(table.scan().plan_files())).file
    with table.transaction() as change, change.update_snapshot().overwrite() as snapshot:
        snapshot.delete_data_file(file)


@dataclass(frozen=True)
class Loss:
    """How staged rows get lost, and the error that says so."""

    lose: Callable[[World, StagedRows], None]
    error: type[TidemarkError]
    says: str


GONE = "a file that a table names is not there"
LOSSES = {
    "all files are gone": Loss(partial(remove_files, most=100), StorageError, GONE),
    "one file is gone": Loss(partial(remove_files, most=1), StorageError, GONE),
    "nothing is read": Loss(empty, AccountingError, "8 rows were staged .* accounts for 0:"),
    "a file is passed over": Loss(
        skip_a_file, AccountingError, "8 rows were staged .* accounts for [1-7]:"
    ),
}


@pytest.mark.parametrize("is_first", [True, False], ids=["empty target", "target with rows"])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_lost_staged_rows_fail_the_attempt(
    world: World, tmp_path: Path, loss: Loss, is_first: bool
) -> None:
    target = make(world, f"lost_{tmp_path.name.replace('-', '_')}", SCHEMA)
    before = {}
    if not is_first:
        there = stage(world, tmp_path / "1", target, SCHEMA, ["U1@A1=a", "U9@A2=b"])
        update_mains(world.catalog, [stage_table(context(world, target, 1), SCHEMA, there)[0]])
        before = {1: "a", 9: "b"}
    changes = [f"U{key}@B{key}=new" for key in range(1, 9)]
    rows = stage(world, tmp_path / "2", target, SCHEMA, changes)
    loss.lose(world, rows)
    with pytest.raises(loss.error, match=loss.says), spark_errors("the fold"):
        stage_table(context(world, target, 2), SCHEMA, rows)
    assert published(world, target) == before


def test_a_merge_that_inserts_what_it_was_to_update_fails_the_attempt() -> None:
    target = TableId("db", "opposite")
    rows = StagedRows(
        None, upserts=3, deletes=0, conversion_error=None, conversion_errors=0, unavailable=0
    )
    expected = Effect(inserted=1, updated=1, known=1)
    refuse_unaccounted(target, rows, replace(expected, known=0), expected)
    with pytest.raises(AccountingError, match="accounts for 3: .* the merge inserted 2, updated 0"):
        refuse_unaccounted(target, rows, Effect(inserted=2), expected)


def test_staged_rows_of_attempts_that_are_over_are_removed(world: World, tmp_path: Path) -> None:
    target = TableId("db", "over")
    rows = stage(world, tmp_path, target, SCHEMA, ["U1@A1=a"])
    branch = rows.written.branch
    folder = Path(rows.written.location).parent
    (folder / "of_a_killed_task.parquet").touch()
    table = rows.written.table[1:]
    drop_staged(world.catalog, NAMESPACE, 1)
    with dropping_staged(world.catalog, NAMESPACE, f"{branch}2"):
        pass
    assert world.catalog.table_exists(table), "an attempt at this cut may be alive"
    assert folder.is_dir()
    with pytest.raises(InterruptedError), dropping_staged(world.catalog, NAMESPACE, branch):
        raise InterruptedError
    assert not world.catalog.table_exists(table)
    assert not folder.exists(), "with what no table names"
    drop_staged(world.catalog, NAMESPACE, 2)
