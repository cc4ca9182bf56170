"""Stop a table where two rows shared a key and their records do not show which one was deleted."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.errors import WAITING, TableStoppedError
from tidemark.fold.computed import computed_once
from tidemark.fold.contested import BEFORE, EXAMPLE, MOST, contested_keys
from tidemark.formats.decoder import decoder_of
from tidemark.lake.catalog import TableId
from tidemark.lake.stored import read_stored, stored_beside
from tidemark.model.position import Position
from tidemark.runs.choose import Chosen
from tidemark.runs.run import Run
from tidemark.runs.tables.work import TableWork


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
    the target's rows are. Keys that a snapshot read again are in no doubt.
    """
    removed = work.removal.end.position if work.removal else Position("")
    contested = contested_keys(changes, F.col("transaction"), F.col("begins"))
    keys = computed_once(contested.where(F.col("position") >= removed))
    is_known = F.col(BEFORE).isNotNull() | (F.col(MOST) > 1)
    conflicts = keys.where(is_known & (F.col(MOST) + F.coalesce(BEFORE, F.lit(0)) > 1))
    stored = _stored_keys(run, work, place)
    if stored is not None:
        asked = keys.where(~is_known & (F.col(MOST) == 1))
        stored_keys = stored_beside(stored, asked, work.schema)
        conflicts = conflicts.unionByName(
            stored_keys.where(F.col("stored_at") < F.col("position")).select(*conflicts.columns)
        )
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


def _stored_keys(run: Run, work: TableWork, place: TableId) -> DataFrame | None:
    """The keys of the target's rows; None where it is still to be made."""
    schema = work.schema
    only_key = replace(schema, columns=tuple(schema[name] for name in schema.key))
    return read_stored(run.world.spark, run.world.catalog, place, only_key, work.goes_on_above)
