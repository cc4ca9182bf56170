"""A case through the product: topics, micro-batches, and a comparison at every stage."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyiceberg.exceptions import NoSuchTableError

from embedded.broker import running_broker
from embedded.home import JARS, embedded_environment
from tests.corpus.batches import batches_of
from tests.corpus.cases import Case, Stage, Table, name_of
from tests.corpus.compare import differences
from tests.corpus.kill import kill_somewhere
from tests.corpus.leave_out import without_unchanged
from tests.corpus.pipeline import make_pipeline
from tests.corpus.produce import create_topics, open_producer, place, send, spread
from tests.corpus.redeliver import with_repeats
from tests.corpus.source import Format, Source, source_of
from tests.corpus.ungated import without_boundaries
from tests.corpus.unknowable import KEPT, QUARANTINED, UNKNOWABLE
from tests.support.rest_catalog import rest_block, running_rest_catalog
from tidemark.errors import ActionRefusedError, SpecError, TidemarkError
from tidemark.lake import removed
from tidemark.lake.catalog import SystemTables
from tidemark.lake.history import read_history
from tidemark.lake.ledger import read_progress
from tidemark.lake.quarantine import read_waiting
from tidemark.model.columns import WITHHELD
from tidemark.model.maintenance import DAY_MS
from tidemark.model.names import AttemptId, TableName, without_dots
from tidemark.model.result import CutStatus
from tidemark.runs.cut import run_cut
from tidemark.runs.refold import begin_refold
from tidemark.runs.retention import keep_changelog
from tidemark.runs.run import CutRequest
from tidemark.runs.world import World, open_spark_world
from tidemark.spec import CatalogSpec, ChangelogSpec, PipelineSpec, load_installation

SHOWN = 3
_ENDED_WELL = {CutStatus.PUBLISHED, CutStatus.IDLE}


@dataclass(frozen=True, slots=True)
class Options:
    """How cases are sent; more_cuts: micro-batches at random places, beside one a stage.

    leave_out: updates leave out what they do not change. refold: at the end each table is folded
    again from the changelog. retain: so many days pass between two stages that the changelog is
    kept for two of them. kills: before so many cuts a run of the same batch is killed. stands_for:
    a table that is blocked for this reason is not compared while it is, and named; None: it is a
    fault, as any other reason.
    """

    more_cuts: int = 0
    partitions: int = 1
    redeliver: bool = False
    leave_out: bool = False
    ungated: bool = False
    refold: bool = False
    retain: bool = False
    kills: int = 0
    seed: int = 0
    stands_for: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a case; faults: the first few, empty when it passed.

    kills: runs that were killed. not_compared: table -> the first stage at which it was blocked
    for a reason that is known.
    """

    case: Case
    cuts: int
    kills: int
    seconds: float
    faults: tuple[str, ...]
    not_compared: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        verdict = "FAIL" if self.faults else "ok  "
        cuts = f"{self.cuts} cuts, {self.kills} killed"
        first = f"{verdict} {self.case.title}  {cuts}  {self.seconds:.1f} s"
        lines = [f"{table} is not compared from {at} on" for table, at in self.not_compared.items()]
        return "\n".join((first, *(f"       {line}" for line in (*lines, *self.faults))))


@dataclass(slots=True)
class _Said:
    """What a case has come to: its cuts, the runs that were killed, and what was not compared.

    not_compared: table -> from which stage on. published: the newest cut of each past stage.
    is_idle: the newest cut published nothing. standing: tables that are blocked by it for a reason
    that is known.
    """

    cuts: int = 0
    kills: int = 0
    is_idle: bool = False
    standing: set[str] = field(default_factory=set)
    not_compared: dict[str, str] = field(default_factory=dict)
    published: list[tuple[Stage, int]] = field(default_factory=list)


