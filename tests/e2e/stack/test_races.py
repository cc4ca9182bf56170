"""Two processes at once, a hundred times: what is reported as done is done, once (PUB-8)."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog import Catalog

from tests.support.lake import RECORDS, land, publish, stage
from tidemark.errors import SupersededError
from tidemark.lake.catalog import SystemTables, TableId, open_catalog
from tidemark.lake.commits import append_on
from tidemark.lake.heads import read_heads
from tidemark.lake.landing import read_mark
from tidemark.lake.ledger import read_progress, record_action
from tidemark.lake.refs import RefUpdate, attempt_ref, create_branch, main_head
from tidemark.model.names import AttemptId, PipelineName
from tidemark.model.progress import Progress
from tidemark.spec import CatalogSpec

RACES = 100
RACES_OF_ONE = 10
"""So often a pipeline starts over, and two first runs meet."""
TARGET = TableId("shop", "items")
ROWS = pa.schema([("cut", pa.int64()), ("attempt", pa.string())])
Work = Callable[[Catalog, SystemTables, str], str]


def open_lake(folder: Path) -> Catalog:
    uri = f"sqlite:///{folder}/catalog.db"
    return open_catalog(CatalogSpec(name="lake", uri=uri, warehouse=str(folder)))


def tables_of(race: int) -> SystemTables:
    return SystemTables.of(PipelineName(f"p{race // RACES_OF_ONE}"))


def run(folder: Path, work: Work, name: str, start: Barrier) -> list[tuple[int, str]]:
    """What was done of all races, and in which."""
    catalog, done = open_lake(folder), []
    for race in range(RACES):
        start.wait(timeout=120)
        try:
            done.append((race, work(catalog, tables_of(race), f"{name}_{race}")))
        except SupersededError:
            continue
    return done


def raced(folder: Path, *works: Work) -> list[dict[SystemTables, list[str]]]:
    """Per process and pipeline what was done; some of it was superseded, and in no race all."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, context.Pool(len(works)) as pool:
        start = manager.Barrier(len(works))
        runs = [
            pool.apply_async(run, (folder, work, f"w{number}", start))
            for number, work in enumerate(works)
        ]
        done = [run.get(timeout=540) for run in runs]
    counts = [len(one) for one in done]
    assert sum(counts) < RACES * len(works), "nothing met"
    assert {race for one in done for race, _ in one} == set(range(RACES))
    found: list[dict[SystemTables, list[str]]] = []
    for one in done:
        found.append({})
        for race, what in one:
            found[-1].setdefault(tables_of(race), []).append(what)
    return found


def lands(catalog: Catalog, tables: SystemTables, attempt: str) -> str:
    return str(land(catalog, tables, read_heads(catalog, tables), attempt).mark.number)


def cuts(catalog: Catalog, tables: SystemTables, attempt: str) -> str:
    stage(catalog, tables, read_heads(catalog, tables), attempt)
    return str(publish(catalog, tables, attempt))


def orders(catalog: Catalog, tables: SystemTables, attempt: str) -> str:
    def change(progress: Progress) -> Progress:
        return replace(progress, skipped=progress.skipped | {attempt})

    record_action(catalog, tables, change, f"skip {attempt}")
    return attempt


def folds(catalog: Catalog, tables: SystemTables, attempt: str) -> str:
    """A cut with a row for the target."""
    heads, target = read_heads(catalog, tables), catalog.load_table(TARGET.parts)
    cut, base = heads.ledger.progress.cut + 1, main_head(target)
    assert base is not None
    branch = attempt_ref(cut, AttemptId(attempt))
    create_branch(target, branch, base)
    append_on(target, branch, pa.table({"cut": [cut], "attempt": [attempt]}, schema=ROWS))
    ref_update = RefUpdate(TARGET, base, target.refs()[branch].snapshot_id, (branch,))
    stage(catalog, tables, heads, attempt, [ref_update])
    return f"{publish(catalog, tables, attempt)} {attempt}"


def consecutive(*numbers: Sequence[str]) -> bool:
    """Whether both together count from one, each number once."""
    found = sorted(int(number) for some in numbers for number in some)
    return found == list(range(1, len(found) + 1))


def test_offsets_are_landed_once(tmp_path: Path) -> None:
    one, other = raced(tmp_path, lands, lands)
    catalog = open_lake(tmp_path)
    for tables in one.keys() | other.keys():
        numbers = one.get(tables, []), other.get(tables, [])
        assert consecutive(*numbers)
        landed = sum(map(len, numbers))
        rows = catalog.load_table(tables.changelog.parts).scan().to_arrow()
        assert Counter(rows["offset"].to_pylist()) == Counter(range(landed * RECORDS))
        assert read_mark(catalog, tables).number == landed


def test_orders_stand_and_cuts_follow_each_other(tmp_path: Path) -> None:
    published, ordered = raced(tmp_path, cuts, orders)
    catalog = open_lake(tmp_path)
    for tables in published.keys() | ordered.keys():
        numbers = published.get(tables, [])
        assert consecutive(numbers)
        progress = read_progress(catalog, tables)
        assert progress.cut == len(numbers)
        assert progress.skipped == set(ordered.get(tables, []))
        rows = catalog.load_table(tables.ledger.parts).scan().to_arrow()
        assert Counter(rows["cut"].to_pylist()) == Counter(map(int, numbers))


def test_of_two_runs_of_one_cut_one_is_published_whole(tmp_path: Path) -> None:
    catalog = open_lake(tmp_path)
    catalog.create_namespace(TARGET.namespace)
    catalog.create_table(TARGET.parts, ROWS).append(ROWS.empty_table())
    one, other = raced(tmp_path, folds, folds)
    published: list[str] = []
    for tables in one.keys() | other.keys():
        reported = [what.split() for done in (one, other) for what in done.get(tables, [])]
        assert consecutive([number for number, _ in reported])
        assert read_progress(catalog, tables).cut == len(reported)
        rows = catalog.load_table(tables.ledger.parts).scan().to_arrow()
        found = zip(rows["cut"].to_pylist(), rows["attempt"].to_pylist(), strict=True)
        assert sorted(found) == sorted((int(number), name) for number, name in reported)
        published += [name for _, name in reported]
    rows = catalog.load_table(TARGET.parts).scan().to_arrow()
    assert sorted(rows["attempt"].to_pylist()) == sorted(published)
