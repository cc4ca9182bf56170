"""What of the changes of a cut goes into the target, by its mode, as typed rows."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from tidemark.fold.appended import each_once, without_unsent
from tidemark.fold.flags import latest_images, with_flags
from tidemark.fold.latest import latest_events
from tidemark.fold.versions import one_per_site
from tidemark.formats.decoder import Decoder
from tidemark.formats.rows import typed_rows
from tidemark.model.columns import CHANGE, ROW
from tidemark.model.ends import End
from tidemark.model.target_mode import TargetMode
from tidemark.runs.choose import Chosen
from tidemark.runs.staging.replay import changes_of
from tidemark.runs.tables.work import TableWork


def typed_changes(  # noqa: PLR0913  what is read, and by which rules
    chosen: Chosen,
    decoder: Decoder,
    work: TableWork,
    ends: Sequence[End],
    events: DataFrame,
    counted: Observation,
) -> DataFrame:
    """The changes that the target takes: of a mirror the newest of each key (TRUNC-4).

    ``counted`` gets how many there were, and how many left their key for another one.
    """
    move = decoder.key_move
    unread = {"kafka_time", *(() if move is not None else ("headers",))}
    unread |= set() if work.replayed else {"zone"}
    left_keys = F.lit(0) if move is None else F.count(F.when(move["leaves"], 1))
    changes = changes_of(chosen, work, decoder, events.drop(*unread))
    changes = changes.observe(
        counted, F.count(F.lit(1)).alias("changes"), left_keys.alias("left_keys")
    ).drop("headers")
    schema = work.schema
    told = decoder.told(schema)
    match work.spec.mode:
        case TargetMode.MIRROR:
            latest = changes.transform(latest_events, work.counts)
            return typed_rows(latest, schema, told)
        case TargetMode.SOFT_DELETE:
            latest = changes.transform(latest_images, work.counts)
            typed = typed_rows(latest, schema, told, keep=(CHANGE,))
            return typed.transform(with_flags, ends)
        case TargetMode.HISTORY:
            one_each = changes.transform(one_per_site, work.counts)
            return typed_rows(one_each, schema, told, keep=(CHANGE,))
        case TargetMode.APPEND:
            once = changes.transform(each_once)
            typed = typed_rows(once, schema, told, keep=(ROW,))
            return typed.transform(without_unsent, schema)
