"""Tables that get another key, and whether their targets follow (KEY-16).

A cut ends at the statement (`runs.ddl.barriers`), so all its rows have the key of before. The rows
of the target are the same on both sides; what tells them apart changes as the cut is published.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.errors import WAITING, TableStoppedError
from tidemark.fold.admit import in_epochs
from tidemark.fold.renamed import is_table, under_new_names
from tidemark.lake.catalog import TableId
from tidemark.lake.history import is_published
from tidemark.lake.quarantine import read_waiting
from tidemark.model.columns import TableSchema
from tidemark.model.names import TableName
from tidemark.model.position import BINLOG_RANK_AT, Position, place_of, site_of
from tidemark.model.progress import Progress
from tidemark.model.rekey import Rekey, first_rekey
from tidemark.model.summary import PLACE
from tidemark.model.survey import Group
from tidemark.model.target_mode import TargetMode
from tidemark.model.zone import Zone
from tidemark.runs.choose import Chosen
from tidemark.runs.ddl.effects import DdlEffects
from tidemark.runs.ddl.told_columns import spelled
from tidemark.runs.run import Run
from tidemark.schema.alter_items import CHANGES_KEY
from tidemark.schema.layouts import check_rules
from tidemark.spec import PipelineSpec, SourceSpec, TableSpec
from tidemark.spec.until import cap_below

KEEPS_ENDED = (TargetMode.SOFT_DELETE, TargetMode.HISTORY)
COPY = ("topic", "partition", "place", "key", "op")
REBUILD = (
    "do the columns of the old key still tell rows apart? Then name them in key: of the table; "
    "else fold it into a new target from a new snapshot of the source"
)


@dataclass(frozen=True, slots=True)
class Copies:
    """Rows of a cut that stand below ``below`` and came before, ``count`` of them."""

    below: Position = Position("")
    count: int = 0


def rekey_of(run: Run, chosen: Chosen, spec: TableSpec, have: TableSchema | None) -> Rekey | None:
    """The statement at which the cut ends, as it gives the table another key; None without one.

    have: what its target was made from. A copy of the statement that gave the target its key is
    none, unless an attempt that came no further made the target (SCHEMA-25). Raises
    TableStoppedError for what cannot be followed.
    """
    told = [] if spec.key else chosen.effects.rekeyed.get(spec.source, [])
    if have is not None and any(is_copy(one, have) for one in told):
        target = TableId(run.pipeline.target_namespace, spec.target)
        if is_published(run.world.catalog, target):
            told = [one for one in told if not is_copy(one, have)]
    if not told:
        return None
    rekey = first_rekey(told)
    if rekey is None:
        why = f"{CHANGES_KEY}, and it has none any more: {told[-1].sentence}"
        later = "nothing to do, if a statement gives it one later: then the next runs go on"
        raise _stopped(spec, why, f"{later}. Else: {REBUILD}")
    is_older = have is not None and rekey.position < (have.rekeyed_at or "")
    if have is not None and is_older and not is_copy(rekey, have):
        why = f"it got another key at position {have.rekeyed_at}, and a statement from before that"
        raise _stopped(spec, f"{why} came late (LATE_VIOLATION): {rekey.sentence}", REBUILD)
    groups = chosen.survey.of(spec.source, Zone.CUT)
    if any((group.highest or "") > rekey.begins_at for group in groups):
        why = f"{CHANGES_KEY}, and rows came between the loss of the old one and the new one"
        raise _stopped(spec, f"{why}: {rekey.sentence}", REBUILD)
    if spec.source in chosen.set_aside:
        meant = set(chosen.replay.entries) if chosen.replay is not None else set()
        waiting = read_waiting(run.world.catalog, run.system, chosen.renames, str(spec.source))
        refuse_set_aside(run.pipeline, spec, len(set(waiting) - meant))
    return rekey


def is_copy(rekey: Rekey, have: TableSchema) -> bool:
    """Whether the target has the key that ``rekey`` gives because of the very statement."""
    known = have.rekeyed_at
    return known is not None and site_of(known) == site_of(rekey.position)


def refuse_gained(
    spec: TableSpec, rekey: Rekey, schema: TableSchema, groups: Sequence[Group]
) -> None:
    """Raise where rows had no key before; schema: with the key that ``groups`` of the cut have."""
    if groups and not schema.key:
        why = f"{CHANGES_KEY}, and rows were told apart by all columns: {rekey.sentence}"
        raise _stopped(spec, why, REBUILD)


def refuse_set_aside(
    pipeline: PipelineSpec, spec: TableSpec, changes: int, rekeyed_at: Position | None = None
) -> None:
    """Raise where ``changes`` of the table wait, which are of rows that the old key tells apart.

    rekeyed_at: of the statement, where they are in the cut that ends with it: quarantine has them
    once a cut was published that ends below.
    """
    if not changes:
        return
    settle = f"tidemark quarantine list {pipeline.name} --table {spec.source}, then replay or drop"
    if rekeyed_at is not None:
        cap = cap_below(pipeline.source, rekeyed_at)
        settle = f"tidemark cut {pipeline.name} --until {cap}, which ends before it; {settle}"
    raise _stopped(
        spec,
        f"{CHANGES_KEY}, and {changes} of its changes are set aside, of rows that the new one "
        "cannot tell",
        f"{settle} them",
    )


def copies_below(
    run: Run, chosen: Chosen, progress: Progress, spec: TableSpec, have: TableSchema | None
) -> Copies:
    """The rows of the cut that the key of a published target cannot tell, as they are older.

    Copies of what is published, known by partition, place, key and what they do, change nothing.
    Anything else raises TableStoppedError. Costs a job only where there are some.
    """
    if have is None or have.rekeyed_at is None or place_of(have.rekeyed_at) is None:
        return Copies()
    # Rows of an incremental snapshot that was read at the statement's place came behind it.
    below = Position(have.rekeyed_at[:BINLOG_RANK_AT])
    if any(_reaches(group, below) for group in chosen.survey.of(spec.source, Zone.REPLAYED)):
        raise _from_before(spec, have, "what is to be tried again")
    if not any(_reaches(group, below) for group in chosen.survey.of(spec.source, Zone.CUT)):
        return Copies()
    came = chosen.row_events(spec.source).where(F.col("position") < below)
    landed = run.changelog()
    placed = in_epochs(landed.where(F.col("landing") <= progress.landing), progress.epochs)
    known = under_new_names(placed, chosen.renames).where(is_table(spec.source))
    is_first = F.col("came.offset") > F.col("known.offset")
    same = (F.col(f"came.{name}").eqNullSafe(F.col(f"known.{name}")) for name in COPY)
    own = _with_place(came).alias("came"), _with_place(known).alias("known")
    new = own[0].join(own[1], reduce(and_, same, is_first), "left_anti")
    first = new.select("position").first()
    if first is not None:
        raise _from_before(spec, have, f"such as at position {first[0]}")
    return Copies(below, came.count())


def _with_place(events: DataFrame) -> DataFrame:
    return events.withColumn("place", F.expr(PLACE))


def _reaches(group: Group, below: Position) -> bool:
    return group.lowest_place is not None and group.lowest_place < below


def _from_before(spec: TableSpec, have: TableSchema, which: str) -> TableStoppedError:
    return _stopped(
        spec,
        f"rows from before it got its key (at position {have.rekeyed_at}) came behind it, {which}, "
        "and the key of the target cannot tell which ones they are",
        "fold the table into a new target from a new snapshot of the source, or take it out of "
        "the pipeline file",
    )


def below_rekey(
    table: TableName, rekey: Rekey, have: TableSchema | None, effects: DdlEffects
) -> tuple[TableSchema | None, DdlEffects]:
    """``have`` and ``effects`` as the rows of a cut that ends at ``rekey`` know them.

    A target that an attempt at this cut made is for the rows behind it already.
    """
    if have is not None and is_copy(rekey, have):
        have = replace(have, key=have.former_key)
    keys = {told: key for told, key in effects.keys.items() if told != table}
    schemas = dict(effects.schemas)
    if table in schemas:
        schemas[table] = replace(schemas[table], key=())
    return have, replace(effects, keys=keys, schemas=schemas)


def behind_rekey(
    source: SourceSpec, spec: TableSpec, rekey: Rekey, schema: TableSchema, effects: DdlEffects
) -> TableSchema:
    """``schema``, with the key of the cut's rows, as it is behind ``rekey``.

    Equal where the columns of the key are the same in another order.
    """
    is_canal = source.format.is_canal
    written: Callable[[str], str] = str if is_canal else source.written_names.written
    key = tuple(spelled(schema.names, written(name)) for name in rekey.key)
    state = effects.schemas.get(spec.source)
    if state is not None and set(state.key) != set(key):
        why = f"the state of the table says {list(state.key)} (SCHEMA_MISMATCH)"
        raise _stopped(spec, f"{CHANGES_KEY}, and {why}: {rekey.sentence}", REBUILD)
    if any(name not in schema.names for name in key):
        why = f"its columns {list(schema.names)} lack one of it"
        raise _stopped(spec, f"{CHANGES_KEY}, and {why}: {rekey.sentence}", REBUILD)
    if set(key) == set(schema.key):
        return schema
    if spec.mode in KEEPS_ENDED and not set(schema.key) <= set(key):
        why = f"rows that ended may share the new one, and mode {spec.mode} keeps them"
        raise _stopped(spec, f"{CHANGES_KEY}, and {why}: {rekey.sentence}", REBUILD)
    told = replace(schema, key=key, former_key=schema.key or key, rekeyed_at=rekey.position)
    check_rules(spec.source, told)
    return told


def _stopped(spec: TableSpec, why: str, next_step: str) -> TableStoppedError:
    return TableStoppedError(
        f"{spec.source} cannot be followed: {why}",
        state=WAITING,
        next_step=next_step,
    )
