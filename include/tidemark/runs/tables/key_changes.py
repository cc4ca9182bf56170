"""Tables that get another key, and whether their targets follow (KEY-16).

A cut ends at the statement (`runs.ddl.barriers`), so all its rows have the key of before. The rows
of the target are the same on both sides; what tells them apart changes as the cut is published.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import dropwhile
from operator import and_

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.errors import WAITING, TableStoppedError
from tidemark.lake.catalog import TableId
from tidemark.lake.history import is_published
from tidemark.lake.quarantine import read_waiting
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.columns import TableSchema
from tidemark.model.key_change import KeyChange, effective, first_key_change
from tidemark.model.names import TableName
from tidemark.model.position import BINLOG_RANK_AT, Position, event_id_of, place_of
from tidemark.model.profile import ProfileEntry
from tidemark.model.summary import PLACE
from tidemark.model.target_mode import TargetMode
from tidemark.runs.choose import Chosen
from tidemark.runs.ddl.column_changes import aliased
from tidemark.runs.ddl.effects import DdlEffects
from tidemark.runs.run import Run
from tidemark.runs.tables.copies import Copies
from tidemark.schema.alter_items import CHANGES_KEY
from tidemark.schema.layouts import check_rules
from tidemark.spec import PipelineSpec, SourceSpec, TableSpec
from tidemark.spec.until import cap_below

KEEPS_ENDED = (TargetMode.SOFT_DELETE, TargetMode.HISTORY)
COPY = ("topic", "partition", "place", "key", "op")
REBUILD = (
    "if the columns of the old key still identify rows, name them in key: of the table; "
    "else fold it into a new target from a new snapshot of the source"
)


def key_change_of(
    run: Run, chosen: Chosen, spec: TableSpec, have: TableSchema | None
) -> KeyChange | None:
    """The statement at which the cut ends, as it gives the table another key; None without one.

    have: what its target was made from. A copy of the statement that gave the target its key is
    none, unless an attempt that came no further made the target (SCHEMA-25). Raises
    TableStoppedError for what cannot be followed.
    """
    key_changes = [] if spec.key else chosen.effects.key_changes.get(spec.source, [])
    if have is not None:
        key_changes = list(effective(key_changes, has_key=bool(have.key)))
    if have is not None and any(is_copy(change, have) for change in key_changes):
        target = TableId(run.pipeline.target_namespace, spec.target)
        if is_published(run.world.catalog, target):
            key_changes = [change for change in key_changes if not is_copy(change, have)]
    if have is not None:
        key_changes = list(dropwhile(partial(_keeps_key, have), key_changes))
    if not key_changes:
        return None
    key_change = first_key_change(key_changes)
    if key_change is None:
        why = f"{CHANGES_KEY}, and it has none any more: {key_changes[-1].sentence}"
        later = "nothing to do, if a statement gives it one later: then the next runs go on"
        raise _stopped(spec, why, f"{later}. Else: {REBUILD}")
    is_older = have is not None and key_change.position < (have.key_changed_at or "")
    if have is not None and is_older and not is_copy(key_change, have):
        at = have.key_changed_at
        why = f"it got another key at position {at}, and a statement from before that"
        raise _stopped(spec, f"{why} came late (LATE_VIOLATION): {key_change.sentence}", REBUILD)
    profile_entries = chosen.profile.of(spec.source, CheckpointStatus.PENDING)
    if any(
        (profile_entry.highest or "") > key_change.begins_at for profile_entry in profile_entries
    ):
        why = f"{CHANGES_KEY}, and rows came between the loss of the old one and the new one"
        raise _stopped(spec, f"{why}: {key_change.sentence}", REBUILD)
    if spec.source in chosen.quarantined:
        meant = set(chosen.replay.entries) if chosen.replay is not None else set()
        waiting = read_waiting(run.world.catalog, run.system, chosen.renames, str(spec.source))
        refuse_quarantined(run.pipeline, spec, len(set(waiting) - meant))
    return key_change


def _keeps_key(have: TableSchema, key_change: KeyChange) -> bool:
    """Whether the key has the same columns; such a statement leaves no trace, if it comes again."""
    key = {name.lower() for name in key_change.key}
    return bool(key) and not is_copy(key_change, have) and key == {n.lower() for n in have.key}


def is_copy(key_change: KeyChange, have: TableSchema) -> bool:
    """Whether the target has the key that ``key_change`` gives because of the very statement."""
    known = have.key_changed_at
    return known is not None and event_id_of(known) == event_id_of(key_change.position)


def refuse_gained(
    spec: TableSpec,
    key_change: KeyChange,
    schema: TableSchema,
    profile_entries: Sequence[ProfileEntry],
) -> None:
    """Raise where rows had no key before; schema: with the key that records of the cut have."""
    if profile_entries and not schema.key:
        why = f"{CHANGES_KEY}, and rows were told apart by all columns: {key_change.sentence}"
        raise _stopped(spec, why, REBUILD)


def refuse_quarantined(
    pipeline: PipelineSpec, spec: TableSpec, changes: int, key_changed_at: Position | None = None
) -> None:
    """Raise where ``changes`` of the table wait, which are of rows that the old key tells apart.

    key_changed_at: of the statement, where they are in the cut that ends with it: quarantine has
    them once a cut was published that ends below.
    """
    if not changes:
        return
    settle = f"tidemark quarantine list {pipeline.name} --table {spec.source}, then replay or drop"
    if key_changed_at is not None:
        cap = cap_below(pipeline.source, key_changed_at)
        settle = f"tidemark cut {pipeline.name} --until {cap}, which ends before it; {settle}"
    raise _stopped(
        spec,
        f"{CHANGES_KEY}, and {changes} of its changes are quarantined, of rows that the new one "
        "cannot tell",
        f"{settle} them",
    )


def copies_below(
    chosen: Chosen, spec: TableSpec, have: TableSchema | None, ended: Position | None
) -> Copies:
    """The rows of the cut that the key of a published target cannot tell, as they are older.

    Copies of what is published, known by partition, place, key and what they do, change nothing.
    Anything else raises TableStoppedError. ended: no row below it is one of the table any more,
    whatever its key. Costs a job only where there are some.
    """
    if have is None or have.key_changed_at is None or place_of(have.key_changed_at) is None:
        return Copies()
    if (ended or "") >= have.key_changed_at:
        return Copies()
    # Rows of an incremental snapshot that was read at the statement's place came behind it.
    below = Position(have.key_changed_at[:BINLOG_RANK_AT])
    if any(
        _reaches(profile_entry, below)
        for profile_entry in chosen.profile.of(spec.source, CheckpointStatus.REPLAYED)
    ):
        raise _from_before(spec, have, "what is to be tried again")
    if not any(
        _reaches(profile_entry, below)
        for profile_entry in chosen.profile.of(spec.source, CheckpointStatus.PENDING)
    ):
        return Copies()
    came = chosen.row_events(spec.source).where(F.col("position") < below)
    known = chosen.changelog.published(spec.source)
    is_first = F.col("came.offset") > F.col("known.offset")
    same = (F.col(f"came.{name}").eqNullSafe(F.col(f"known.{name}")) for name in COPY)
    sides = _with_place(came).alias("came"), _with_place(known).alias("known")
    new = sides[0].join(sides[1], reduce(and_, same, is_first), "left_anti")
    first = new.select("position").first()
    if first is not None:
        raise _from_before(spec, have, f"such as at position {first[0]}")
    return Copies(below, count=came.count())


def _with_place(events: DataFrame) -> DataFrame:
    return events.withColumn("place", F.expr(PLACE))


def _reaches(profile_entry: ProfileEntry, below: Position) -> bool:
    return profile_entry.lowest_place is not None and profile_entry.lowest_place < below


def _from_before(spec: TableSpec, have: TableSchema, which: str) -> TableStoppedError:
    return _stopped(
        spec,
        f"rows from before it got its key (at position {have.key_changed_at}) came behind it, "
        f"{which}, and the key of the target cannot tell which ones they are",
        "fold the table into a new target from a new snapshot of the source, or take it out of "
        "the pipeline file",
    )


def below_key_change(
    table: TableName, key_change: KeyChange, have: TableSchema | None, effects: DdlEffects
) -> tuple[TableSchema | None, DdlEffects]:
    """``have`` and ``effects`` as the rows of a cut that ends at ``key_change`` know them.

    A target that an attempt at this cut made is for the rows behind it already.
    """
    if have is not None and is_copy(key_change, have):
        have = replace(have, key=have.former_key)
    keys = {other: key for other, key in effects.keys.items() if other != table}
    schemas = dict(effects.schemas)
    if table in schemas:
        schemas[table] = replace(schemas[table], key=())
    return have, replace(effects, keys=keys, schemas=schemas)


def behind_key_change(
    source: SourceSpec,
    spec: TableSpec,
    key_change: KeyChange,
    schema: TableSchema,
    effects: DdlEffects,
) -> TableSchema:
    """``schema``, with the key of the cut's rows, as it is behind ``key_change``.

    Equal where the columns of the key are the same in another order.
    """
    is_canal = source.format.is_canal
    written: Callable[[str], str] = str if is_canal else source.written_names.written
    key = tuple(aliased(schema.names, written(name)) for name in key_change.key)
    state = effects.schemas.get(spec.source)
    if state is not None and set(state.key) != set(key):
        why = f"the state of the table says {list(state.key)} (SCHEMA_MISMATCH)"
        raise _stopped(spec, f"{CHANGES_KEY}, and {why}: {key_change.sentence}", REBUILD)
    if any(name not in schema.names for name in key):
        why = f"its columns {list(schema.names)} lack one of it"
        raise _stopped(spec, f"{CHANGES_KEY}, and {why}: {key_change.sentence}", REBUILD)
    if set(key) == set(schema.key):
        return schema
    if spec.mode in KEEPS_ENDED and not set(schema.key) <= set(key):
        why = f"rows that ended may share the new one, and mode {spec.mode} keeps them"
        raise _stopped(spec, f"{CHANGES_KEY}, and {why}: {key_change.sentence}", REBUILD)
    changed = replace(
        schema, key=key, former_key=schema.key or key, key_changed_at=key_change.position
    )
    check_rules(spec.source, changed)
    return changed


def _stopped(spec: TableSpec, why: str, next_step: str) -> TableStoppedError:
    return TableStoppedError(
        f"{spec.source} cannot be followed: {why}",
        state=WAITING,
        next_step=next_step,
    )
