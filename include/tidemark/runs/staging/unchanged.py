"""Rows of which the cut tells only what changed: the rest is sought before they are merged.

Only a cut that has such rows pays for them: with another look at their changes and at the columns
of the target that they leave out. What no change and no row tells is never written (UNAV-7).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.errors import WAITING, TableStoppedError
from tidemark.fold.unchanged import CHANGE, NEEDS, filled
from tidemark.formats.decoder import Decoder, decoder_of
from tidemark.formats.rows import typed_rows
from tidemark.lake.catalog import TableId
from tidemark.lake.staged import StagedRows, add_filled, read_unavailable
from tidemark.lake.stored import read_stored, stored_beside
from tidemark.model.columns import CONVERSION_ERROR, UNAVAILABLE, TableSchema
from tidemark.model.cut import GateMode
from tidemark.model.ends import End, first_end
from tidemark.model.event import Kind, Op
from tidemark.model.names import SYSTEM_PREFIX, ColumnName, quote
from tidemark.model.reduction import EVENT_ID
from tidemark.model.uncertain_nulls import most_unmoved, uncertain_nulls
from tidemark.runs.choose import Chosen
from tidemark.runs.run import Run
from tidemark.runs.tables.work import TableWork
from tidemark.spec import SourceFormat

NEED, CHANGED = f"{SYSTEM_PREFIX}need", f"{SYSTEM_PREFIX}change"


@dataclass(frozen=True, slots=True)
class Incomplete:
    """Staged rows, some of them partial.

    events: row events of the table in the cut, and those that were quarantined before. place: where
    the target's rows stand, in columns that have their new names. ends: truncates of the cut, where
    the target keeps what they end.
    """

    rows: StagedRows
    events: DataFrame
    place: TableId
    ends: tuple[End, ...]


def fill_unchanged(
    run: Run, chosen: Chosen, work: TableWork, incomplete: Incomplete
) -> tuple[StagedRows, str | None]:
    """The rows with what the partial ones left out, and an example of what nothing tells.

    `TableStoppedError` where the end of a row under its former key may be read yet. ``main`` of
    ``incomplete.place`` is read and not touched.
    """
    session, schema = run.world.spark, work.schema
    partial = read_unavailable(session, incomplete.rows)
    unavailable = partial.select(F.explode(UNAVAILABLE).alias("name")).agg(F.collect_set("name"))
    names = set(unavailable.collect()[0][0])
    columns = tuple(name for name in schema.names if name in names)
    table = work.spec.source
    schemas = chosen.schemas if table in chosen.quarantined else chosen.schemas_of(table)
    decoder = decoder_of(run.pipeline.source, schemas)
    wanted = _only(schema, columns)
    catalog = run.world.catalog
    stored = read_stored(session, catalog, incomplete.place, wanted, work.goes_on_above)
    past = _Past(run, chosen, work, decoder, wanted, incomplete.events, stored, incomplete.ends)
    nulls = {name: most_unmoved(schema, name) for name in decoder.uncertain_nulls(wanted)}
    whole, unresolved = add_filled(
        incomplete.rows, filled(partial, schema.key, columns, past, nulls)
    )
    source = run.pipeline.source
    may_come = source.gate is GateMode.NONE and not source.format.is_canal
    if unresolved is not None and may_come and json.loads(unresolved)["is_moved"]:
        raise unresolved_rows(run, work, unresolved, whole.unavailable, 0)
    return whole, unresolved


@dataclass(frozen=True, slots=True)
class _Past:
    """Where former values of a table are sought: in changes, and in the rows of its target.

    wanted: its key and the columns that are sought. events: its row events. stored: those columns
    of the target, None if there is none yet. ends: behind which nothing of a row is left.
    """

    run: Run
    chosen: Chosen
    work: TableWork
    decoder: Decoder
    wanted: TableSchema
    events: DataFrame
    stored: DataFrame | None
    ends: tuple[End, ...]

    def of(self, needs: DataFrame) -> DataFrame:
        """The changes of each ``row_key`` and the row that has it now, as `answers` reads them."""
        changes = self._changes(self.events).join(needs, "row_key")
        change = {name: F.col(name) for name in CHANGE if name in changes.columns}
        change["begins"] = self.decoder.begins
        change["former_key"] = self.decoder.former_key(self.work.schema)
        bundled = changes.withColumn(NEED, F.struct(*NEEDS)).withColumn(
            CHANGED, F.struct(*(change[name].alias(name) for name in CHANGE))
        )
        wanted = self.wanted
        row_image = self.decoder.row_image(wanted, hidden=self.work.hidden)
        typed = typed_rows(bundled, wanted, row_image, keep=(NEED, CHANGED))
        image = F.struct(*(F.col(quote(name)) for name in wanted.names))
        past_changes = typed.select(
            f"{NEED}.*", f"{CHANGED}.*", image.alias("image"), UNAVAILABLE, CONVERSION_ERROR
        )
        if self.stored is not None:
            past_changes = past_changes.unionByName(self._rows(self.stored, needs))
        past_changes = past_changes.withColumn(UNAVAILABLE, self._unavailable())
        if not self.ends:
            return past_changes
        ended_at = F.expr(first_end("position", self.ends, lambda end: end.place))
        return past_changes.where(F.coalesce(ended_at > F.col("before.position"), F.lit(True)))

    def beside(self, moved_rows: DataFrame) -> DataFrame:
        """``moved_rows`` beside every change at their ``event_id``, for `former_needs`."""
        event_ids = F.broadcast(moved_rows.select("event_id").distinct())
        changes = self._changes(
            self.events.withColumn("event_id", F.expr(EVENT_ID)).join(event_ids, "event_id")
        )
        order = ("event_id", "op", "row_key", "position", "part", "partition")
        return changes.select(*order).join(moved_rows, "event_id")

    def earlier(self) -> _Past:
        """Every change that was ever landed; of Canal, which has both halves in a record, the same.

        The end of a row under its old key may have been published before: without a gate ahead of
        the row under its new one (GATE-N1), and always where the latter comes again (DUP-2).
        """
        source, table = self.run.pipeline.source, self.work.spec.source
        if source.format.is_canal:
            return self
        rows = self.chosen.changelog.landed(table)
        events = rows.where(F.col("kind") == Kind.ROW.value)
        return replace(self, events=events, decoder=decoder_of(source, self.chosen.schemas))

    def _changes(self, events: DataFrame) -> DataFrame:
        above = events.where(self.work.counts)
        schema, from_images = self.work.schema, self.work.key_from_images
        return self.decoder.changes(above, schema, key_from_images=from_images)

    def _rows(self, stored: DataFrame, needs: DataFrame) -> DataFrame:
        """Rows of the target beside their needs, each as the change that made it."""
        nothing = F.lit(None)
        change = {
            "topic": nothing.cast("string"),
            "offset": nothing.cast("long"),
            "position": F.col("stored_at"),
            "part": F.lit(0),
            "partition": F.lit(0),
            "op": F.lit(Op.UPSERT.value),
            "begins": F.lit(True),
            "former_key": F.when(F.lit(False), F.col("row_key")),
        }
        return stored_beside(stored, needs, self.work.schema).select(
            *NEEDS,
            *(change[name].alias(name) for name in CHANGE),
            "image",
            nothing.cast("array<string>").alias(UNAVAILABLE),
            nothing.cast("string").alias(CONVERSION_ERROR),
        )

    def _unavailable(self) -> Column:
        """What a change leaves out, and columns whose values a statement above it gave unseen."""
        unknown = [
            F.when(F.col("position") <= column.unknown_below, F.lit(column.name))
            for column in self.wanted.columns
            if column.unknown_below is not None
        ]
        if not unknown:
            return F.col(UNAVAILABLE)
        none = F.lit(None).cast("string")
        names = F.array_compact(F.array(none, *unknown))
        together = F.concat(F.coalesce(UNAVAILABLE, F.array().cast("array<string>")), names)
        return F.when(F.size(together) > 0, together)


def _only(schema: TableSchema, columns: tuple[ColumnName, ...]) -> TableSchema:
    selected = tuple(c for c in schema.columns if c.name in schema.key or c.name in columns)
    return replace(schema, columns=selected)


def unresolved_rows(
    run: Run, work: TableWork, example: str, rows: int, room: int
) -> TableStoppedError:
    """Unavailable values stay unknown in more rows than may be quarantined.

    example: what `fill_unchanged` returns of one.
    """
    change = json.loads(example)
    source, column = run.pipeline.source, change["column"]
    what = f"{rows} rows of {work.spec.source} were changed without values that the target cannot "
    what += f"supply (UNAVAILABLE_UNRESOLVED), among them that of column {column}"
    is_postgres = source.format is SourceFormat.DEBEZIUM_POSTGRES
    if is_postgres and column in uncertain_nulls(work.schema):
        what += ", null or a large value that did not change,"
    fix = "change these rows once more at the source"
    if not source.format.is_canal:
        fix = (
            f"have the table re-snapshotted: tidemark resync {run.pipeline.name} {work.spec.source}"
        )
    return TableStoppedError(
        f"{what} at offset {change['offset']} of partition {change['partition']} of topic "
        f"{change['topic']}; {room} of them may be quarantined",
        state=f"{WAITING} until a later change brings all values, or the rest of a change of key "
        "comes",
        next_step="have the source write whole rows (PostgreSQL: REPLICA IDENTITY FULL; MySQL: "
        f"binlog_row_image=FULL, no column filter), then {fix}",
    )
