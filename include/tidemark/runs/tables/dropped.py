"""Tables that the source dropped: kept as they were, and not taken for others of their name."""

from __future__ import annotations

from tidemark.errors import WAITING, TableStoppedError
from tidemark.lake.history import read_history
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.columns import TableSchema
from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.position import Position, place_of
from tidemark.model.progress import Progress
from tidemark.model.reconcile import below_snapshot
from tidemark.runs.choose import Chosen
from tidemark.runs.columns.recreated import recreation_of
from tidemark.runs.ddl.effects import DdlEffects
from tidemark.runs.run import Run
from tidemark.runs.targets import targets_of
from tidemark.spec import OnDrop, SourceFormat, TableSpec


def tables_of_dropped_databases(run: Run, chosen: Chosen, progress: Progress) -> set[TableName]:
    """The tables that have or may get a target, of databases that the cut drops (SCHEMA-21)."""
    schemas = chosen.effects.emptied.keys()
    if not schemas:
        return set()
    history = read_history(run.world.catalog, run.system)
    return {
        table for table in targets_of(run.pipeline, history, progress) if table.schema in schemas
    }


def take_reread(chosen: Chosen, spec: TableSpec, have: TableSchema | None) -> None:
    """Have a table start over whose columns changed unseen before a snapshot read it (SNAP-6).

    It is the same as if it was dropped and made again where the snapshot read it: the columns are
    those that the snapshot describes, and rows that it did not read are gone. Nothing happens
    before rows of the snapshot came, as there is one that only describes tables (MSG-24).
    """
    effects, described = chosen.effects, chosen.effects.described.get(spec.source)
    if have is None or described is None or spec.source in effects.created:
        return
    place = place_of(described.position)
    read = (entry.read_at for entry in chosen.profile.of(spec.source, CheckpointStatus.PENDING))
    if place is None or place not in read:
        return
    at = below_snapshot(place)
    reread = recreation_of(chosen.run.pipeline.source, spec, have, described, at)
    if reread.column_rename.dropped:
        effects.read_again(spec.source)


def begin_of(chosen: Chosen, spec: TableSpec, have: TableSchema | None) -> Position | None:
    """Where a table starts over: the source dropped another one of that name (SCHEMA-18).

    The rows of that one end there. None where it does not, or is not dropped. Raises
    TableStoppedError where no statement shows how the new one was made; the target of the dropped
    one is kept.
    """
    effects, table = chosen.effects, spec.source
    before = have.dropped_at if have else None
    truncated = chosen.run.progress.truncated.get(table, Position(""))
    refuse_restored(effects, table, have, chosen.run.pipeline.on_drop, truncated)
    dropped = effects.dropped_at(table, before)
    if before is not None and dropped is None and chosen.run.pipeline.on_drop is OnDrop.EMPTY:
        raise TableStoppedError(
            f"{table} counted as dropped at position {before}, where a snapshot only described it",
            state="its rows left the target, as on-drop: empty has it; newer records wait "
            "in the changelog",
            next_step="drop or rename the target, which is made again of what the snapshot read",
        )
    if dropped is None:
        return None
    if have is None:
        return dropped if table in effects.remade else None
    pending = chosen.profile.of(table, CheckpointStatus.PENDING)
    # The connectors of MySQL and MariaDB read the chunk of an incremental snapshot once more that
    # they have read before a statement. That of PostgreSQL knows of none, so rows may be of before.
    is_postgres = chosen.run.pipeline.source.format is SourceFormat.DEBEZIUM_POSTGRES
    may_be_of_before = is_postgres and any(entry.chunk_from for entry in pending)
    if effects.recreated(spec, have) is not None and not may_be_of_before:
        return dropped
    stated = {*effects.types, *effects.schemas, *effects.column_renames, *effects.changed}
    is_stated = table not in effects.dropped and table in stated
    if table in effects.remade | effects.made or is_stated or _newest(chosen, table) > dropped:
        raise TableStoppedError(
            f"{table} was dropped at position {dropped}, and there is another one of that name",
            state="the target keeps the rows of the dropped table; the records of the other one "
            "wait in the changelog",
            next_step="drop or rename the target, or give the table another target: in the "
            "pipeline file",
        )
    return None


def refuse_restored(
    effects: DdlEffects,
    table: TableName,
    have: TableSchema | None,
    on_drop: OnDrop,
    truncated: Position,
) -> None:
    """Raise where a table came back, and its target has not the rows of its DROP.

    have: what its target was made from. truncated: where all rows left that, last. Rows of a table
    that was made in the cut, or that left with a later DROP, are not those that came back.
    """
    restored = effects.restored.get(table)
    if not restored or table in effects.made:
        return
    before = have.dropped_at if have else None
    if on_drop is OnDrop.EMPTY and effects.dropped.get(table, "") > max(restored):
        return
    if have is None:
        why = "no target has the rows that it had then"
    elif on_drop is OnDrop.KEEP and truncated < min(restored):
        if before is None or effects.is_undone(table, before):
            return
        why = f"the target has the rows of one that went at position {before}"
    else:
        why = "the rows of a dropped table leave the target, as on-drop: empty has it"
    raise TableStoppedError(
        f"{table} came back as it was when it was dropped at position {restored[0]}, and {why}",
        state=WAITING,
        next_step="fold the table into a new target from a new snapshot of the source",
    )


def _newest(chosen: Chosen, table: TableName) -> str:
    """The newest change of ``table`` in the cut."""
    kinds = (Kind.ROW, Kind.TRUNCATE)
    profile_entries = (
        g for kind in kinds for g in chosen.profile.of(table, CheckpointStatus.PENDING, kind)
    )
    return max((profile_entry.highest or "" for profile_entry in profile_entries), default="")
