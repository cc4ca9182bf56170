"""Why a table stops whose records lack the declared key of rows that end (KEY-5)."""

from __future__ import annotations

from pyspark.sql import Row

from tidemark.errors import WAITING, TableStoppedError
from tidemark.formats.decoder import decoder_of
from tidemark.runs.choose import Chosen
from tidemark.runs.run import Run
from tidemark.runs.tables.work import TableWork

_PLACE = ("topic", "partition", "offset")


def first_unavailable_key(run: Run, chosen: Chosen, work: TableWork) -> Row | None:
    """Where the first change of the cut stands whose record lacks the key of its row."""
    decoder = decoder_of(run.pipeline.source, chosen.schemas_of(work.spec.source))
    if decoder.unavailable_key is None or not work.key_from_images:
        return None
    lacking = work.row_events(chosen).where(work.counts).where(decoder.unavailable_key(work.schema))
    return lacking.select("position", *_PLACE).orderBy("position", *_PLACE).first()


def unavailable_keys(work: TableWork, first: Row, changes: int, room: int) -> TableStoppedError:
    """Changes that cannot be applied are too many; first: one of `first_unavailable_key`."""
    key = ", ".join(work.schema.key)
    return TableStoppedError(
        f"{changes} changes of {work.spec.source} belong to no row that can be told, the first of "
        f"those without its declared key ({key}) at offset {first['offset']} of partition "
        f"{first['partition']} of topic {first['topic']}: the replica identity of the table does "
        "not hold it, and what before holds in its place may be zero or a default "
        "(KEY_UNAVAILABLE); "
        f"{room} of them may be quarantined",
        state=WAITING,
        next_step=f"run ALTER TABLE {work.spec.source} REPLICA IDENTITY USING INDEX at the source, "
        "with a unique index of these columns; FULL serves as well, but not for rows whose key is "
        "zero or empty and whose other columns are all NOT NULL; what was sent before does "
        f"not change by that: leave key: of {work.spec.source} out of the pipeline file and run "
        "tidemark refold, or fold the table with a new pipeline from a new snapshot",
    )
