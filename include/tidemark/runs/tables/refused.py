"""Tables that a cut leaves as they are, before anything of them is read, and what to do then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tidemark.errors import WAITING, RowsUnknownError, TableStoppedError
from tidemark.lake.catalog import TableId
from tidemark.lake.evolve import TargetHead
from tidemark.lake.marks import CUT
from tidemark.model.names import TableName
from tidemark.model.progress import Progress
from tidemark.model.renames import Rename, Renames, swapped_tables
from tidemark.model.target_mode import TargetMode
from tidemark.runs.ddl.effects import DdlStop
from tidemark.spec import PipelineSpec, TableSpec

NEW_TARGET = "fold the table into a new target from a new snapshot of the source"


def refuse_late(pipeline: PipelineSpec, table: TableName, late: Mapping[TableName, str]) -> None:
    """Raise when a change that was promised to be there came after its cut (GATE-5)."""
    if table in late:
        raise TableStoppedError(
            f"{table}: {late[table]}",
            state="the table stays as it was last published, without these changes; they wait in "
            "the changelog",
            next_step="find out why the source sent them late, then fold the table again with "
            f"them: tidemark refold {pipeline.name} {table}",
        )


def refuse_statement(
    pipeline: PipelineSpec,
    spec: TableSpec,
    stops: Mapping[TableName | None, DdlStop],
    followed: Mapping[TableName, TableId],
) -> None:
    """Raise when DDL stops the table; followed: tables with their targets."""
    stop = stops.get(spec.source, stops.get(None))
    if stop is None:
        return
    what = f"{spec.source} cannot be followed: {stop.why}"
    rebuild = "fold the table into a new target from a new snapshot of the source, or take it out "
    rebuild += "of the pipeline file"
    next_step = rebuild
    table_swap = swapped_tables(stop.by.pairs, spec.source, followed) if stop.by is not None else []
    if table_swap and stop.by is not None:
        names = " and ".join(map(str, sorted(table_swap)))
        what = f"{names} exchanged their names (CONTENT_DDL): {stop.by.text}"
        next_step = "if their targets are to go on with the tables, write "
        next_step += f"{_swapped(table_swap, followed)}; else fold both into new targets"
    elif stop.renamed_to is not None:
        named = f"source: {stop.renamed_to}, was: {spec.source} and target: {spec.target}"
        next_step = f"if its target is to go on under the new name, write {named}; else "
        next_step += rebuild
    if stop.fix:
        next_step = f"{stop.fix}; {next_step}" if table_swap else stop.fix
    if stop.position is not None:
        skip = f"tidemark skip {pipeline.name} --statement {stop.position} --reason WHY"
        next_step = f"if it left all rows and columns as they were, run {skip}; else {rebuild}"
    is_content = stop.position is not None and stop.by is None
    kind = RowsUnknownError if is_content else TableStoppedError
    raise kind(what, state=WAITING, next_step=next_step)


def content_stop(
    pipeline: PipelineSpec,
    spec: TableSpec,
    stops: Mapping[TableName | None, DdlStop],
    followed: Mapping[TableName, TableId],
) -> RowsUnknownError | None:
    """The statement that may have changed rows; what else stops the table is raised."""
    try:
        refuse_statement(pipeline, spec, stops, followed)
    except RowsUnknownError as error:
        return error
    return None


def _swapped(table_swap: Sequence[TableName], followed: Mapping[TableName, TableId]) -> str:
    """What the file says once each table of ``table_swap`` has the name of the next one."""
    pairs = sorted(zip((*table_swap[1:], table_swap[0]), table_swap, strict=True))
    lines = (f"source: {new}, was: {old} and target: {followed[old].table}" for new, old in pairs)
    return "; ".join(lines)


def refuse_shared(spec: TableSpec, owner: TableName) -> None:
    """Raise when the target belongs to another table."""
    if owner != spec.source:
        raise TableStoppedError(
            f"{spec.source} and {owner} would share the target {spec.target}",
            state=f"{owner} is folded into it, {spec.source} is not folded",
            next_step=f"give {spec.source} a target: of its own in the pipeline file",
        )


def refuse_foreign(
    pipeline: PipelineSpec, spec: TableSpec, head: TargetHead | None, cut: int
) -> None:
    """Raise when the rows of a target are not those that were published last (PUB-10, PUB-11).

    cut: the newest one that the ledger knows; a target that a later one changed is not ours to
    change, as the ledger was lost or put back.
    """
    if head is None:
        return
    target = f"{pipeline.target_namespace}.{spec.target}"
    marks = head.published.marks if head.published else {}
    later = int(marks.get(CUT, 0))
    if head.change:
        what = f"{target} is not as it was published: {head.change}"
        ways = [head.back] if head.back else []
        if spec.mode is TargetMode.MIRROR and not pipeline.source.format.is_canal:
            ways.append(
                f"have it re-snapshotted as it is now: tidemark resync {pipeline.name} "
                f"{spec.source}"
            )
        ways.append(f"fold it again from the changelog: {_refold(pipeline, spec)}")
        next_step = "; or ".join(ways)
    elif marks.get("tidemark.pipeline") == pipeline.name and later > cut:
        what = f"{target} was published by cut {later}, and the ledger knows {cut} cuts"
        next_step = f"put the ledger of the pipeline back; else {NEW_TARGET}"
    else:
        return
    raise TableStoppedError(what, state=WAITING, next_step=next_step)


def refuse_altered(pipeline: PipelineSpec, spec: TableSpec, head: TargetHead | None) -> None:
    """Raise when somebody altered a target so that a cut cannot be written in it (PUB-11)."""
    if head is None or not head.altered:
        return
    ways = [head.back] if head.back else []
    ways.append(f"fold it again from the changelog: {_refold(pipeline, spec)}")
    raise TableStoppedError(
        f"{pipeline.target_namespace}.{spec.target} was altered: {head.altered}",
        state=WAITING,
        next_step="; or ".join(ways),
    )


def refuse_lost(
    pipeline: PipelineSpec, spec: TableSpec, folded: Iterable[tuple[str, str]], progress: Progress
) -> None:
    """Raise for a published target that is gone or has nothing: this cut alone would fill it.

    In a REST catalog it has nothing where somebody removed what the server had not moved yet
    (PUB-11, PUB-13). folded: tables and targets of all published cuts. One that a resync was begun
    for is filled by the snapshot of the source.
    """
    target = f"{pipeline.target_namespace}.{spec.target}"
    if spec.source in progress.snapshots.tables or target not in {to for _, to in folded}:
        return
    next_step = "put it back from its newest metadata file"
    if spec.mode is TargetMode.MIRROR and not pipeline.source.format.is_canal:
        next_step += f"; or re-snapshot it: tidemark resync {pipeline.name} {spec.source}"
    raise TableStoppedError(
        f"{target}, the target of {spec.source}, was published and is not there any more, or has "
        "nothing of that",
        state=WAITING,
        next_step=f"{next_step}; or fold it again from the changelog: {_refold(pipeline, spec)}",
    )


def _refold(pipeline: PipelineSpec, spec: TableSpec) -> str:
    return f"tidemark refold {pipeline.name} {spec.source}"


def refuse_other_target(spec: TableSpec, renames: Iterable[Rename]) -> None:
    """Raise when a table was renamed in this cut whose target is not there (SCHEMA-31).

    Of tables that exchanged their names it is known whose a target is.
    """
    cut_renames = Renames(done=tuple(renames))
    if any(
        rename.new == spec.source and not cut_renames.is_table_swap(rename)
        for rename in cut_renames.done
    ):
        raise TableStoppedError(
            f"{spec.source} was called {spec.was}, and there is no target {spec.target} of it",
            state="nothing of the table is published; its records wait in the changelog",
            next_step=f"write as target: the table that {spec.was} was folded into; if there was "
            "none, take was: out, and fold the table from a new snapshot of the source",
        )
