"""worn: what reading costs after many cuts, before and after maintenance, beside a fresh table.

And the feed of the newest cut, beside a comparison of both snapshots by a join of all their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.bench.columns import KEY
from tests.bench.figures import Figure, Target, ratio
from tests.bench.lab import Lab
from tests.bench.measure import take_turns
from tests.bench.messages import Batch, row_changes, schema_change
from tests.bench.produce import send
from tests.bench.tables import base_table, make_empty, read_all
from tests.bench.throughput import TABLE, discard_cut
from tidemark.lake.catalog import SystemTables, TableId
from tidemark.lake.ledger import newest_snapshots
from tidemark.lake.marks import PUBLISHED, Published, live_rows
from tidemark.lake.table_files import read_files
from tidemark.model.names import AttemptId, quote
from tidemark.model.result import CutStatus
from tidemark.runs.changes import changes_between
from tidemark.runs.cut import run_cut
from tidemark.runs.maintain import maintain
from tidemark.runs.run import CutRequest
from tidemark.spec import PipelineSpec

ROWS, KEYS, CUTS = 2_000_000, 2_000, 100
LOOKUPS = 5
FRESH, WORN = "fresh", "worn"


def measure_worn(lab: Lab) -> Sequence[Figure]:
    """Seconds of a full scan and of lookups by key; files; and what maintenance took."""
    pipeline = lab.pipeline(WORN, WORN, [TABLE])
    worn = TableId(pipeline.target_namespace, TABLE)
    fresh = TableId(pipeline.target_namespace, FRESH)
    _fill(lab, worn)
    seconds = _wear(lab, pipeline)
    _copy(lab, worn, fresh)
    cuts = lab.scaled(CUTS, least=5)
    before = _read(lab, f"after {cuts} cuts", worn, fresh, has_targets=False)
    feed = _feed(lab, pipeline, worn, cuts)
    cost, _ = lab.meter.measure(lambda: list(maintain(pipeline, lab.world)))
    after = _read(lab, "after maintenance", worn, fresh, has_targets=True)
    files = sum(map(len, read_files(lab.world.catalog.load_table(worn.parts)).files.values()))
    discard_cut(lab, pipeline)
    return [
        *before,
        *after,
        *feed,
        Figure("worn", "files after maintenance", "", (float(files),)),
        Figure("worn", "maintenance", "s", (cost.seconds,)),
        Figure("worn", f"maintenance, times {cuts} cuts", "", (cost.seconds / seconds,)),
    ]


def _fill(lab: Lab, table: TableId) -> None:
    """A table of its own: maintenance removes files, and a clone shares them with its base."""
    base = base_table(lab.world, lab.scaled(ROWS))
    _copy(lab, base, table)
    loaded = lab.world.catalog.load_table(table.parts)
    head = loaded.current_snapshot()
    assert head is not None
    published = Published(head.snapshot_id, head.sequence_number or 0, live_rows(head), {})
    with loaded.transaction() as change:
        change.set_properties({PUBLISHED: published.to_json()})


def _copy(lab: Lab, table: TableId, into: TableId) -> None:
    make_empty(lab.world, into)
    read_all(lab.world, table).writeTo(quote(lab.world.catalog.name, *into.parts)).append()


def _wear(lab: Lab, pipeline: PipelineSpec) -> float:
    """Cuts of keys that are uniform over the table; their seconds."""
    rows, keys = lab.scaled(ROWS), lab.scaled(KEYS)
    lab.make_topics(WORN, [TABLE])
    send(lab.world.broker.servers, WORN, [schema_change(TABLE)])
    seconds = 0.0
    for number in range(lab.scaled(CUTS, least=5)):
        changes = row_changes(TABLE, Batch(rows, keys), first=number * keys)
        send(lab.world.broker.servers, WORN, changes)
        request = CutRequest(AttemptId(f"bench_{number}"))
        cost, result = lab.meter.measure(partial(run_cut, pipeline, lab.world, request))
        if result.status is not CutStatus.PUBLISHED:
            raise RuntimeError(f"the cut ended as {result.to_json()}")
        seconds += cost.seconds
    return seconds


def _read(
    lab: Lab, when: str, worn: TableId, fresh: TableId, *, has_targets: bool
) -> Sequence[Figure]:
    """Both tables in turn; targets are set for a maintained one."""
    reads: Mapping[str, tuple[Callable[[Lab, TableId, int], float], Target]] = {
        "full scan": (_scan, Target(at_most=1.2)),
        "lookup by key": (_look_up, Target(at_most=1.5)),
    }
    figures = []
    for name, (read, target) in reads.items():
        seconds = take_turns(
            {WORN: partial(read, lab, worn), FRESH: partial(read, lab, fresh)}, lab.rounds
        )
        times = ratio(seconds[WORN], seconds[FRESH])
        figures += [
            Figure("worn", f"{name} {when}", "s", tuple(seconds[WORN])),
            Figure(
                *("worn", f"{name} {when}, times that of a fresh table", "", times),
                target if has_targets else None,
            ),
        ]
    return figures


def _feed(lab: Lab, pipeline: PipelineSpec, table: TableId, cut: int) -> Sequence[Figure]:
    """Both ways in turn, each to the changed rows themselves."""
    source = pipeline.tables[0].source
    system = SystemTables.of(pipeline.name)
    old, new = newest_snapshots(
        lab.world.catalog, system, [(str(table), number) for number in (cut - 1, cut)]
    )
    name = quote(lab.world.catalog.name, *table.parts)

    def feed(_: int) -> float:
        with changes_between(pipeline, lab.world, source, cut - 1, cut) as rows:
            return _write(lab, rows)

    def join(_: int) -> float:
        before, after = (
            lab.world.spark.read.option("versionAsOf", snapshot).table(name)
            for snapshot in (old, new)
        )
        pairs = before.alias("a").join(after.alias("b"), KEY, "full_outer")
        same = F.expr("a._tidemark_position <=> b._tidemark_position")
        return _write(lab, pairs.where(~same))

    seconds = take_turns({"feed": feed, "join": join}, lab.rounds)
    return [
        Figure("worn", "changes of the newest cut", "s", tuple(seconds["feed"])),
        Figure(
            *("worn", "changes of the newest cut, times a join of both snapshots", ""),
            ratio(seconds["feed"], seconds["join"]),
            Target(at_most=1.0),
        ),
    ]


def _write(lab: Lab, rows: DataFrame) -> float:
    write = rows.write.format("noop").mode("overwrite")
    return lab.meter.measure(lambda: write.save())[0].seconds


def _scan(lab: Lab, table: TableId, _: int) -> float:
    return _write(lab, read_all(lab.world, table))


def _look_up(lab: Lab, table: TableId, number: int) -> float:
    """Some keys, one after the other."""
    keys = [1 + (number * LOOKUPS + at) * 7919 % lab.scaled(ROWS) for at in range(LOOKUPS)]
    rows = read_all(lab.world, table)

    def look() -> None:
        for key in keys:
            rows.where(F.col(KEY) == key).collect()

    return lab.meter.measure(look)[0].seconds
