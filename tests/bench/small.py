"""small: cuts of ten rows over three tables, one after the other in a warm session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.bench.figures import MIB, Figure, Target
from tests.bench.jvm import used_heap_bytes
from tests.bench.lab import Lab
from tests.bench.measure import Cost
from tests.bench.messages import Batch, Message, row_changes, schema_change
from tests.bench.produce import send
from tests.bench.throughput import discard_cut
from tidemark.model.names import AttemptId
from tidemark.model.result import CutStatus
from tidemark.runs.cut import run_cut
from tidemark.runs.run import CutRequest
from tidemark.spec import PipelineSpec

TABLES = {"orders": 4, "returns": 3, "offers": 3}
"""How many rows of each change with a cut."""
CUTS, WARM_UP = 20, 3
FLAT = Target(at_most=1.1)


def measure_small(lab: Lab) -> Sequence[Figure]:
    """Seconds of a cut, and memory before the first and after the last of them."""
    prefix = "small"
    lab.make_topics(prefix, list(TABLES))
    pipeline = lab.pipeline(prefix, prefix, list(TABLES))
    for number in range(WARM_UP):
        small_cut(lab, pipeline, number)
    heap, resident = [used_heap_bytes(lab.world.spark)], [lab.meter.resident_bytes()]
    count = lab.scaled(CUTS, least=3)
    costs = [small_cut(lab, pipeline, WARM_UP + number) for number in range(count)]
    heap.append(used_heap_bytes(lab.world.spark))
    resident.append(lab.meter.resident_bytes())
    discard_cut(lab, pipeline)
    seconds = tuple(cost.seconds for cost in costs)
    return [
        Figure("small", "cut of ten rows, three tables", "s", seconds, Target(at_most=3)),
        *_memory("heap in use", heap, count),
        *_memory("resident memory", resident, count),
    ]


def small_cut(lab: Lab, pipeline: PipelineSpec, number: int) -> Cost:
    """A cut of ten changes that were not there before; the first makes the tables."""
    send(lab.world.broker.servers, pipeline.name, _messages(number))
    request = CutRequest(AttemptId(f"bench_{number}"))
    cost, result = lab.meter.measure(lambda: run_cut(pipeline, lab.world, request))
    if result.status is not CutStatus.PUBLISHED or len(result.tables) != len(TABLES):
        raise RuntimeError(f"the cut ended as {result.to_json()}")
    return cost


def _messages(number: int) -> Iterator[Message]:
    for table, changes in TABLES.items():
        if number == 0:
            yield schema_change(table)
        yield from row_changes(table, Batch(rows=100, keys=changes), first=number * changes)


def _memory(name: str, before_and_after: Sequence[int], cuts: int) -> Sequence[Figure]:
    before, after = before_and_after
    return [
        Figure("small", f"{name} before", "MiB", (before / MIB,)),
        Figure("small", f"{name} after {cuts} more cuts", "MiB", (after / MIB,)),
        Figure("small", f"{name}, times that before", "", (after / before,), FLAT),
    ]
