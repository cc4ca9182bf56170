"""Tables that the source dropped: kept as they were, and not taken for others of their name."""

from __future__ import annotations

from tidemark.errors import TableStoppedError
from tidemark.lake.history import read_history
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.columns import TableSchema
from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.position import Position
from tidemark.model.progress import Progress
from tidemark.runs.choose import Chosen
from tidemark.runs.run import Run
from tidemark.runs.targets import targets_of
from tidemark.spec import TableSpec


def tables_of_dropped_databases(run: Run, chosen: Chosen, progress: Progress) -> set[TableName]:
    """The tables that have or may get a target, of databases that the cut drops (SCHEMA-21)."""
    schemas = chosen.effects.emptied.keys()
    if not schemas:
        return set()
    history = read_history(run.world.catalog, run.system)
    return {
        table for table in targets_of(run.pipeline, history, progress) if table.schema in schemas
    }


def begin_of(chosen: Chosen, spec: TableSpec, have: TableSchema | None) -> Position | None:
    """Where a table starts over: the source dropped another one of that name (SCHEMA-18).

    The rows of that one end there. None where it does not, or is not dropped. Raises
    TableStoppedError where no statement shows how the new one was made; the target of the dropped
    one is kept.
    """
    effects, table = chosen.effects, spec.source
    dropped = effects.dropped_at(table, have.dropped_at if have else None)
    if dropped is None:
        return None
    if have is None:
        return dropped if table in effects.remade else None
    pending = chosen.profile.of(table, CheckpointStatus.PENDING)
    # Rows of an incremental snapshot may have been read from the table that is gone.
    is_read_anew = any(profile_entry.chunk_from for profile_entry in pending)
    if effects.recreated(spec, have) is not None and not is_read_anew:
        return dropped
    told = {*effects.types, *effects.schemas, *effects.column_renames, *effects.changed}
    is_told = table not in effects.dropped and table in told
    if table in effects.remade or is_told or _newest(chosen, table) > dropped:
        raise TableStoppedError(
            f"{table} was dropped at position {dropped}, and there is another one of that name",
            state="the target keeps the rows of the dropped table; the records of the other one "
            "wait in the changelog",
            next_step="drop or rename the target, or give the table another target: in the "
            "pipeline file",
        )
    return None


def _newest(chosen: Chosen, table: TableName) -> str:
    """The newest change of ``table`` in the cut."""
    kinds = (Kind.ROW, Kind.TRUNCATE)
    profile_entries = (
        g for kind in kinds for g in chosen.profile.of(table, CheckpointStatus.PENDING, kind)
    )
    return max((profile_entry.highest or "" for profile_entry in profile_entries), default="")
