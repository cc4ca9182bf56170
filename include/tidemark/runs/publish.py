"""Publish: move every table of a staged cut, and the ledger, to their audited snapshots at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import takewhile

from pyiceberg.catalog import Catalog

from tidemark.errors import UNCHANGED, AuditBlockedError, NoAttemptError, SupersededError
from tidemark.lake.catalog import SystemTables, TableId, catalog_errors
from tidemark.lake.due import OUR_COMMENT
from tidemark.lake.history import read_history
from tidemark.lake.ledger import ATTEMPT, RESULT, StagedCut, find_cut, read_progress, tag_of_attempt
from tidemark.lake.marks import TAG
from tidemark.lake.publication import update_mains
from tidemark.lake.refs import RefUpdate, ancestors, summary_value
from tidemark.lake.tags import Tagging, tag_targets
from tidemark.lake.unfinished import finish_publication, in_order
from tidemark.lake.verdicts import read_verdicts as read_rows
from tidemark.log import get_logger
from tidemark.model.names import AttemptId, PipelineName, TableName
from tidemark.model.result import CutResult, CutStatus, TableResult
from tidemark.model.verdict import Outcome, Verdict
from tidemark.runs.targets import spec_of, targets_of
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec

log = get_logger()

# What a snapshot says of the files that it brings and leaves out, where there are any.
FILES = ("added-data-files", "deleted-data-files", "added-delete-files", "removed-delete-files")


def read_verdicts(
    pipeline: PipelineSpec, world: World, attempt: AttemptId, cut: int
) -> tuple[Verdict, ...]:
    """What the audit of ``attempt`` at ``cut`` found, table by table. No JVM.

    Nothing where the attempt left no cut, whatever number its result has.
    """
    return read_rows(world.catalog, SystemTables.of(pipeline.name), attempt, cut)


def cut_of(pipeline: PipelineSpec, world: World, attempt: AttemptId) -> int | None:
    """The number of the cut that ``attempt`` staged or published; None where it left none."""
    staged = find_cut(world.catalog, SystemTables.of(pipeline.name), attempt)
    if staged is None:
        return None
    return staged.result.cut if isinstance(staged, StagedCut) else staged.cut


def publish_cut(pipeline: PipelineSpec, world: World, attempt: AttemptId) -> CutResult:
    """As `publish_tagged`, whatever the tag."""
    return publish_tagged(pipeline, world, attempt)[0]


def publish_tagged(
    pipeline: PipelineSpec, world: World, attempt: AttemptId
) -> tuple[CutResult, str]:
    """Publish the cut that ``attempt`` staged: all tables and the ledger, or nothing. No JVM.

    Also the tag that it gave, empty where it gave none.

    Safe to repeat. `NoAttemptError` when nothing is staged under that name, `AuditBlockedError`
    when a verdict blocks or is missing, `SupersededError` when another attempt came first,
    `OutcomeUnknownError` when the catalog may publish it yet: the next try finds out (PUB-5).
    """
    tables = SystemTables.of(pipeline.name)
    finish_publication(world.catalog, tables)
    staged = find_cut(world.catalog, tables, attempt)
    if staged is None:
        raise NoAttemptError(
            f"attempt {attempt} of pipeline {pipeline.name} is not staged",
            state=UNCHANGED,
            next_step=f"stage it again: clear the task fold, or run tidemark cut {pipeline.name}",
        )
    if isinstance(staged, CutResult):
        log.info("cut_already_published", pipeline=pipeline.name, cut=staged.cut)
        tag = tag_of_attempt(world.catalog, tables, attempt)
        return replace(staged, status=CutStatus.PUBLISHED), tag
    verdicts = read_rows(world.catalog, tables, attempt, staged.result.cut)
    _refuse_unaudited(pipeline.name, staged, verdicts)
    staged = replace(staged, result=_with_outcomes(staged.result, verdicts))
    try:
        _refuse_stale(pipeline, staged, read_progress(world.catalog, tables).cut)
        moves = publication(staged, pipeline, world, tables)
        update_mains(world.catalog, moves)
        tag = next(dict(move.marks)[TAG] for move in moves if move.table == tables.ledger)
    except SupersededError:
        # By itself, if the database has finished meanwhile what an earlier try had asked of it.
        if not isinstance(find_cut(world.catalog, tables, attempt), CutResult):
            raise
        finish_publication(world.catalog, tables)
        tag = tag_of_attempt(world.catalog, tables, attempt)
    result = replace(staged.result, status=CutStatus.PUBLISHED)
    log.info("cut_published", pipeline=pipeline.name, cut=result.cut, tables=len(result.tables))
    return result, tag


def changed_tables(
    pipeline: PipelineSpec, catalog: Catalog, result: CutResult
) -> tuple[TableResult, ...]:
    """Tables of the pipeline file of which a published cut wrote or removed rows. No JVM.

    Counts do not tell: to mark what a truncate ended, or to fill a new column, is counted nowhere.
    """
    named = (TableId(pipeline.target_namespace, table.target) for table in pipeline.tables)
    places = {str(target): target for target in named}
    return tuple(
        table
        for table in result.tables
        if table.target in places
        and _has_new_files(catalog, places[table.target], table.snapshot_id, result.attempt)
    )


def _has_new_files(catalog: Catalog, place: TableId, snapshot_id: int, attempt: AttemptId) -> bool:
    """Whether the attempt changed files: a merge of what came before leaves an empty snapshot."""
    with catalog_errors(f"the reading of {place}"):
        table = catalog.load_table(place.parts)
    snapshots = takewhile(
        lambda snapshot: summary_value(snapshot, ATTEMPT) == attempt, ancestors(table, snapshot_id)
    )
    return any(summary_value(snapshot, count) for snapshot in snapshots for count in FILES)


def _with_outcomes(result: CutResult, verdicts: tuple[Verdict, ...]) -> CutResult:
    """``result`` with the outcomes of now: what blocked may have been accepted since."""
    outcomes = {verdict.snapshot_id: verdict.outcome for verdict in verdicts}
    tables = (replace(table, outcome=outcomes[table.snapshot_id]) for table in result.tables)
    return replace(result, status=CutStatus.STAGED, tables=tuple(tables))


def publication(
    staged: StagedCut, pipeline: PipelineSpec, world: World, tables: SystemTables
) -> tuple[RefUpdate, ...]:
    """The moves, in the order in which the catalog is to make them.

    With the tag that the cut gives, and the ledger's with what it is to go on saying of this cut
    and those before.
    """
    *staged_updates, ledger_update = staged.ref_updates
    ref_updates = _described(pipeline, staged_updates, staged.result)
    now_ms = int(datetime.now(UTC).timestamp() * 1000)
    history, tagging = read_history(world.catalog, tables), Tagging(ref_updates)
    if staged.tag:
        targets = targets_of(pipeline, history, staged.progress.under(pipeline.renames)).values()
        tagging = tag_targets(world.catalog, ref_updates, targets, staged.tag, tables)
    if tagging.refused:
        log.warning("cut_not_tagged", tag=staged.tag, why=tagging.refused)
    result = {RESULT: staged.result.to_json(), TAG: "" if tagging.refused else staged.tag}
    remembered = dict(history.remembered(staged.result, now_ms))
    ledger_marks = {**dict(ledger_update.marks), **result, **remembered}
    ledger_update = replace(ledger_update, marks=tuple(ledger_marks.items()))
    return in_order(world.catalog, (*tagging.moves, ledger_update))


def _described(
    pipeline: PipelineSpec, moves: Sequence[RefUpdate], result: CutResult
) -> tuple[RefUpdate, ...]:
    """``moves``, with what each target is: a table may have got another name since it was made."""
    sources = {table.target: TableName.parse(table.table) for table in result.tables}
    return tuple(
        move
        if (source := sources.get(str(move.published_as))) is None
        else replace(
            move,
            comment=f"{OUR_COMMENT}{spec_of(pipeline, source).mode} of the table {source}, by the "
            f"pipeline {pipeline.name}",
        )
        for move in moves
    )


def _refuse_unaudited(
    pipeline: PipelineName, staged: StagedCut, verdicts: tuple[Verdict, ...]
) -> None:
    """Only what was audited, in exactly this snapshot, and did not block may be published."""
    passed = {v.snapshot_id for v in verdicts if v.outcome is not Outcome.BLOCK}
    failed = [table for table in staged.result.tables if table.snapshot_id not in passed]
    if failed:
        named = ", ".join(f"{table.target} ({table.outcome or 'no verdict'})" for table in failed)
        raise AuditBlockedError(
            f"cut {staged.result.cut} is blocked by the audit of {named}",
            state="main of every table is as it was; the staged branches are kept",
            next_step="fix the data at the source or the suite, then clear the task fold; the next "
            "cut starts from main; if expectations alone block it and are wrong: "
            f"tidemark accept {pipeline} --reason TEXT",
        )


def _refuse_stale(pipeline: PipelineSpec, staged: StagedCut, published: int) -> None:
    if staged.result.cut != published + 1:
        raise SupersededError(
            f"cut {staged.result.cut} of pipeline {pipeline.name} was staged, but cut {published} "
            "is published already",
            state="this attempt changed nothing",
            next_step="nothing to do: the next run starts from what is published",
        )