@contextmanager
def running_world(state: Path, *, on_rest: bool = False) -> Iterator[World]:
    """Broker, catalog and Spark session for a whole run; all they keep is below ``state``.

    on_rest: with a REST catalog, else with one on SQLite.
    """
    with running_broker(state, JARS) as servers, ExitStack() as running:
        os.environ.update(embedded_environment(state, servers))
        installation = load_installation()
        if on_rest:
            warehouse = installation.catalog.warehouse
            uri = running.enter_context(running_rest_catalog(state, warehouse))
            catalog = CatalogSpec.model_validate(rest_block(uri, warehouse))
            installation = installation.model_copy(update={"catalog": catalog})
        world = open_spark_world(installation)
        try:
            yield world
        finally:
            world.spark.stop()


def run_case(case: Case, name: str, world: World, options: Options) -> Outcome:
    """Send the case and compare it; ``name`` is that of its pipeline, topics and namespace."""
    began = time.monotonic()
    said = _Said()
    try:
        faults = tuple(_run(case, name, world, options, said))
    except SpecError as error:
        faults = (f"not supported by the product: {error.what}",)
    except Exception as error:  # one bad case must not hide what the others show
        faults = (f"cut {said.cuts}: {_first_line(error)}",)
    seconds = time.monotonic() - began
    return Outcome(case, said.cuts, said.kills, seconds, faults, said.not_compared)


def _run(case: Case, name: str, world: World, options: Options, said: _Said) -> Iterator[str]:
    """Faults of the first stage that has any."""
    case = without_unchanged(case) if options.leave_out else case
    case = without_boundaries(case) if options.ungated else case
    source = source_of(case)
    rng = random.Random(f"{options.seed} {case.title}")  # noqa: S311  repeatable, not secret
    partitions = spread(case, source, options.partitions)
    lines = place(case, partitions, rng)
    if options.redeliver and _knows_repeats(case, source):
        lines = with_repeats(lines, rng, to_newest=not source.has_positions)
    pipeline = make_pipeline(case, source, name, world.installation.state)
    create_topics(world.broker.servers, name, partitions)
    producer = open_producer(world.broker.servers)
    start = 0
    batches = batches_of(case, options.more_cuts, rng)
    to_kill = rng.sample(batches, min(options.kills, len(batches)))
    for end, stage in batches:
        send(producer, name, (record for line in lines[start:end] for record in line))
        start = end
        if (end, stage) in to_kill:
            said.kills += kill_somewhere(pipeline, world, AttemptId(f"killed_{end}"), rng)
        faults = tuple(_cut(pipeline, world, options, said))
        if stage is not None:
            faults += tuple(_settle(pipeline, world, options, said))
            for table in sorted(said.standing & stage.tables.keys()):
                said.not_compared.setdefault(table, f"stage {stage.name}")
            faults += tuple(_compare(case, stage, pipeline, world, said.standing))
            if options.retain and not faults:
                _retained(pipeline, world, case.stages.index(stage))
            if options.refold and stage is case.stages[-1] and not faults:
                faults += tuple(_refolded_beside(case, pipeline, world, options, said))
                faults += tuple(_refolded(case, stage, pipeline, world, options, said))
            cut = read_progress(world.catalog, SystemTables.of(pipeline.name)).cut
            said.published.append((stage, cut))
        if faults:
            at = f"stage {stage.name}" if stage else "between stages"
            yield from (f"{at}: {fault}" for fault in faults[:SHOWN])
            if len(faults) > SHOWN:
                yield f"and {len(faults) - SHOWN} more"
            return


def _retained(pipeline: PipelineSpec, world: World, number: int) -> None:
    """Make bases, and remove the records that are older than those of two stages before."""
    removed.MARGIN_MS = -DAY_MS  # A recording takes minutes.
    kept = pipeline.model_copy(update={"changelog": ChangelogSpec(keep="7d")})
    keep_changelog(kept, world, (number + 1) * 4 * DAY_MS)


