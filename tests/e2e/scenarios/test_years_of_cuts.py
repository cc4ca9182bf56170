"""Random years of a pipeline: cuts that are published or die, orders of people, and strangers.

After every step the targets have the rows that the source had where their last cut ended, as
pyiceberg reads them, and every file is there that a snapshot names. At the end two runs of
maintenance leave no other file, and no branch and no table of an attempt that is over.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import Table

from tests.corpus.kill import kill_somewhere
from tests.support.dying import Statements, dies
from tests.support.maintenance import NOW, call, load, pyiceberg_expiry, sql
from tests.support.named_files import NamedFiles, age, files_below, path_of
from tests.support.shop import (
    KEYS,
    TABLES,
    Contents,
    Shop,
    expected_of,
    read_contents,
    read_copy,
)
from tests.support.stack import Stream, counted
from tests.support.strangers import LABELS, maintain_as_stranger
from tests.support.tellers import with_values
from tidemark.errors import ActionRefusedError, NoAttemptError, SupersededError
from tidemark.lake import removed, upkeep
from tidemark.lake.catalog import SystemTables, TableId, folder_of
from tidemark.lake.forks import has_fork
from tidemark.lake.history import existing_tables, read_history
from tidemark.lake.ledger import read_progress
from tidemark.lake.marks import foreign_change, read_published
from tidemark.lake.refs import ATTEMPT_REF, attempt_ref
from tidemark.lake.removed import read_removed
from tidemark.model.maintenance import DAY_MS
from tidemark.model.names import AttemptId, TableName
from tidemark.model.quarantine import Selection
from tidemark.model.result import CutResult, CutStatus
from tidemark.model.target_mode import TargetMode
from tidemark.model.verdict import Outcome
from tidemark.runs import maintain as maintenance
from tidemark.runs.accept import accept_audit
from tidemark.runs.cut import stage_cut
from tidemark.runs.erase import erase
from tidemark.runs.maintain import FORKED, maintain
from tidemark.runs.orders import begin_resync, drop_entries, end_resync, replay_entries
from tidemark.runs.plan import plan_cut
from tidemark.runs.publish import publish_cut, read_verdicts
from tidemark.runs.refold import begin_refold, cancel_refold
from tidemark.runs.retention import keep_changelog
from tidemark.runs.run import CutRequest
from tidemark.runs.world import World

STEPS, HOUR_MS, TOO_MUCH = 14, 3_600_000, 3_000_000_000
SUITE = """\
suite: empty
expectations:
  - expect: expect_table_row_count_to_equal
    arguments: {value: -1}
    severity: critical
    scope: table
