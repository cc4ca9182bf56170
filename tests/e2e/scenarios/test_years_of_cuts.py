"""Random years of a pipeline: cuts that are published or die, orders of people, and strangers.

After every step the targets have the rows that the source had where their last cut ended, as
pyiceberg reads them, and every file is there that a snapshot names. At the end two runs of
maintenance leave no other file, and no branch and no table of an attempt that is over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.maintenance import NOW, call, load, sql
from tests.support.named_files import age, files_below, path_of
from tests.support.shop import (
    TABLES,
    expected_of,
    read_contents,
)
from tests.support.years.orders import Orders
from tests.support.years.upkeep import HOUR_MS
from tidemark.errors import SupersededError
from tidemark.lake import removed, upkeep
from tidemark.lake.catalog import TableId
from tidemark.lake.history import existing_tables
from tidemark.lake.marks import foreign_change, read_published
from tidemark.lake.refs import ATTEMPT_REF, attempt_ref
from tidemark.lake.removed import read_removed
from tidemark.model.maintenance import DAY_MS
from tidemark.model.names import TableName
from tidemark.runs.cut import stage_cut
from tidemark.runs.maintain import maintain
from tidemark.runs.publish import publish_cut
from tidemark.runs.run import CutRequest
from tidemark.runs.world import World

STEPS = 14
SUITE = """\
suite: empty
expectations:
  - expect: expect_table_row_count_to_equal
    arguments: {value: -1}
    severity: critical
    scope: table
