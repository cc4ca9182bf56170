"""What of the changes of a cut goes into the target, by its mode, as typed rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from tidemark.errors import AccountingError
from tidemark.fold.appended import mark_copies, without_unavailable
from tidemark.fold.contested import count_contested
from tidemark.fold.flags import mark_images, with_flags
from tidemark.fold.latest import mark_latest, only_newest
from tidemark.fold.settled import beside_settled
from tidemark.fold.versions import mark_event_ids
from tidemark.formats.decoder import Decoder
from tidemark.formats.rows import typed_rows
from tidemark.model.columns import CHANGE, ROW
from tidemark.model.ends import End
from tidemark.model.target_mode import TargetMode
from tidemark.runs.choose import Chosen
from tidemark.runs.staging.replay import changes_of
from tidemark.runs.tables.copies import settled_at_last
from tidemark.runs.tables.work import TableWork


@dataclass(frozen=True, slots=True)
class ChangeCounts:
    """What is counted while the changes of a table are reduced; known once they are written.

    read: ``records`` that hold them. entered: ``changes`` in all. contested: ``keys`` that two rows
    may have had in one transaction, None where no source lets them. reduced: ``dropped``, as they
    lost to a newer change, a copy, a truncate or a snapshot.
    """

    read: Observation = field(default_factory=Observation)
    entered: Observation = field(default_factory=Observation)
    contested: Observation | None = None
    reduced: Observation = field(default_factory=Observation)


def typed_changes(  # noqa: PLR0913  what is read, and by which rules
    chosen: Chosen,
    decoder: Decoder,
    work: TableWork,
    ends: Sequence[End],
    events: DataFrame,
    counts: ChangeCounts,
) -> DataFrame:
    """The changes that the target takes: of a mirror the newest of each key (TRUNC-4).

    What a truncate or a snapshot ends is dropped with what is superseded: it is never chosen as the
    newest of its key, which would take the change below it along (SNAP-7).
    """
    number = F.count(F.lit(1))
    unread = (*_unread(decoder, work), *(() if work.replayed else ("status",)))
    read = events.drop(*unread).observe(counts.read, number.alias("records"))
    changes = changes_of(chosen, work, decoder, read).observe(
        counts.entered, number.alias("changes")
    )
    if counts.contested is not None:
        changes = count_contested(changes, work.counts, counts.contested)
    schema = work.schema
    row_image = decoder.row_image(schema, hidden=work.hidden)
    match work.spec.mode:
        case TargetMode.MIRROR:
            latest = changes.transform(mark_latest, work.counts)
            return typed_rows(only_newest(latest, counts.reduced), schema, row_image)
        case TargetMode.SOFT_DELETE:
            images = changes.transform(mark_images, work.counts)
            retained = only_newest(images, counts.reduced)
            typed = typed_rows(retained, schema, row_image, keep=(CHANGE,))
            return typed.transform(with_flags, ends)
        case TargetMode.HISTORY:
            beside = _beside_settled(chosen, decoder, work, changes)
            event_ids = beside.transform(mark_event_ids, work.counts)
            retained = only_newest(event_ids, counts.reduced)
            return typed_rows(retained, schema, row_image, keep=(CHANGE,))
        case TargetMode.APPEND:
            beside = _beside_settled(chosen, decoder, work, changes)
            retained = only_newest(beside.transform(mark_copies), counts.reduced)
            typed = typed_rows(retained, schema, row_image, keep=(ROW,))
            return typed.transform(without_unavailable, schema)


def _beside_settled(
    chosen: Chosen, decoder: Decoder, work: TableWork, changes: DataFrame
) -> DataFrame:
    """``changes`` of a cut, and settled ones at the places of the log where it goes on."""
    settled = settled_at_last(chosen, work.spec)
    if settled is not None:
        read = settled.drop(*_unread(decoder, work))
        settled = decoder.changes(read, work.schema, key_from_images=work.key_from_images)
    return beside_settled(changes, settled, decoder.occurrence)


def _unread(decoder: Decoder, work: TableWork) -> tuple[str, ...]:
    """Columns of the changelog that nothing asks for; headers tell of nulls alone (UNAV-11)."""
    return ("kafka_time",) if decoder.uncertain_nulls(work.schema) else ("kafka_time", "headers")


def refuse_unread(work: TableWork, records: int, wanted: int | None = None) -> None:
    """What is decoded are as many records as the cut was found to hold (ACC-4).

    wanted: how many that are, where it is not all of the table's.
    """
    if wanted is None:
        wanted = work.rows + work.replayed - work.copies.count
    if records != wanted:
        raise AccountingError(
            f"the cut holds {wanted} records with rows of {work.spec.source}, but {records} of "
            "them were read from the changelog",
            state="every table is as it was; the attempt's branches are kept",
            next_step="run again; if this repeats, the changelog's files are not sound",
        )
