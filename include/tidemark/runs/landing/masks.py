"""What of the records of a landing is masked before they are written (MASK-1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from tidemark.errors import PreflightError
from tidemark.formats.masked import PayloadMask, UnmaskableError, digest, without_values
from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.renames import Rename
from tidemark.runs.jvm import is_local
from tidemark.runs.run import Run
from tidemark.spec import PipelineSpec

NOT_LANDED = "what is landed stays as it was; the records wait on their topics"
_WITH_ROWS = (Kind.ROW.value, Kind.DDL.value, Kind.TRUNCATE.value)

SourceTable = tuple[str | None, str | None]
"""Schema and name of a table, as records have them."""


@dataclass(frozen=True, slots=True)
class LandingMasks:
    """The masks of tables, under all names that records have for them.

    shadows: patterns of the names of tables that online schema changes copy their rows to
    (SCHEMA-32). is_canal: records are Canal-JSON, whose statements may be changes of rows.
    """

    by_table: Mapping[SourceTable, PayloadMask]
    shadows: tuple[str, ...] = ()
    is_canal: bool = False

    @classmethod
    def of(cls, run: Run) -> LandingMasks | None:
        """Those of a run; None where records are kept as they came.

        `PreflightError` on a cluster, whose workers need no Python.
        """
        pipeline = run.pipeline
        if not pipeline.changelog.is_masked:
            return None
        if not is_local(run.world.spark):
            raise PreflightError(
                f"changelog.payload of pipeline {pipeline.name} is masked, and Spark runs on a "
                "cluster: what masks records is not there on its workers",
                state=NOT_LANDED,
                next_step="run the pipeline with a local master, or set changelog.payload: raw",
            )
        return cls.of_tables(pipeline, run.progress.known_renames(pipeline.renames))

    @classmethod
    def of_tables(cls, pipeline: PipelineSpec, renames: Iterable[Rename]) -> LandingMasks:
        """Those of the tables of a pipeline, which were renamed so."""
        source = pipeline.source
        by_table = masks_by_table(pipeline, renames)
        return cls(by_table, source.shadow_names, source.format.is_canal)

    def masked(
        self, kind: str, table: SourceTable, key: bytes | None, value: bytes | None
    ) -> tuple[bytes | None, bytes | None]:
        """Key and value of a record as they are kept.

        Of one that cannot be read nobody knows what is in it. `PreflightError` where the key would
        have to be masked, or there is none.
        """
        if kind == Kind.UNREADABLE.value:
            return digest(key), digest(value)
        if kind == Kind.DDL.value and self.is_canal and value is not None:
            value = without_values(value)
        mask = self._mask_of(table) if kind in _WITH_ROWS else None
        if mask is None or value is None:
            return key, value
        if kind == Kind.ROW.value and (why := mask.why_refused(key, value)):
            raise PreflightError(
                f"records of {table[0]}.{table[1]} {why}, and changelog.payload is masked: rows "
                "could not be told apart",
                state=NOT_LANDED,
                next_step="declare key: of the table, or have target-columns show these columns, "
                "or set changelog.payload: raw",
            )
        try:
            return key, mask.masked(value)
        except UnmaskableError:
            return key, digest(value)

    def _mask_of(self, table: SourceTable) -> PayloadMask | None:
        """That of the table, or of the one whose shadow it is by its name.

        Where a shadow's name is taken, tools write more underscores in front of it.
        """
        schema, name = table
        mask = self.by_table.get(table)
        if mask is not None or name is None:
            return mask
        for pattern in self.shadows:
            before, _, after = pattern.partition("*")
            if name.startswith(before) and name.endswith(after):
                shadowed = name.removeprefix(before).removesuffix(after)
                mask = self.by_table.get((schema, shadowed))
                mask = mask or self.by_table.get((schema, shadowed.lstrip("_")))
                if mask is not None:
                    return mask
        return None

    def masked_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows with the columns of the changelog, as they are kept."""
        columns = ("kind", "source_schema", "source_table", "key", "value")
        rows = zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
        masked = [
            self.masked(kind, (schema, table), key, value)
            for kind, schema, table, key, value in rows
        ]
        for place, name in enumerate(("key", "value")):
            field = batch.schema.field(name)
            values = pa.array([row[place] for row in masked], field.type)
            batch = batch.set_column(batch.schema.get_field_index(name), field, values)
        return batch

    def masked_rows(self, rows: DataFrame) -> DataFrame:
        """As `masked_batch`, of a frame."""

        def mask(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return map(self.masked_batch, batches)

        return rows.mapInArrow(mask, rows.schema)


def masks_by_table(
    pipeline: PipelineSpec, renames: Iterable[Rename]
) -> Mapping[SourceTable, PayloadMask]:
    """The masks of the tables of a pipeline, also under the names that they had."""
    masks: dict[TableName, PayloadMask] = {}
    for spec in pipeline.tables:
        rules, is_canal = spec.target_columns.rules, pipeline.source.format.is_canal
        mask = PayloadMask.of(rules, is_canal=is_canal, is_keyed=bool(spec.key))
        if mask is not None:
            masks[spec.source] = mask
    for rename in reversed(tuple(renames)):
        if rename.new in masks and rename.old not in pipeline.declared:
            masks.setdefault(rename.old, masks[rename.new])
    return {(name.schema, name.table): mask for name, mask in masks.items()}
