"""raw, land, cut: how many records a second go from four partitions into Iceberg, and how far.

All of them read the same topic; what they write is theirs alone and is removed after each round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from tests.bench.figures import Figure, Target, ratio
from tests.bench.lab import Lab
from tests.bench.measure import Cost, take_turns
from tests.bench.messages import Batch, row_changes, schema_change
from tests.bench.produce import send
from tests.bench.tables import base_table, clone, discard
from tidemark.lake.catalog import SystemTables, TableId, ensure_namespace
from tidemark.model.names import AttemptId, quote
from tidemark.model.result import CutResult, CutStatus
from tidemark.runs.cut import run_cut
from tidemark.runs.landing.land import land_records
from tidemark.runs.run import CutRequest, begin_run
from tidemark.spec import PipelineSpec

TABLE = "orders"
RECORDS, ROWS = 400_000, 2_000_000
TIMES = 2
"""How often a row is changed in them, so half of the records are superseded by the other half."""
GB = 1e9


@dataclass(frozen=True, slots=True)
class Sample:
    """One run; laps: seconds that led to each event that the product logged."""

    cost: Cost
    laps: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Topic:
    """The records that all competitors read, and the table that they concern."""

    prefix: str
    batch: Batch
    base: TableId

    @property
    def name(self) -> str:
        """Of the row changes' topic."""
        return f"{self.prefix}.{TABLE}"


def fill_topic(lab: Lab, prefix: str) -> Topic:
    """Everything that must be there before the first round."""
    batch = Batch(lab.scaled(ROWS), keys=lab.scaled(RECORDS) // TIMES, times=TIMES)
    lab.make_topics(prefix, [TABLE])
    messages = chain([schema_change(TABLE)], row_changes(TABLE, batch))
    send(lab.world.broker.servers, prefix, messages)
    return Topic(prefix, batch, base_table(lab.world, batch.rows))


def measure_throughput(lab: Lab, wanted: Collection[str]) -> Sequence[Figure]:
    """Figures of raw, which all others are set against, and of what else is wanted."""
    topic = fill_topic(lab, "throughput")
    runs: Mapping[str, Callable[[Lab, Topic, int], Sample]] = {
        "raw": append_raw,
        "land": land,
        "cut": cut,
    }
    samples = take_turns(
        {
            name: partial(run, lab, topic)
            for name, run in runs.items()
            if name == "raw" or name in wanted
        },
        lab.rounds,
    )
    figures = [_rate("raw", samples["raw"], topic)]
    if "land" in wanted:
        figures += [
            _rate("land", samples["land"], topic),
            _against_raw("land", samples, Target(at_least=0.7)),
        ]
    if "cut" in wanted:
        figures += [
            _rate("cut", samples["cut"], topic, Target(at_least=40)),
            _against_raw("cut", samples, Target(at_least=0.33)),
            *_effort(samples["cut"], topic),
        ]
    return figures


def append_raw(lab: Lab, topic: Topic, number: int) -> Sample:
    """What nobody can go below: plain read, plain append of key and value."""
    session, servers = lab.world.spark, lab.world.broker.servers
    namespace = f"raw_{number}"
    ensure_namespace(lab.world.catalog, namespace)
    records = (
        session.read.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", topic.name)
        .option("startingOffsets", "earliest")
        .option("endingOffsets", "latest")
        .load()
        .select("key", "value")
    )
    table = quote(lab.world.catalog.name, namespace, TABLE)
    records.limit(0).writeTo(table).using("iceberg").create()
    cost, _ = lab.meter.measure(records.writeTo(table).append)
    discard(lab.world, namespace)
    return Sample(cost, {})


def land(lab: Lab, topic: Topic, number: int) -> Sample:
    """The product's landing, up to where it counts."""
    pipeline = lab.pipeline(f"land_{number}", topic.prefix, [TABLE])
    run = begin_run(pipeline, lab.world, CutRequest(AttemptId("bench")))
    cost, landed = lab.meter.measure(lambda: land_records(run))
    discard(lab.world, _own_namespace(pipeline))
    if landed.records != topic.batch.changes + 1:
        raise RuntimeError(f"{landed.records} records were landed")
    return Sample(cost, {})


def cut(lab: Lab, topic: Topic, number: int) -> Sample:
    """A whole cut, from unread records to the published table."""
    pipeline = lab.pipeline(f"cut_{number}", topic.prefix, [TABLE])
    sample = cut_into_clone(lab, topic, pipeline)
    discard_cut(lab, pipeline)
    return sample


def cut_into_clone(lab: Lab, topic: Topic, pipeline: PipelineSpec) -> Sample:
    """Fold the topic into a copy of the base table; the copy is left for whoever looks at it."""
    clone(lab.world, topic.base, TableId(pipeline.target_namespace, TABLE))
    began = time.perf_counter()
    request = CutRequest(AttemptId("bench"))
    cost, result = lab.meter.measure(lambda: run_cut(pipeline, lab.world, request))
    _refuse_wrong(result, topic.batch)
    return Sample(cost, lab.timeline.laps(began))


def discard_cut(lab: Lab, pipeline: PipelineSpec) -> None:
    """Remove what a cut made."""
    discard(lab.world, pipeline.target_namespace)
    discard(lab.world, _own_namespace(pipeline))


def _own_namespace(pipeline: PipelineSpec) -> str:
    return SystemTables.of(pipeline.name).changelog.namespace


def _refuse_wrong(result: CutResult, batch: Batch) -> None:
    """A fast wrong result is no result."""
    expected = [(batch.count("c"), batch.count("u"), batch.count("d"))]
    done = [(table.inserted, table.updated, table.deleted) for table in result.tables]
    if result.status is not CutStatus.PUBLISHED or done != expected:
        raise RuntimeError(f"the cut did {done}, not {expected}: {result.to_json()}")


def _rate(
    name: str, samples: Sequence[Sample], topic: Topic, target: Target | None = None
) -> Figure:
    rates = tuple(topic.batch.changes / sample.cost.seconds / 1000 for sample in samples)
    return Figure(name, "throughput", "thousand records/s", rates, target)


def _against_raw(name: str, samples: Mapping[str, Sequence[Sample]], target: Target) -> Figure:
    raw, own = ([s.cost.seconds for s in samples[key]] for key in ("raw", name))
    return Figure(name, "throughput, times that of raw", "", ratio(raw, own), target)


def _effort(samples: Sequence[Sample], topic: Topic) -> Sequence[Figure]:
    """What a whole cut takes beside time; bounds are those of a Flink upsert sink."""
    per_cut = RECORDS / topic.batch.changes
    cpu = tuple(sample.cost.cpu_seconds * per_cut for sample in samples)
    peak = tuple(sample.cost.peak_bytes / GB for sample in samples)
    laps = [
        Figure("cut", f"up to {event}", "s", tuple(s.laps.get(event, 0.0) for s in samples))
        for event in samples[0].laps
    ]
    return [
        Figure("cut", f"CPU per {RECORDS:,} records", "s", cpu, Target(at_most=30)),
        Figure("cut", "peak memory", "GB", peak, Target(at_most=1.8)),
        *laps,
    ]