def _refolded_beside(
    case: Case, pipeline: PipelineSpec, world: World, options: Options, said: _Said
) -> Iterator[str]:
    """Fold every table as each earlier stage had it; what then differs from that stage.

    Renamed tables are skipped: an earlier stage has another name for them.
    """
    system = SystemTables.of(pipeline.name)
    for stage, cut in said.published:
        renames = read_progress(world.catalog, system).renames
        left = {str(name) for one in renames for name in (one.old, one.new)}
        begun = {}
        for number, name in enumerate(sorted(stage.tables.keys() - said.standing)):
            table = name_of(name)
            with suppress(ActionRefusedError):
                if str(table) not in left:
                    begin_refold(pipeline, world, table, into=f"then_{number}", as_of=cut)
                    begun[f"then_{number}"] = name
        said.is_idle = False
        where = f"refold as of stage {stage.name}"
        yield from (f"{where}: {fault}" for fault in _settle(pipeline, world, options, said))
        for target, name in begun.items():
            found = _differs(case, stage, pipeline, world, name, target)
            yield from (f"{where}: {name}: {difference}" for difference in found)
            with suppress(NoSuchTableError):
                world.catalog.drop_table((pipeline.target_namespace, target))


def _refolded(  # noqa: PLR0913  what a stage is compared by
    case: Case,
    stage: Stage,
    pipeline: PipelineSpec,
    world: World,
    options: Options,
    said: _Said,
) -> Iterator[str]:
    """Fold every table again from the changelog; what is then not as it is at this stage."""
    system = SystemTables.of(pipeline.name)
    for table in sorted({table for table, _ in read_history(world.catalog, system).folded}):
        with suppress(ActionRefusedError):
            begin_refold(pipeline, world, TableName.parse(table))
    said.is_idle = False
    yield from (f"refold: {fault}" for fault in _settle(pipeline, world, options, said))
    for _, target in world.catalog.list_tables(pipeline.target_namespace):
        if "__until_cut_" in target:
            world.catalog.drop_table((pipeline.target_namespace, target))
    progress = read_progress(world.catalog, system)
    yield from (f"refold: {table} did not end" for table in progress.refolds)
    found = _compare(case, stage, pipeline, world, said.standing)
    yield from (f"refold: {fault}" for fault in found)


def _knows_repeats(case: Case, source: Source) -> bool:
    """Not of tables without a key and position: a copy is just one more equal row (DUP-4)."""
    return source.has_positions or all(table.key for table in case.tables.values())


def _settle(pipeline: PipelineSpec, world: World, options: Options, said: _Said) -> Iterator[str]:
    """Run until a run finds nothing to do.

    A cut ends where a statement renames tables or changes a key (SCHEMA-31, SCHEMA-24), and what
    stands outside transactions settles once a run finds nothing new (GATE-T6).
    """
    while not said.is_idle:
        yield from _cut(pipeline, world, options, said)


def _cut(pipeline: PipelineSpec, world: World, options: Options, said: _Said) -> Iterator[str]:
    """Run one micro-batch; what it says when it did not end as it should."""
    said.cuts += 1
    result = run_cut(pipeline, world, CutRequest(AttemptId(f"cut_{said.cuts}")))
    said.standing.clear()
    # What waits for good is no news: a run that fails or is blocked says so by itself.
    said.is_idle = result.status is not CutStatus.PUBLISHED
    if result.status not in _ENDED_WELL:
        yield f"the cut ended as {result.status}: {result.error or result.hold}".split("\n", 1)[0]
    for table, why in result.stopped.items():
        if options.stands_for is not None and why.startswith(options.stands_for):
            said.standing.add(str(table))
            continue
        yield f"{table} is blocked: {why}".split("\n", 1)[0]


def _compare(
    case: Case, stage: Stage, pipeline: PipelineSpec, world: World, standing: Collection[str]
) -> Iterator[str]:
    """Every difference but those of the tables that are ``standing``."""
    targets = {_target(world, pipeline, name): name for name in stage.tables}
    quarantined = QUARANTINED.get((case.name, case.variant), {})
    for target, name in targets.items():
        if name in standing:
            continue
        if name in quarantined:
            if _waiting(world, pipeline, name) < len(stage.tables[name].rows):
                yield f"{name}: rows are neither there nor in quarantine"
            continue
        found = _differs(case, stage, pipeline, world, name, target)
        yield from (f"{name}: {difference}" for difference in found)
    known = {*targets, *KEPT.get((case.name, case.variant), ())}
    yield from _strange_tables(world, pipeline.target_namespace, known)


