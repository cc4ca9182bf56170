"""The truncates of a cut: which count for a table, and where and when they were (TRUNC-12)."""

from __future__ import annotations

from pyspark.sql import functions as F

from tidemark.errors import WAITING, TableStoppedError
from tidemark.fold.renamed import is_table
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.ends import End
from tidemark.model.event import Kind
from tidemark.model.position import Position
from tidemark.model.reduction import new_truncate
from tidemark.runs.choose import Chosen
from tidemark.spec import OnDrop, TableSpec, TruncatePolicy


def truncates_of(chosen: Chosen, spec: TableSpec) -> list[Position]:
    """The truncates of the cut, as the table's policy lets them count (TRUNC-14).

    Of those that one partition brought as records, the newest.
    """
    profile_entries = chosen.profile.of(spec.source, CheckpointStatus.PENDING, Kind.TRUNCATE)
    positions = [
        profile_entry.highest
        for profile_entry in profile_entries
        if profile_entry.highest is not None
    ]
    positions += chosen.effects.truncated.get(spec.source, [])
    if positions and spec.truncate is TruncatePolicy.BLOCK:
        raise TableStoppedError(
            f"{spec.source} was truncated at position {max(positions)}, and its policy is to block",
            state=WAITING,
            next_step="set truncate: apply or truncate: ignore for it in the pipeline file",
        )
    return drops_of(chosen, spec) + ([] if spec.truncate is TruncatePolicy.IGNORE else positions)


def drops_of(chosen: Chosen, spec: TableSpec) -> list[Position]:
    """Where the source dropped the table, if that ends its rows (SCHEMA-18)."""
    effects, table = chosen.effects, spec.source
    is_cut_over = table in effects.cut_overs or table in effects.begun_cut_overs
    dropped = effects.dropped.get(table, effects.emptied.get(table.schema))
    if chosen.run.pipeline.on_drop is OnDrop.KEEP or is_cut_over or dropped is None:
        return []
    return [dropped]


def ends_of(chosen: Chosen, spec: TableSpec, ended_before: Position | None) -> tuple[End, ...]:
    """All truncates of the cut above ``ended_before``, in position order, with their times.

    Costs a small Spark job.
    """
    together = chosen.waiting.events
    is_record = is_table(spec.source) & (F.col("kind") == Kind.TRUNCATE.value)
    positions = [*chosen.effects.truncated.get(spec.source, []), *drops_of(chosen, spec)]
    truncates = together.where(F.col("status") == CheckpointStatus.PENDING.value).where(
        is_record | F.col("position").isin(*positions)
    )
    rows = truncates.select("position", F.unix_micros("commit_time")).distinct().collect()
    ends = (End(Position(position), micros) for position, micros in rows)
    return tuple(sorted(e for e in ends if new_truncate([e.position], ended_before)))


def snapshot_end(chosen: Chosen, below: Position) -> End:
    """The end of rows that a new snapshot at ``below`` does not contain (SNAP-6).

    Nothing tells when they ended; its time is that at which the source was read.
    """
    is_behind = (F.col("position") >= below) & F.col("commit_time").isNotNull()
    behind = chosen.changelog.landed().where(is_behind)
    read_at = behind.agg(F.unix_micros(F.min_by("commit_time", "position")))
    return End(below, read_at.collect()[0][0])
