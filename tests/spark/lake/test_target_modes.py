"""What each target mode keeps, over many cuts, against a log that is replayed in plain Python.

KEY-11, TRUNC-12, DUP-2: cuts fall anywhere, stretches come again, keys change, tables are emptied.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from tests.spark.lake.test_merge import context, make
from tests.support.kept import (
    Logged,
    changes,
    delivered,
    logged,
    random_log,
    soft_deleted,
    versions,
)
from tests.support.staged import staged_place
from tidemark.fold.appended import mark_copies
from tidemark.fold.flags import mark_images, with_flags
from tidemark.fold.latest import only_newest
from tidemark.fold.settled import beside_settled, only_of_cut
from tidemark.fold.versions import is_newer, mark_event_ids, versions_of, with_stored
from tidemark.formats.rows import RowImage, typed_rows
from tidemark.lake import sql
from tidemark.lake.publication import update_mains
from tidemark.lake.staged import StagedRows, read_staged, stage_rows
from tidemark.lake.staging import stage_table
from tidemark.lake.stored import read_versions
from tidemark.model.columns import CHANGE, ROW, STAGED_OP, SourceColumn, TableSchema, ValueEncoding
from tidemark.model.ends import End
from tidemark.model.names import ColumnName
from tidemark.model.position import Position
from tidemark.model.reduction import new_truncate, not_ended_before
from tidemark.model.target_mode import TargetMode
from tidemark.quality.checks import check_winners
from tidemark.quality.version_checks import check_appended, check_truncates, check_versions
from tidemark.runs.world import World

ID, VALUE = ColumnName("at"), ColumnName("new`est")
COLUMNS = (
    SourceColumn(ID, "int", ValueEncoding.INTEGER, "int"),
    SourceColumn(VALUE, "string", ValueEncoding.TEXT, "text"),
)
FIELDS = (
    "op STRING, position STRING, part INT, partition INT, commit_time TIMESTAMP, snapshot STRING, "
    "row_key STRUCT<at: INT>, image STRUCT<at: STRING, `new``est`: STRING>"
)
KEPT = (TargetMode.SOFT_DELETE, TargetMode.HISTORY, TargetMode.APPEND)


@dataclass
class Target:
    """One target and how far it is; what comes is put at ever greater offsets."""

    world: World
    folder: Path
    mode: TargetMode
    offset: int = 0
    cut: int = 0
    ended_before: Position | None = None

    def __post_init__(self) -> None:
        self.schema = TableSchema(COLUMNS, (ID,), mode=self.mode)
        self.table = make(self.world, f"kept_{self.folder.name.replace('-', '_')}", self.schema)

    def position(self, event: Logged) -> Position:
        self.offset += 1
        return Position(f"000100000009{event.place:016X}1{self.offset:016X}")

    def fold(self, batch: Iterable[Logged]) -> None:
        """One cut."""
        self.cut += 1
        placed = [(event, self.position(event)) for event in batch]
        found = [
            End(position, int(event.at.timestamp()) * 1_000_000)
            for event, position in placed
            if event.op == "t" and new_truncate([position], self.ended_before)
        ]
        ends = tuple(sorted(found))
        rows = self.staged([p for p in placed if p[0].op != "t"], ends)
        ref_update, effect = stage_table(
            context(self.world, self.table, self.cut), self.schema, rows, ends
        )
        name = f"{self.world.catalog.name}.db.{self.table.table}"
        staged = read_staged(self.world.spark, rows).where(F.col(STAGED_OP).isin("U", "D"))
        table = self.world.spark.read.option("versionAsOf", ref_update.snapshot).table(name)
        match self.mode:
            case TargetMode.HISTORY:
                found_checks = check_versions(staged, table, self.schema)
            case TargetMode.APPEND:
                found_checks = (*check_appended(staged, table), check_truncates(table, ends))
            case _:
                found_checks = check_winners(staged, table, self.schema, rows.rows)
        assert [check for check in found_checks if not check.success] == []
        update_mains(self.world.catalog, [ref_update])
        self.ended_before = ends[-1].position if ends else self.ended_before

    def staged_next(self, events: str) -> StagedRows:
        """What another cut would merge."""
        self.cut += 1
        return self.staged([(event, self.position(event)) for event in logged(events)], ())

    def staged(
        self, placed: Sequence[tuple[Logged, Position]], ends: tuple[End, ...]
    ) -> StagedRows:
        rows = [
            (
                *(event.op.upper(), position, 0, 0, event.at, None, (event.key,)),
                (str(event.key), event.value) if event.op == "u" else None,
            )
            for event, position in placed
        ]
        frame = beside_settled(
            self.world.spark.createDataFrame(rows, FIELDS), None, F.lit(0).cast("long")
        )
        newest = ends[-1].position if ends else self.ended_before
        counts = not_ended_before(self.ended_before, newest, None)
        told = RowImage(F.col("image"), F.array().cast("array<string>"), F.lit(False))
        place = staged_place(self.world, self.folder / str(self.cut), self.table)
        match self.mode:
            case TargetMode.SOFT_DELETE:
                latest = only_newest(mark_images(only_of_cut(frame), counts))
                typed = typed_rows(latest, self.schema, told, keep=(CHANGE,))
                return stage_rows(place, with_flags(typed, ends), self.schema)
            case TargetMode.HISTORY:
                each = only_newest(mark_event_ids(frame, counts))
                typed = typed_rows(each, self.schema, told, keep=(CHANGE,))
                staged = stage_rows(place, typed, self.schema)
                matched = self._matched(staged, ends)
                return stage_rows(place.beside("versions"), matched, self.schema)
            case _:
                typed = typed_rows(only_newest(mark_copies(frame)), self.schema, told, keep=(ROW,))
                return stage_rows(place, typed, self.schema)

    def _matched(self, staged: StagedRows, ends: tuple[End, ...]) -> Any:
        spark, catalog = self.world.spark, self.world.catalog
        frame = read_staged(spark, staged).where(F.col(STAGED_OP).isin("U", "D"))
        stored = read_versions(spark, catalog, self.table, self.schema)
        known = with_stored(frame, stored, self.schema).where(is_newer())
        return versions_of(known, self.schema, ends)

    def rows(self) -> list[dict[str, Any]]:
        """As an independent reader sees them."""
        table = self.world.catalog.load_table(self.table.parts).scan().to_arrow()
        return list(table.to_pylist())

    def kept(self) -> Any:
        """Rows in the form that the replayed log has."""
        return KEPT_AS[self.mode](self.rows())


def _flags(rows: Sequence[dict[str, Any]]) -> Any:
    assert all(r["_tidemark_deleted"] == (r["_tidemark_deleted_at"] is not None) for r in rows)
    found = {row[ID]: (row[VALUE], row["_tidemark_deleted_at"]) for row in rows}
    assert len(found) == len(rows)
    return found


def _versions(rows: Sequence[dict[str, Any]]) -> Any:
    columns = (ID, VALUE, "_tidemark_valid_from", "_tidemark_valid_to")
    assert all(
        (r["_tidemark_end_position"] is None) == (r["_tidemark_valid_to"] is None) for r in rows
    )
    return sorted((tuple(row[name] for name in columns) for row in rows), key=str)


def _changes(rows: Sequence[dict[str, Any]]) -> Any:
    columns = ("_tidemark_op", ID, VALUE, "_tidemark_commit_time")
    return sorted((tuple(row[name] for name in columns) for row in rows), key=str)


KEPT_AS: dict[TargetMode, Callable[[Sequence[dict[str, Any]]], Any]] = {
    TargetMode.SOFT_DELETE: _flags,
    TargetMode.HISTORY: _versions,
    TargetMode.APPEND: _changes,
}
REPLAYED: dict[TargetMode, Callable[[Sequence[Logged]], Any]] = {
    TargetMode.SOFT_DELETE: soft_deleted,
    TargetMode.HISTORY: versions,
    TargetMode.APPEND: changes,
}


@pytest.mark.parametrize("mode", KEPT)
@pytest.mark.usefixtures("interpreted")
def test_random_histories_are_kept(
    world: World, tmp_path: Path, mode: TargetMode, seed: int
) -> None:
    rng = random.Random(f"kept {mode} {seed}")  # noqa: S311  repeatable, not secret
    log = random_log(rng, 50)
    target = Target(world, tmp_path, mode)
    for batch, furthest in delivered(rng, log):
        target.fold(batch)
        assert target.kept() == REPLAYED[mode](log[:furthest])
    assert target.cut > 3


@pytest.mark.parametrize("mode", KEPT)
@pytest.mark.parametrize(
    "cuts",
    [
        pytest.param("u1@10=a d1@20", id="it came and went in one cut"),
        pytest.param("u1@10=a | d1@20 u1@30=b d1@40", id="came back and went again"),
        pytest.param("u1@10=a t@20 u1@30=b t@40 u2@50=c", id="two truncates in one cut"),
        pytest.param("u1@10=a u2@12=b | u1@15=c t@20 | t@40", id="a truncate after a change"),
        pytest.param("u1@10=a | u1@20=b d1@30 u2@30=b | t@40", id="a change of key"),
        pytest.param("u1@10=a | u1@20=a", id="a change that changes nothing"),
        pytest.param("d1@10 u2@20=a", id="the end of an unknown row"),
        pytest.param("u1@10=a t@20 | u1@10=a t@20 | u1@30=b", id="sent again over a truncate"),
        pytest.param("u1@10=a u1@20=b | u1@10=a | u1@20=b d1@30", id="sent again in two cuts"),
    ],
)
def test_what_is_kept(world: World, tmp_path: Path, mode: TargetMode, cuts: str) -> None:
    batches = [logged(text) for text in cuts.split("|")]
    target = Target(world, tmp_path, mode)
    for batch in batches:
        target.fold(batch)
    log = sorted({event for batch in batches for event in batch}, key=lambda e: (e.place, e.op))
    assert target.kept() == REPLAYED[mode](log)


@pytest.mark.parametrize("mode", KEPT)
def test_the_merge_costs_its_batch(world: World, tmp_path: Path, mode: TargetMode) -> None:
    """Without the runtime Bloom filter it reads and shuffles the whole table."""
    target = Target(world, tmp_path, mode)
    target.fold(logged("u1@10=a u2@20=b"))
    rows = target.staged_next("u1@30=c d2@40")
    name = (world.catalog.name, *target.table.parts)
    merge = sql.merge_staged(name, rows.written.table, target.schema)
    plan = world.spark.sql(f"EXPLAIN {merge}").collect()[0][0]
    assert "might_contain" in plan, plan


def test_versions_are_sought_by_the_keys_of_the_batch(world: World, tmp_path: Path) -> None:
    """The same for the versions that a cut may end."""
    target = Target(world, tmp_path, TargetMode.HISTORY)
    target.fold(logged("u1@10=a u2@20=b"))
    rows = target.staged_next("u1@30=c d2@40")
    staged = read_staged(world.spark, rows).where(F.col(STAGED_OP).isin("U", "D"))
    stored = read_versions(world.spark, world.catalog, target.table, target.schema)
    with_stored(staged, stored, target.schema).createOrReplaceTempView("kept_versions_found")
    plan = world.spark.sql("EXPLAIN SELECT * FROM kept_versions_found").collect()[0][0]
    assert "might_contain" in plan, plan