"""


class Year(Orders):
    """A pipeline of three tables, its source, and all that happens to them."""

    def run(self, steps: Sequence[Callable[[], None]]) -> None:
        """Do them, look after each, and tidy up in the end."""
        try:
            self.steps.append("opens")
            self.shop.open()
            self.settles()
            for step in steps:
                self.steps.append(step.__name__)
                step()
                self.check()
            self.steps.append("ends")
            self.end()
        except BaseException as error:
            error.add_note("steps: " + "; ".join(self.steps))
            raise

    def at_random(self, number: int) -> Iterator[Callable[[], None]]:
        """So many steps."""
        weights: list[tuple[int, Callable[[], None]]] = [
            (6, self.cuts),
            (3, self.stages),
            (3, self.publishes),
            (4, self.dies),
            (1, self.is_killed),
            (3, self.is_maintained),
            (2, self.maintenance_dies),
            (6, self.stranger_maintains),
            (1, self.stranger_expires),
            (1, self.stranger_labels),
            (2, self.time_passes),
            (2, self.days_pass),
            (2, self.alters),
            (2, self.is_set_back),
            (1, self.is_moved_on),
            (2, self.refolds),
            (1, self.copies_as_of),
            (1, self.gives_up_a_refold),
            (1, self.erases),
            (1, self.is_blocked),
            (1, self.is_quarantined),
            (1, self.is_read_again),
            (1, self.truncates),
        ]
        for _ in range(number):
            (step,) = self.rng.choices([s for _, s in weights], [weight for weight, _ in weights])
            yield step

    def is_set_back(self) -> None:
        """Main of a target goes to an older snapshot; the table stops, and says how to go on."""
        self.settles()
        name = self.rng.choice(TABLES)
        table = load(self.stream, TableId(self.stream.name, name))
        published = read_published(table)
        assert published is not None
        older = [
            entry.snapshot_id
            for entry in table.metadata.snapshot_log
            if (table.snapshot_by_id(entry.snapshot_id) is not None)
        ]
        to = self.rng.choice(older)
        procedure = self.rng.choice(("rollback_to_snapshot", "set_current_snapshot"))
        target = TableId(self.stream.name, name)
        lineage = {table.metadata.current_snapshot_id}
        snapshot = table.current_snapshot()
        while snapshot is not None and snapshot.parent_snapshot_id is not None:
            lineage.add(snapshot.parent_snapshot_id)
            snapshot = table.snapshot_by_id(snapshot.parent_snapshot_id)
        if procedure == "rollback_to_snapshot" and to not in lineage:
            procedure = "set_current_snapshot"
        sql(self.stream, f"CALL lake.system.{procedure}('{target}', {to})")
        self.note(f"{name} by {procedure}")
        gone = read_removed(self.world.catalog, self.system)
        if self.rng.random() < 0.3 and (name != "events" or TableName("shop", name) not in gone):
            call(self.stream, "expire_snapshots", target, f"older_than => {NOW}, retain_last => 1")
            self.note("and expired")
        now = load(self.stream, target)
        if foreign_change(now, read_published(now)):
            self.goes_on(target)
        else:
            self.note("to the same rows")

    def is_moved_on(self) -> None:
        """Somebody moves main to what an attempt has staged, and no audit was asked."""
        self.settles()
        self.send_all()
        request = CutRequest(self.stream.attempt())
        staged = stage_cut(self.stream.pipeline, self.world, request)
        name = self.rng.choice(TABLES)
        target = TableId(self.stream.name, name)
        branch = attempt_ref(staged.cut, request.attempt)
        table = load(self.stream, target)
        if branch not in table.refs():
            return
        snapshot = table.refs()[branch].snapshot_id
        how = self.rng.choice(
            (
                f"fast_forward('{target}', 'main', '{branch}')",
                f"cherrypick_snapshot('{target}', {snapshot})",
                f"set_current_snapshot('{target}', {snapshot})",
            )
        )
        self.note(how)
        sql(self.stream, f"CALL lake.system.{how}")
        if self.rng.random() < 0.5:
            with pytest.raises(SupersededError, match="somebody else moved it there"):
                publish_cut(self.stream.pipeline, self.world, request.attempt)
        self.goes_on(target)

    def goes_on(self, target: TableId) -> None:
        """The table stops by itself, and the others go on; what its message says has it go on."""
        name = target.table
        self.send_all()
        before = read_contents(self.stream, [name], self.shop.mode)
        result = self.stream.cut()
        self.units = None
        why = result.stopped[f"shop.{name}"]
        assert "is not as it was published: " in why
        assert set(result.stopped) == {f"shop.{name}"}
        others = [other for other in TABLES if other != name]
        contents = self.shop.contents()
        for other, rows in read_contents(self.stream, others, self.shop.mode).items():
            assert rows == expected_of(contents, other, self.shop.mode), other
        assert read_contents(self.stream, [name], self.shop.mode) == before
        if back := re.search(r"CALL lake\.system\.set_current_snapshot\([^)]*\)", why):
            sql(self.stream, back[0])
            self.note("put back")
        elif not self.refold(name):
            self.note("read again")
            self.reads_again()
        self.settles()

    def end(self) -> None:
        """A last cut of all tables, and maintenance: what is left then is all needed."""
        self.settles()
        self.send_all()
        self.settles()
        self.check()
        for _ in range(2):
            age(self.folders(), 10 * DAY_MS / 1000)
            self.later(DAY_MS + HOUR_MS)
            for done in maintain(self.stream.pipeline, self.world):
                assert not done.skipped, done
        self.check()
        named = {path_of(file) for _, table in self.tables() for file in self.named.of(table)}
        assert sorted(files_below(self.folders()) - named) == []
        newest = self.cut_number()
        own = existing_tables(self.world.catalog, self.system.ledger.namespace)
        assert own <= {name.table for name in self.system.all}
        for name in (*self.targets, self.system.ledger):
            for ref in load(self.stream, name).refs():
                match = ATTEMPT_REF.fullmatch(ref)
                assert match is None or int(match["number"]) >= newest, (name, ref)


@pytest.fixture
def year(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Year]:
    """With own tables that are due for upkeep after few cuts, and records that are all old."""
    monkeypatch.setattr(removed, "MARGIN_MS", -DAY_MS)
    for limit, value in {"MAX_SNAPSHOTS": 8, "MAX_SNAPSHOT_AGE_MS": 0, "SMALL_FILES": 6}.items():
        monkeypatch.setattr(upkeep, limit, value)
    monkeypatch.setenv("TIDEMARK_EXPECTATIONS", str(tmp_path))
    (tmp_path / "empty.yaml").write_text(SUITE)
    return lambda seed: Year(world, seed, monkeypatch)


def test_random_histories(year: Callable[[int], Year], seed: int) -> None:
    """PUB-5, PUB-8, PUB-11, PUB-12, KEEP-1, REFOLD-1, ERASE-1, in any order."""
    begun = year(seed)
    begun.run(list(begun.at_random(STEPS)))


@pytest.mark.smoke
def test_a_short_year(year: Callable[[int], Year]) -> None:
    """PUB-5, PUB-8, PUB-11, PUB-12: what comes between cuts most often."""
    begun = year(0)
    begun.run(
        [
            begun.cuts,
            begun.stages,
            begun.stranger_maintains,
            begun.publishes,
            begun.dies,
            begun.time_passes,
            begun.is_maintained,
            begun.alters,
            begun.is_set_back,
            begun.maintenance_dies,
            begun.cuts,
        ]
    )