def _differs(  # noqa: PLR0913  what a table is compared by
    case: Case, stage: Stage, pipeline: PipelineSpec, world: World, name: str, target: str
) -> Iterator[str]:
    """In what the rows of ``target`` are not those that the table had at the stage."""
    source = source_of(case)
    untold = UNKNOWABLE.get((case.name, case.variant), {})
    rows = read_rows(world, pipeline.target_namespace, target)
    expected = in_utc(stage.tables[name]) if source.has_instants else stage.tables[name]
    expected, rows = without_columns(
        expected, rows, {*untold.get(name, ()), *withheld_columns(rows)}
    )
    yield from differences(expected, rows, is_postgres=source.format is Format.DEBEZIUM_POSTGRES)


def _waiting(world: World, pipeline: PipelineSpec, name: str) -> int:
    """How many changes of a table wait in quarantine."""
    return len(
        read_waiting(world.catalog, SystemTables.of(pipeline.name), table=str(name_of(name)))
    )


def withheld_columns(rows: list[dict[str, Any]] | None) -> list[str]:
    """Columns of which the target says that their values are unknown (SCHEMA-38)."""
    names = dict.fromkeys(name for row in rows or () for name in row)
    return [name.removeprefix(WITHHELD) for name in names if name.startswith(WITHHELD)]


def without_columns(
    table: Table, rows: list[dict[str, Any]] | None, names: Collection[str]
) -> tuple[Table, list[dict[str, Any]] | None]:
    columns = tuple(column for column in table.columns if column.name not in names)
    found = [{n: v for n, v in row.items() if n not in names} for row in rows or ()]
    return replace(table, columns=columns), None if rows is None else found


def in_utc(table: Table) -> Table:
    """TIMESTAMP with its zone, where the case shows what a session in UTC selects."""
    stamps = [c.name for c in table.columns if c.source_type.startswith("timestamp")]
    rows = tuple(
        {**row, **{n: f"{row[n].rstrip('Z')}Z" for n in stamps if row.get(n)}} for row in table.rows
    )
    return replace(table, rows=rows)


def _target(world: World, pipeline: PipelineSpec, name: str) -> str:
    """The Iceberg table of ``name``, by the documentation: two databases may have one of a name."""
    source = name_of(name)
    database, table = map(without_dots, (source.schema, source.table))
    apart = f"{database}__{table}"
    return apart if world.catalog.table_exists((pipeline.target_namespace, apart)) else table


def _strange_tables(world: World, namespace: str, known: Collection[str]) -> Iterator[str]:
    """Tables with rows that the source does not have at this stage."""
    if not world.catalog.namespace_exists(namespace):
        return
    for _, target in world.catalog.list_tables(namespace):
        if target not in known and (rows := read_rows(world, namespace, target)):
            yield f"{target}: unexpected table with {len(rows)} rows"


def read_rows(world: World, namespace: str, table: str) -> list[dict[str, Any]] | None:
    """The rows that a reader without Spark sees; None when there is no such table."""
    try:
        rows: list[dict[str, Any]] = (
            world.catalog.load_table((namespace, table)).scan().to_arrow().to_pylist()
        )
    except NoSuchTableError:
        return None
    return rows


def _first_line(error: Exception) -> str:
    """What an error of ours says, of any other its first line.

    py4j first says only that there is an error in the JVM.
    """
    if isinstance(error, TidemarkError):
        return error.what
    kind = f"{type(error).__name__}: "
    lines = [line.strip(": ") for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("An error occurred while calling")]
    return kind + (said or lines or ["it said nothing"])[0]
