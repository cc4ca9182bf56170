"""Maintenance: files rewritten, snapshots expired, orphans and old records removed, beside cuts.

Iceberg's own procedures do the work (`lake.procedures`). A cut never waits for it and never fails
by it (PUB-12). Of a table whose schema change is staged nothing is touched: its fork names the
files of before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from time import monotonic

from py4j.protocol import Py4JError
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyspark.errors import PySparkException

from tidemark.errors import StorageError, SupersededError, TidemarkError
from tidemark.lake.catalog import SystemTables, TableId, catalog_errors, mend_times
from tidemark.lake.forks import has_fork
from tidemark.lake.history import read_history
from tidemark.lake.ledger import read_progress
from tidemark.lake.marks import most_rows
from tidemark.lake.procedures import Procedures
from tidemark.lake.spark_errors import spark_errors
from tidemark.lake.staging import unmark_session
from tidemark.lake.table_files import may_lose_files, read_files
from tidemark.log import get_logger
from tidemark.model.maintenance import DueWork, Policy, TableMaintenance, due_work
from tidemark.model.names import TableName
from tidemark.runs.retention import keep_changelog, removable_rows
from tidemark.runs.session import size_for
from tidemark.runs.targets import targets_of
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec

log = get_logger()

NOT_REWRITTEN = "{} files were not: another writer changed them, or they cannot be read"
GC_DISABLED = "somebody set its gc.enabled to false, so that nothing of it may be removed"
FORKED = "a schema change of it is staged; the next run takes it"


def plan_maintenance(
    pipeline: PipelineSpec, world: World, tables: Collection[TableName] = ()
) -> tuple[TableMaintenance, ...]:
    """What a run of maintenance would do now, but for orphans, which only their listing shows.

    tables: source tables; the pipeline's own and all others where it is empty. A table whose files
    cannot be read is skipped. No JVM.
    """
    changelog = SystemTables.of(pipeline.name).changelog
    planned: dict[TableId, TableMaintenance] = {}
    for name in _names(pipeline, world, tables):
        try:
            read = _read_due_work(pipeline, world, name)
        except StorageError as error:
            planned[name] = _planned(name, DueWork(), error.what)
            continue
        if read is not None:
            _, due, skipped = read
            planned[name] = _planned(name, due, skipped)
    if changelog in planned and not planned[changelog].skipped:
        removed = removable_rows(pipeline, world, _now_ms())
        planned[changelog] = replace(planned[changelog], removed=removed)
    return tuple(planned.values())


def maintain(
    pipeline: PipelineSpec, world: World, tables: Collection[TableName] = ()
) -> Iterator[TableMaintenance]:
    """Do what is due, table by table.

    A table that another writer changes meanwhile is left to the next run. Where one fails for
    another reason the others go on, and the first error is raised at the end.
    """
    unmark_session(world.spark)
    failed: Exception | None = None
    for name in _names(pipeline, world, tables):
        try:
            done = _maintained(pipeline, world, name)
        except (TidemarkError, PySparkException, Py4JError) as error:
            failed = failed or error
            log.error("table_not_maintained", table=str(name), error=str(error))
            continue
        if done is not None:
            log.info("table_maintained", **_shown(done))
            yield done
    if failed is not None:
        raise failed


def _maintained(pipeline: PipelineSpec, world: World, name: TableId) -> TableMaintenance | None:
    """Do what is due of one table; None where it is not there."""
    read = _read_due_work(pipeline, world, name)
    if read is None:
        return None
    table, due, skipped = read
    if skipped:
        return _planned(name, DueWork(), skipped)
    started = monotonic()
    mend_times(world.catalog, name)
    done = _maintain(pipeline, world, name, table, due)
    return replace(done, seconds=round(monotonic() - started, 1))


def _shown(done: TableMaintenance) -> dict[str, object]:
    fields = {name: getattr(done, name) for name in done.__slots__}
    return {name: value for name, value in fields.items() if value}


def _planned(name: TableId, due: DueWork, skipped: str) -> TableMaintenance:
    return TableMaintenance(
        str(name),
        rewritten=due.rewrites,
        bytes=due.bytes,
        rows=due.rows,
        manifests=due.manifests,
        expired=due.expires,
        skipped=skipped,
    )


def policy_of(pipeline: PipelineSpec, world: World) -> Policy:
    """How far the tables of a pipeline may wear, by its file and the installation."""
    return pipeline.maintenance.policy(world.installation.maintenance)


def _read_due_work(
    pipeline: PipelineSpec, world: World, name: TableId
) -> tuple[Table, DueWork, str] | None:
    """A table, what is due of it, and why nothing is done to it; None where it is not there.

    Own tables are kept small by cuts (`lake.upkeep`), but for the changelog.
    """
    system = SystemTables.of(pipeline.name)
    with catalog_errors(f"the reading of {name}"):
        try:
            table = world.catalog.load_table(name.parts)
        except NoSuchTableError:
            return None
        due = due_work(read_files(table), policy_of(pipeline, world), _now_ms())
    if name in system.all and name != system.changelog:
        due = DueWork()
    is_forked = has_fork(world.catalog, system.ledger.namespace, name)
    return table, due, FORKED if is_forked else ""


def _names(
    pipeline: PipelineSpec, world: World, tables: Collection[TableName]
) -> Sequence[TableId]:
    system = SystemTables.of(pipeline.name)
    progress = read_progress(world.catalog, system).under(pipeline.renames)
    targets = targets_of(pipeline, read_history(world.catalog, system), progress)
    chosen = [target for table, target in sorted(targets.items()) if not tables or table in tables]
    return chosen if tables else [*chosen, *system.all]


def _maintain(
    pipeline: PipelineSpec, world: World, name: TableId, table: Table, due: DueWork
) -> TableMaintenance:
    """Expiry comes first: what is replaced now can be read until the next run."""
    size_for(world.spark, most_rows(table.current_snapshot()))
    run = Procedures(world.spark, world.catalog.name, name, policy_of(pipeline, world))
    now_ms, is_sorted = _now_ms(), bool(table.sort_order().fields)
    may_lose = may_lose_files(table)
    is_changelog = name == SystemTables.of(pipeline.name).changelog
    steps: list[tuple[bool, Callable[[], Mapping[str, int]]]] = [
        (is_changelog, lambda: {"removed": keep_changelog(pipeline, world, now_ms)}),
        (due.expires > 0 and may_lose, lambda: run.expire(due.expires_before)),
        (due.rewrites > 0, lambda: run.rewrite(is_sorted=is_sorted)),
        (due.deletes, run.rewrite_deletes),
        (due.manifests > 0, run.rewrite_manifests),
        (may_lose, lambda: run.remove_orphans(now_ms)),
    ]
    done = TableMaintenance(str(name), skipped="" if may_lose else GC_DISABLED)
    for is_due, step in steps:
        if is_due:
            try:
                with spark_errors(f"the maintenance of {name}"):
                    counts = dict(step())
            except SupersededError as error:
                return replace(done, skipped=error.what)
            failed = counts.pop("failed", 0)
            done = done.counted(counts)
            if failed:
                done = replace(done, skipped=NOT_REWRITTEN.format(failed))
    return done


def _now_ms() -> int:
    return int(datetime.now(UTC).timestamp() * 1000)
