"""Stop a table where two rows shared a key and their records do not show which one was deleted."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from tidemark.errors import WAITING, TableStoppedError
from tidemark.fold.computed import computed_once
from tidemark.fold.contested import BEFORE, EXAMPLE, MOST, contested_keys
from tidemark.formats.decoder import decoder_of
from tidemark.lake.catalog import TableId
from tidemark.lake.stored import read_stored, stored_beside
from tidemark.model.names import SYSTEM_PREFIX
from tidemark.runs.choose import Chosen
from tidemark.runs.run import Run
from tidemark.runs.tables.work import TableWork

_NEWEST = f"{SYSTEM_PREFIX}newest"


def changes_of_transactions(
    run: Run, chosen: Chosen, work: TableWork, events: DataFrame
) -> DataFrame:
    """The changes of ``events`` that count, as `refuse_key_conflicts` takes them."""
    decoder = decoder_of(run.pipeline.source, chosen.schemas_of(work.spec.source))
    above = events.where(work.counts)
    changes = decoder.changes(above, work.schema, key_from_images=work.key_from_images)
    transaction = F.lit(None).cast("string")
    if decoder.transaction is not None:
        transaction = decoder.transaction
    return changes.withColumns({"begins": decoder.begins, "transaction": transaction})


def refuse_key_conflicts(run: Run, work: TableWork, changes: DataFrame, place: TableId) -> None:
    """Raise where the newest change of a key may be the end of a row that had it before (KEY-9).

    changes: of the table in the cut, at least all those of the keys that two rows may have had in
    one transaction; with ``begins`` and ``transaction`` (`formats.decoder.Decoder`). place: where
    the target's rows are. Keys that a snapshot read again are in no doubt, and no row conflicts
    that ended before, by a truncate or as a new snapshot of the source lacks it.
    """
    begun = _not_ended(changes, work)
    keys = computed_once(contested_keys(begun, F.col("transaction"), F.col("begins")))
    is_known = F.col(BEFORE).isNotNull() | (F.col(MOST) > 1)
    conflicts = keys.where(is_known & (F.col(MOST) + F.coalesce(BEFORE, F.lit(0)) > 1))
    stored = _stored_keys(run, work, place)
    if stored is not None:
        asked = keys.where(~is_known & (F.col(MOST) == 1))
        stored_keys = stored_beside(stored, asked, work.schema)
        is_before = F.col("stored_at") < F.col("position")
        had = stored_keys.where(is_before & ~_is_ended(F.col("stored_at"), F.col("position"), work))
        conflicts = conflicts.unionByName(had.select(*conflicts.columns))
    first = conflicts.orderBy(*EXAMPLE).first()
    if first is None:
        return
    raise TableStoppedError(
        f"KEY_CONFLICT: in one transaction two rows of {work.spec.source} had one key, and one of "
        f"them left it, at offset {first['offset']} of partition {first['partition']} of topic "
        f"{first['topic']}; the records do not tell which one, as the key is DEFERRABLE (KEY-9)",
        state=WAITING,
        next_step=f"tidemark resync {run.pipeline.name} {work.spec.source}, then have the "
        "connector take an incremental snapshot of the table",
    )


def _not_ended(changes: DataFrame, work: TableWork) -> DataFrame:
    """Those of ``changes`` whose rows did not end before the newest change of their key."""
    newest = F.max("position").over(Window.partitionBy("row_key"))
    beside = changes.withColumn(_NEWEST, newest)
    return beside.where(~_is_ended(F.col("position"), F.col(_NEWEST), work)).drop(_NEWEST)


def _is_ended(at: Column, before: Column, work: TableWork) -> Column:
    """Whether the row that a change at ``at`` left had ended by a later one, at ``before``.

    What a new snapshot does not contain is gone, whatever the log says of it.
    """
    is_ended = F.lit(False)
    if work.removal is not None:
        is_ended = is_ended | (at < work.removal.end.position)
    if work.new_truncate is not None:
        is_ended = is_ended | ((at <= work.new_truncate) & (before > work.new_truncate))
    return is_ended


def _stored_keys(run: Run, work: TableWork, place: TableId) -> DataFrame | None:
    """The keys of the target's rows; None where it is still to be made."""
    schema = work.schema
    only_key = replace(schema, columns=tuple(schema[name] for name in schema.key))
    return read_stored(run.world.spark, run.world.catalog, place, only_key, work.goes_on_above)
