"""Changes that cannot be applied are quarantined one by one, and their table goes on (POISON-2).

Only a cut that has such changes pays for them: with another look at all changes of their keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.errors import TableStoppedError
from tidemark.fold.computed import computed_once
from tidemark.fold.quarantined import APPLICABLE, QUARANTINED, decided
from tidemark.fold.renamed import RENAMED
from tidemark.formats.conversion_errors import change_reason, key_reason
from tidemark.formats.decoder import decoder_of
from tidemark.formats.rows import typed_rows
from tidemark.lake.quarantine import SCHEMA, as_stored, read_waiting
from tidemark.lake.staged import add_applicable, read_marked
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.columns import CHANGE, CONVERSION_ERROR, POSITION, STAGED_OP, UNAVAILABLE
from tidemark.model.event import Kind, Op, Reason
from tidemark.model.names import quote
from tidemark.model.position import Position
from tidemark.model.quarantine import Entry, State, most_of_run
from tidemark.model.reduction import above_truncate
from tidemark.runs.choose import Chosen
from tidemark.runs.run import Run
from tidemark.runs.staging.replay import changes_of
from tidemark.runs.staging.row_changes import StagedChanges
from tidemark.runs.tables.work import TableWork

IN_KEY = (Reason.KEY_UNDECODABLE, Reason.KEY_NULL, Reason.KEY_MISMATCH, Reason.KEY_UNAVAILABLE)
RECORD = ("topic", "partition", "offset", "kafka_time", "bytes", "sha256")


@dataclass(frozen=True, slots=True)
class Inapplicable:
    """Staged rows whose changes cannot be applied.

    mark: their staged op. rows: how many they are; of their keys there may be more such changes.
    message: changes that cannot be applied, and how many may be quarantined -> why the table stops.
    """

    mark: str
    rows: int
    message: Callable[[int, int], TableStoppedError]


def quarantined(
    run: Run,
    chosen: Chosen,
    work: TableWork,
    staged_changes: StagedChanges,
    inapplicable: Inapplicable,
) -> StagedChanges:
    """``staged_changes`` without the changes that its ``inapplicable`` rows stand for.

    Their keys become what the newest change below tells that can be applied, else they stay as they
    are. Raises the letter where more would be quarantined than may be; nothing is written then.
    """
    room = _room(run, chosen, work, staged_changes)
    if inapplicable.rows > room:
        raise inapplicable.message(inapplicable.rows, room)
    marked = read_marked(run.world.spark, staged_changes.rows, inapplicable.mark)
    changes = computed_once(_decided(run, chosen, work, marked))
    unapplied = changes.where(QUARANTINED).select(*_entry(chosen, work))
    entries = unapplied.limit(room + 1).toArrow().cast(SCHEMA)
    if entries.num_rows > room:
        raise inapplicable.message(unapplied.count(), room)
    rows = add_applicable(staged_changes.rows, changes.where(APPLICABLE), work.schema)
    superseded = staged_changes.superseded + _also_superseded(changes, work)
    entries = pa.concat_tables([staged_changes.entries, entries])
    return replace(staged_changes, rows=rows, superseded=superseded, entries=entries)


def _also_superseded(changes: DataFrame, work: TableWork) -> int:
    """By how much what is superseded grows once the newest changes of keys do not count.

    changes: all of these keys. All but the newest of each were superseded by it.
    """
    keys = F.struct(*(F.col(quote(name)) for name in work.schema.key))
    is_below = ~F.col(APPLICABLE) & ~F.col(QUARANTINED)
    counts = changes.agg(
        F.count(F.lit(1)).alias("changes"),
        F.count_distinct(keys).alias("keys"),
        F.count(F.when(is_below, 1)).alias("below"),
    ).collect()[0]
    return int(counts["below"] - (counts["changes"] - counts["keys"]))


def may_miss(
    run: Run, chosen: Chosen, work: TableWork, staged_changes: StagedChanges, below: Position
) -> bool:
    """Whether a row may seem to be missing from a snapshot at ``below`` as it was quarantined."""
    if any(position >= below for position in staged_changes.entries["position"].to_pylist()):
        return True
    return not all(entry.is_below(below) for entry in _waiting(run, chosen, work))


def _waiting(run: Run, chosen: Chosen, work: TableWork) -> list[Entry]:
    """What earlier cuts quarantined of the table, but for what is tried again."""
    if work.spec.source not in chosen.quarantined:
        return []
    tried = chosen.replay.entries if chosen.replay else ()
    known = read_waiting(run.world.catalog, run.system, chosen.renames, str(work.spec.source))
    return [entry for entry in known if entry not in tried]


def _room(run: Run, chosen: Chosen, work: TableWork, staged_changes: StagedChanges) -> int:
    """How many changes of the table may be quarantined yet (POISON-2)."""
    most = run.pipeline.limits.max_quarantined
    waiting = _waiting(run, chosen, work)
    left = most - sum(entry.code is not Reason.TX_SKIPPED for entry in waiting)
    return max(0, min(most_of_run(staged_changes.changes, most), left) - staged_changes.quarantined)


def _decided(run: Run, chosen: Chosen, work: TableWork, marked: DataFrame) -> DataFrame:
    """Every change of the keys of ``marked``, typed, and what is to be done with it."""
    schema = work.schema
    decoder = decoder_of(run.pipeline.source, chosen.schemas_of(work.spec.source))
    value = F.col("value")
    record = F.struct(
        *RECORD[:-2],
        F.length(value).cast("long").alias("bytes"),
        F.sha2(value, 256).alias("sha256"),
    )
    rows = work.row_events(chosen)
    events = rows.withColumn(CHANGE, record)
    keys = marked.select(*(F.col(quote(n)).alias(f"_{i}") for i, n in enumerate(schema.key)))
    same = (F.col("row_key")[n].eqNullSafe(F.col(f"_{i}")) for i, n in enumerate(schema.key))
    row_image = decoder.row_image(schema, hidden=work.hidden)
    why = key_reason(schema, decoder.key_texts, row_image.image, from_images=work.key_from_images)
    if decoder.unavailable_key is not None and work.key_from_images:
        lacks_key = decoder.unavailable_key(schema)
        why = F.when(lacks_key, F.lit(Reason.KEY_UNAVAILABLE.value)).otherwise(why)
    reasons = (
        F.when(F.col("op") == Op.UPSERT.value, row_image.image).alias("image"),
        why.alias("key_reason"),
        row_image.contradicts.alias("contradicts"),
    )
    carried_image = replace(row_image, contradicts=F.col(f"{CHANGE}.contradicts"))
    coded = F.col(CHANGE).withField("code", change_reason(schema, F.col(STAGED_OP)))
    return (
        changes_of(chosen, work, decoder, events)
        .where(above_truncate(work.truncated_at, work.window_bound))
        .join(F.broadcast(keys), reduce(and_, same), "left_semi")
        .withColumn(CHANGE, F.struct(f"{CHANGE}.*", "part", *reasons))
        .transform(typed_rows, schema, carried_image, keep=(CHANGE,))
        .withColumn(CHANGE, coded.dropFields("image", "key_reason", "contradicts"))
        .transform(decided, schema.key)
    )


def _entry(chosen: Chosen, work: TableWork) -> tuple[Column, ...]:
    """A row of the quarantine for each change that is quarantined."""
    code = F.col(f"{CHANGE}.code")
    in_key = code.isin(*(reason.value for reason in IN_KEY))
    return _columns(
        chosen,
        {name: F.col(f"{CHANGE}.{name}") for name in RECORD}
        | {
            # The number of a change whose key is unknown depends on which columns are the key.
            "row": F.when(~in_key, F.col(f"{CHANGE}.part")),
            "code": code,
            "table": F.lit(str(work.spec.source)),
            "column": F.coalesce(CONVERSION_ERROR, F.get(UNAVAILABLE, F.lit(0)), F.lit("")),
            "position": F.col(POSITION),
        },
    )


def _columns(chosen: Chosen, columns: Mapping[str, Column]) -> tuple[Column, ...]:
    state = {
        "cut": F.lit(chosen.cut.number),
        "state": F.lit(State.WAITING.value),
        "reason": F.lit(""),
    }
    entry = {**columns, **state}
    return tuple(entry[name].alias(name) for name in SCHEMA.names)


def records_quarantined(chosen: Chosen) -> pa.Table | None:
    """Records of the cut that cannot be read, and what it gives up of transactions (GATE-T8).

    None where there are none, without a look at them. Out: rows of the quarantine, as kept.
    """
    if not any(profile_entry.is_quarantined for profile_entry in chosen.profile.profile_entries):
        return None
    events = chosen.waiting.events
    is_skipped = F.col("status") == CheckpointStatus.SKIPPED.value
    is_unreadable = F.col("kind") == Kind.UNREADABLE.value
    value = F.coalesce("value", F.lit(b""))
    columns = {
        **{name: F.col(name) for name in RECORD[:-2]},
        "bytes": F.length(value).cast("long"),
        "sha256": F.sha2(value, 256),
        "row": F.lit(None).cast("int"),
        "code": F.when(is_skipped, F.lit(Reason.TX_SKIPPED.value)).otherwise(F.col("reason")),
        "table": F.concat_ws(".", "source_schema", "source_table"),
        "column": F.lit(""),
        "position": F.coalesce("position", F.lit("")),
    }
    is_quarantined = is_skipped | (
        is_unreadable & (F.col("status") == CheckpointStatus.PENDING.value)
    )
    records = events.where(is_quarantined).select(*_columns(chosen, columns), "kind").toArrow()
    is_named = pc.is_in(records["kind"], pa.array(RENAMED))
    rows = records.drop_columns("kind").cast(SCHEMA)
    named, others = rows.filter(is_named), rows.filter(pc.invert(is_named))
    return pa.concat_tables([as_stored(named, chosen.renames), others])