"""


@dataclass(frozen=True)
class Waiting:
    """An attempt that was staged, and what the source held then; is_over: it may be superseded."""

    attempt: AttemptId
    contents: Contents
    is_over: bool = False


class Year:
    """A pipeline of three tables, its source, and all that happens to them."""

    def __init__(self, world: World, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rng = random.Random(f"year {seed}")  # noqa: S311  repeatable, not secret
        mode = self.rng.choice((TargetMode.HISTORY, TargetMode.APPEND))
        self.world, self.patch, self.shop = world, monkeypatch, Shop(self.rng, mode)
        layout = {"partition-by": ["bucket(2, id)"]} if self.rng.random() < 0.4 else {}
        layout |= {"sort-by": ["id"]} if self.rng.random() < 0.4 else {}
        every = {"expectations": "none"}
        tables: list[dict[str, Any]] = [
            {"source": "shop.items", **every, **layout},
            {"source": "shop.notes", **every},
            {"source": "shop.events", **every, "mode": mode},
        ]
        options = {
            "tables": tables,
            "publish": {"consistency": "table"},
            "changelog": {"keep": "7d"},
            "maintenance": {"keep-days": 1, "small-files": 2, "max-delete-files": 2},
        }
        kind = "debezium-mysql"
        self.stream = Stream(world, 3, kind, "none", {}, options, has_statements=True).create()
        self.system = SystemTables.of(self.stream.pipeline.name)
        self.namespaces = (self.stream.name, self.system.ledger.namespace)
        self.targets = [TableId(self.stream.name, name) for name in TABLES]
        self.named, self.steps = NamedFiles(), list[str]()
        self.published = self.shop.contents()
        self.as_of: dict[int, dict[str, Any]] = {}
        self.waiting: Waiting | None = None
        self.now_ms, self.copies, self.statements = time.time_ns() // 10**6, 0, 200
        self.units: int | None = 0

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

    def note(self, what: str) -> None:
        """Say more of the step."""
        self.steps[-1] += f" {what}"

    def send(self) -> None:
        """Some changes of rows."""
        self.shop.change(self.rng.randint(1, 8))
        self._deliver()

    def send_all(self) -> None:
        """A change of each table."""
        self.shop.change_all()
        self._deliver()

    def _deliver(self) -> None:
        units = self.shop.send(self.stream)
        self.units = None if self.units is None else self.units + units

    # What runs do.

    def cuts(self) -> None:
        self.send()
        self.settles()

    def settles(self) -> list[CutResult]:
        """Cut until nothing is left to do."""
        self._deliver()
        results: list[CutResult] = []
        while plan_cut(self.stream.pipeline, self.world).has_work:
            with Statements(self.world.catalog).counted() as asked:
                results.append(self.stream.cut())
            self.statements = max(asked.number, 1)
            assert not results[-1].stopped
            assert results[-1].status in (CutStatus.PUBLISHED, CutStatus.IDLE)
            assert len(results) < 9, results
        if self.units is not None:
            counts = [counted(result) for result in results]
            ended = sum(sum(count.values()) - count.get("held", 0) for count in counts)
            assert ended == self.units, (counts, self.units)
        self.settled()
        return results

    def settled(self) -> None:
        """All that was sent is published."""
        self.published, self.units, self.waiting = self.shop.contents(), 0, None
        self.as_of[self.cut_number()] = {
            name: expected_of(self.published, name, self.shop.mode) for name in TABLES
        }

    def cut_number(self) -> int:
        return read_progress(self.world.catalog, self.system).cut

    def stages(self) -> None:
        self.send()
        request = CutRequest(self.stream.attempt())
        staged = stage_cut(self.stream.pipeline, self.world, request)
        assert not staged.stopped
        if staged.status is CutStatus.STAGED:
            self.waiting = Waiting(request.attempt, self.shop.contents())

    def publishes(self) -> None:
        """What waits; superseded by what came since, or where it changes columns, by much."""
        if self.waiting is None:
            return
        wait, self.waiting = self.waiting, None
        is_forked = any(
            has_fork(self.world.catalog, self.system.ledger.namespace, target)
            for target in self.targets
        )
        try:
            publish_cut(self.stream.pipeline, self.world, wait.attempt)
        except (SupersededError, NoAttemptError):
            assert wait.is_over or is_forked
            self.note("superseded")
        else:
            self.is_published(wait.contents)

    def is_published(self, contents: Contents) -> None:
        """A cut was; a table that is refolded stands where it stood, until the cut behind that."""
        progress = read_progress(self.world.catalog, self.system)
        apart = {table.table for table in (*progress.refolds, *progress.behind)}
        moved = {name: getattr(contents, name) for name in TABLES if name not in apart}
        self.published, self.waiting, self.units = replace(self.published, **moved), None, None

    def supersedes(self) -> None:
        """What waits need not be published any more, and records are folded once more."""
        self.units = None
        if self.waiting is not None:
            self.waiting = Waiting(self.waiting.attempt, self.waiting.contents, is_over=True)

    def dies(self) -> None:
        """A run whose catalog is gone from some statement on."""
        self.send()
        last = self.rng.randrange(self.statements)
        self._ends_early(
            lambda: dies(self.world.catalog, last, self.stream.cut), f"behind statement {last}"
        )

    def is_killed(self) -> None:
        """A process of its own, and SIGKILL."""
        self.send()
        attempt = self.stream.attempt()
        self._ends_early(
            lambda: kill_somewhere(self.stream.pipeline, self.world, attempt, self.rng), "killed"
        )

    def _ends_early(self, run: Callable[[], bool], how: str) -> None:
        before = self.cut_number()
        has_died = run()
        self.note(how if has_died else "not in time")
        if self.cut_number() > before:
            self.note("published")
            self.is_published(self.shop.contents())

    # What maintenance does, ours and that of others.

    def is_maintained(self) -> None:
        self.later(self.rng.choice((0, DAY_MS + HOUR_MS)))
        for done in maintain(self.stream.pipeline, self.world):
            assert done.skipped in ("", FORKED), done

    def maintenance_dies(self) -> None:
        self.later(self.rng.choice((0, DAY_MS + HOUR_MS)))
        last = self.rng.randrange(60)
        died = dies(
            self.world.catalog, last, lambda: list(maintain(self.stream.pipeline, self.world))
        )
        self.note(f"behind statement {last}" if died else "not in time")

    def later(self, millis: int) -> None:
        """Have maintenance run when so much time has passed."""
        now_ms = time.time_ns() // 10**6 + millis
        self.patch.setattr(maintenance, "_now_ms", lambda: now_ms)

    def stranger_maintains(self) -> None:
        """On any tables that there are, forks and copies too."""
        targets, own = (self.names_in(folder) for folder in self.namespaces)
        self.note(maintain_as_stranger(self.stream, self.rng, targets, own))

    def stranger_expires(self) -> None:
        """By pyiceberg, which leaves the files."""
        pyiceberg_expiry(self.stream)

    def stranger_labels(self) -> None:
        table, label = self.rng.choice(self.targets), self.rng.choice(LABELS)
        label(self.stream, table, len(self.steps))
        self.note(f"{label.__name__} {table.table}")

    def time_passes(self) -> None:
        """Files get old enough to be removed; so does a fork, which nothing publishes then."""
        if any(
            has_fork(self.world.catalog, self.system.ledger.namespace, target)
            for target in self.targets
        ):
            self.waiting = None
        age(self.folders(), 4 * DAY_MS / 1000)

    def days_pass(self) -> None:
        """Bases are made, and records go that these stand for."""
        self.now_ms += self.rng.randint(1, 6) * DAY_MS
        self.note(f"{keep_changelog(self.stream.pipeline, self.world, self.now_ms)} records go")

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
        elif not self._refold(name):
            self.note("read again")
            self._read_again()
        self.settles()

    # What people order.

    def alters(self) -> None:
        self.shop.alter_columns()
        if self.rng.random() < 0.7:
            self.cuts()
        else:
            self.stages()

    def truncates(self) -> None:
        self.shop.truncate()
        self.cuts()

    def refolds(self) -> None:
        name = self.rng.choice(TABLES)
        self.note(name)
        if self._refold(name) and self.rng.random() < 0.7:
            if self.rng.random() < 0.5:
                self._amid()
            self.settles()

    def _refold(self, name: str) -> bool:
        """False where the changelog does not tell all rows any more."""
        table = TableName("shop", name)
        is_whole = table not in read_removed(self.world.catalog, self.system)
        if name == "events" and not is_whole:
            return False
        with suppress(ActionRefusedError) if not is_whole else nullcontext():
            begin_refold(self.stream.pipeline, self.world, table)
        if table not in read_progress(self.world.catalog, self.system).refolds:
            self.note("refused")
            return False
        self.supersedes()
        return True

    def gives_up_a_refold(self) -> None:
        self.settles()
        name = self.rng.choice(TABLES)
        if not self._refold(name):
            return
        stage_cut(self.stream.pipeline, self.world, CutRequest(self.stream.attempt()))
        self._amid()
        cancel_refold(self.stream.pipeline, self.world, TableName("shop", name))
        self.cuts()

    def copies_as_of(self) -> None:
        """The table as it was with an older cut, beside its target."""
        self.settles()
        name = self.rng.choice(("notes", "events"))
        table = TableName("shop", name)
        cut = self.rng.choice(sorted(self.as_of))
        self.copies += 1
        copy = f"{name}_copy_{self.copies}"
        if table in read_removed(self.world.catalog, self.system):
            return
        begin_refold(self.stream.pipeline, self.world, table, into=copy, as_of=cut)
        self.units = None
        self.settles()
        self.note(f"{name} as of {cut}")
        assert read_copy(self.stream, name, copy, self.shop.mode) == self.as_of[cut][name]

    def erases(self) -> None:
        self.settles()
        name, number = self.rng.choice(("items", "events")), self.rng.randrange(KEYS)
        self.note(f"{name} {number}")
        keys = [{"id": str(number)}]
        erase(self.stream.pipeline, self.world, TableName("shop", name), keys, "asked for")
        self.shop.erase(name, number)
        self.units = None
        self.as_of.clear()
        self.settled()

    def is_blocked(self) -> None:
        """By its audit; it is accepted, or discarded by the next run, whose suite is another."""
        self.settles()
        before = self.published
        with self._expecting("empty"):
            self.send_all()
            attempt = self.stream.attempt()
            pipeline = self.stream.pipeline
            blocked = stage_cut(pipeline, self.world, CutRequest(attempt))
            assert blocked.status is CutStatus.BLOCKED
            self.check()
            self._amid()
            assert self.published is before
            if self.rng.random() < 0.5:
                self.note("accepted")
                accept_audit(self.stream.pipeline, self.world, attempt, "looked at")
                self.is_published(self.shop.contents())
        self.settles()

    @contextmanager
    def _expecting(self, suite: str) -> Iterator[None]:
        options = self.stream.options
        tables = [
            {**table, "expectations": suite if table["source"] == "shop.items" else "none"}
            for table in options["tables"]
        ]
        self.stream.options = {**options, "tables": tables}
        try:
            yield
        finally:
            self.stream.options = options

    def is_quarantined(self) -> None:
        """A value that does not fit; it is given up, or its column takes it afterwards."""
        self.settles()
        columns = [name for name, kind in self.shop.items.columns.items() if kind == "int"]
        if not columns or not self.shop.items.rows:
            return
        column, number = columns[0], self.rng.choice(sorted(self.shop.items.rows))
        before = dict(self.shop.items.rows[number])
        self.shop.put_item(number, name="bad", **{column: 1})
        self.shop.unsent[-1] = with_values(self.shop.unsent[-1], **{column: TOO_MUCH})
        self.shop.items.rows[number] = before
        results = self.settles()
        assert sum(counted(result).get("quarantined", 0) for result in results) == 1
        self._amid()
        everything = Selection()
        if self.rng.random() < 0.5:
            self.note("given up")
            drop_entries(self.stream.pipeline, self.world, everything, "asked for")
        else:
            self.note("tried again")
            replay_entries(self.stream.pipeline, self.world, everything)
            self.units = None
            self.settles()
            self.shop.items.rows[number] = {**before, "name": "bad", column: TOO_MUCH}
            self.shop.widen(column)
            self.units = None
        self.settles()

    def is_read_again(self) -> None:
        """An incremental snapshot of items beside changes."""
        self.settles()
        self._read_again()

    def _read_again(self) -> None:
        table = TableName("shop", "items")
        self.units = None
        begin_resync(self.stream.pipeline, self.world, table)
        self.shop.snapshot_items()
        self.send()
        self._amid()
        self.settles()
        end_resync(self.stream.pipeline, self.world, table)
        self._amid()
        self.settles()

    def _amid(self) -> None:
        """What may happen between two steps that belong together."""
        amid = (
            self.is_maintained,
            self.stranger_maintains,
            self.time_passes,
            self.stranger_expires,
            self.maintenance_dies,
        )
        if self.rng.random() < 0.6:
            step = self.rng.choice(amid)
            self.note(f"[{step.__name__}]")
            step()

    # What must hold.

    def check(self) -> None:
        """Rows, who made them, and that their files are there."""
        for name, rows in read_contents(self.stream, TABLES, self.shop.mode).items():
            assert rows == expected_of(self.published, name, self.shop.mode), name
        for target in self.targets:
            table = load(self.stream, target)
            assert foreign_change(table, read_published(table)) == ""
        self._check_audits()
        missing = {str(name): self.named.missing(table) for name, table in self.tables()}
        assert not any(missing.values()), missing

    def _check_audits(self) -> None:
        newest = read_history(self.world.catalog, self.system).published
        assert newest is not None
        result = newest.result
        verdicts = read_verdicts(self.stream.pipeline, self.world, result.attempt, result.cut)
        passed = {one.snapshot_id for one in verdicts if one.outcome is not Outcome.BLOCK}
        assert {table.snapshot_id for table in result.tables} <= passed

    def names_in(self, namespace: str) -> list[TableId]:
        names = existing_tables(self.world.catalog, namespace)
        return [TableId(namespace, name) for name in sorted(names)]

    def tables(self) -> Iterator[tuple[TableId, Table]]:
        """All but forks, which name files of their tables that these may have no more."""
        for name in (name for space in self.namespaces for name in self.names_in(space)):
            if not ATTEMPT_REF.match(name.table):
                yield name, load(self.stream, name)

    def folders(self) -> list[Path]:
        root = path_of(folder_of(self.world.catalog))
        return [root / namespace for namespace in self.namespaces]

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
