"""scan: what reading the whole table costs after a cut, beside a fresh table of the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tests.bench.figures import Figure, ratio
from tests.bench.lab import Lab
from tests.bench.measure import take_turns
from tests.bench.tables import make_empty, read_all
from tests.bench.throughput import TABLE, cut_into_clone, discard_cut, fill_topic
from tidemark.lake.catalog import TableId
from tidemark.model.names import quote

FRESH = "fresh"


def measure_scan(lab: Lab) -> Sequence[Figure]:
    """Seconds of both and their ratio."""
    topic = fill_topic(lab, "scan")
    pipeline = lab.pipeline("scan", topic.prefix, [TABLE])
    cut_into_clone(lab, topic, pipeline)
    changed = TableId(pipeline.target_namespace, TABLE)
    fresh = TableId(pipeline.target_namespace, FRESH)
    make_empty(lab.world, fresh)
    rows = read_all(lab.world, changed)
    rows.writeTo(quote(lab.world.catalog.name, *fresh.parts)).append()
    seconds = take_turns(
        {"after a cut": partial(_scan, lab, changed), FRESH: partial(_scan, lab, fresh)},
        lab.rounds,
    )
    discard_cut(lab, pipeline)
    after, before = seconds["after a cut"], seconds[FRESH]
    return [
        Figure("scan", "full scan after a cut", "s", tuple(after)),
        Figure("scan", "full scan of a fresh table", "s", tuple(before)),
        Figure("scan", "after a cut, times the fresh one", "", ratio(after, before)),
    ]


def _scan(lab: Lab, table: TableId, _: int) -> float:
    """Read every column of every row and throw them away."""
    write = read_all(lab.world, table).write.format("noop").mode("overwrite")
    return lab.meter.measure(lambda: write.save())[0].seconds
