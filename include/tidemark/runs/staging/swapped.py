"""Stop a table whose rows exchanged their keys, where nobody can tell which of them ended."""

from __future__ import annotations

from pyspark.sql import DataFrame

from tidemark.errors import WAITING, TableStoppedError
from tidemark.fold.swapped import EXAMPLE, swapped_keys
from tidemark.formats.decoder import Decoder
from tidemark.model.position import Position
from tidemark.runs.run import Run
from tidemark.runs.tables.work import TableWork


def refuse_swapped(run: Run, work: TableWork, decoder: Decoder, events: DataFrame) -> None:
    """Raise where the newest change of a key may be the end of a row that had it before (KEY-9).

    events: row events of the table in the cut. Keys that a snapshot tells anew are in no doubt.
    """
    if decoder.key_move is None:
        return
    above = events.where(work.counts)
    changes = decoder.changes(above, work.schema, key_from_images=work.key_from_images)
    removed = work.removal.end.position if work.removal else Position("")
    found = swapped_keys(changes, decoder.key_move).where(f"position >= '{removed}'")
    first = found.orderBy(*EXAMPLE).first()
    if first is None:
        return
    raise TableStoppedError(
        f"KEY_CONFLICT: in one transaction a row of {work.spec.source} took a key and a row left "
        f"it, at offset {first['offset']} of partition {first['partition']} of topic "
        f"{first['topic']}; whether that was the same row is told nowhere, as keys that are "
        "DEFERRABLE may be exchanged (KEY-9)",
        state=WAITING,
        next_step=f"tidemark resync {run.pipeline.name} {work.spec.source}, then have the "
        "connector read the table anew by an incremental snapshot",
    )
