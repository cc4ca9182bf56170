"""Records that could not be read when they were landed, and that a replay has read since.

In the changelog they stay what they were landed as, while their changes are in the targets. So who
reads what was published of a table has to read them once more (POISON-4, REFOLD-1).
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.fold.computed import computed_once
from tidemark.formats.avro.wire_format import Schemas
from tidemark.formats.decoder import decoder_of
from tidemark.formats.topic_roles import TopicRoles
from tidemark.lake.landing import COLUMNS
from tidemark.lake.quarantine import read_entries
from tidemark.model.event import RECORD_COLUMNS, Kind
from tidemark.model.quarantine import State
from tidemark.runs.changelog import Changelog
from tidemark.runs.landing.land import Landed
from tidemark.runs.landing.ordering import expected_ordering
from tidemark.runs.run import Run


def read_since(run: Run, changelog: Changelog, landed: Landed) -> DataFrame | None:
    """The rows of all such records, as `Changelog.placed` takes them; None where there are none.

    A record of which some changes were quarantined once more had others that were applied. One that
    was a row when it was landed has no entry as a whole.
    """
    entries = read_entries(run.world.catalog, run.system)
    whole = {entry.place for entry in entries if entry.row is None}
    ended = (State.APPLIED, State.DUPLICATE)
    places = whole & {e.place for e in entries if e.state in ended or e.row is not None}
    if not places:
        return None
    unreadable = changelog.unreadable_at(places)
    return computed_once(rows_among(run, landed, unreadable, landed.schemas))


def rows_among(run: Run, landed: Landed, unreadable: DataFrame, schemas: Schemas) -> DataFrame:
    """The rows among records that could not be read when they were landed. Out: COLUMNS."""
    ordering = expected_ordering(run.pipeline, landed.mark)
    decoder = decoder_of(run.pipeline.source, schemas, ordering=ordering)
    roles = TopicRoles(landed.plan.schema_changes, landed.plan.transactions)
    events = decoder.envelope(unreadable.select(*RECORD_COLUMNS), roles)
    readable = events.where(F.col("kind") == Kind.ROW.value)
    return readable.withColumn("landing", F.lit(1).cast("long")).select(*COLUMNS)
