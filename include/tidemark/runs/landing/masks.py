"""What of the records of a landing is masked before they are written (MASK-1)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.accumulators import AccumulatorParam
from pyspark.sql import DataFrame

from tidemark.errors import NameRefusedError, PreflightError
from tidemark.formats.masked import (
    PayloadMask,
    UnmaskableError,
    digest,
    without_values,
)
from tidemark.lake.catalog import TableId
from tidemark.lake.evolve import SOURCE_SCHEMA
from tidemark.lake.removal import find_table
from tidemark.model.columns import TableSchema
from tidemark.model.event import Kind
from tidemark.model.names import ColumnName, TableName
from tidemark.model.renames import Rename
from tidemark.runs.jvm import is_local
from tidemark.runs.run import Run
from tidemark.spec import PipelineSpec, TableSpec
from tidemark.spec.shadows import shadowed_by

NOT_LANDED = "what is landed stays as it was; the records wait on their topics"
_WITH_ROWS = (Kind.ROW.value, Kind.DDL.value, Kind.TRUNCATE.value)

SourceTable = tuple[str | None, str | None]
"""Schema and name of a table, as records have them."""


@dataclass(slots=True)
class Findings:
    """What masked records tell of their tables: tasks hand it back, and the driver judges it.

    refused: why rows of a table could not be told apart. seen: a table, as the file calls it -> the
    columns that its rows have, until all are there that rules hide.
    """

    refused: dict[SourceTable, str] = field(default_factory=dict)
    seen: dict[str, set[ColumnName]] = field(default_factory=dict)

    def add(self, other: Findings) -> Findings:
        """This one, with what the ``other`` has as well."""
        self.refused |= other.refused
        for table, columns in other.seen.items():
            self.seen.setdefault(table, set()).update(columns)
        return self


class _InSpark(AccumulatorParam[Findings]):
    def zero(self, value: Findings) -> Findings:  # noqa: ARG002  PySpark's interface
        return Findings()

    def addInPlace(self, value1: Findings, value2: Findings) -> Findings:  # noqa: N802  PySpark's
        return value1.add(value2)


@dataclass(frozen=True, slots=True)
class LandingMasks:
    """The masks of tables, under all names that records have for them.

    shadows: patterns of the names of tables that online schema changes copy their rows to
    (SCHEMA-32). is_canal: records are Canal-JSON, whose statements may be changes of rows.
    findings: of the records that were masked so far.
    """

    by_table: Mapping[SourceTable, PayloadMask]
    shadows: tuple[str, ...] = ()
    is_canal: bool = False
    findings: Findings = field(default_factory=Findings, init=False)

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
        published = {
            spec.source: schema
            for spec in pipeline.tables
            if any(spec.target_columns.rules.hiding)
            and (schema := _published(run, spec)) is not None
        }
        renames = run.progress.known_renames(pipeline.renames)
        return cls.of_tables(pipeline, renames, published)

    @classmethod
    def of_tables(
        cls,
        pipeline: PipelineSpec,
        renames: Iterable[Rename],
        published: Mapping[TableName, TableSchema] | None = None,
    ) -> LandingMasks:
        """Those of the tables of a pipeline, which were renamed so; published: their targets'."""
        source = pipeline.source
        by_table = masks_by_table(pipeline, renames, published or {})
        return cls(by_table, source.shadow_names, source.format.is_canal)

    def masked(
        self, kind: str, table: SourceTable, key: bytes | None, value: bytes | None
    ) -> tuple[bytes | None, bytes | None]:
        """Key and value of a record as they are kept.

        Of one that cannot be read nobody knows what is in it. `findings` get what refuses the
        landing.
        """
        if kind == Kind.UNREADABLE.value:
            return digest(key), digest(value)
        if kind == Kind.DDL.value and self.is_canal and value is not None:
            value = without_values(value)
        mask = self._mask_of(table) if kind in _WITH_ROWS else None
        if mask is None or value is None:
            return key, value
        if kind == Kind.ROW.value:
            if why := mask.why_refused(key, value):
                self.findings.refused.setdefault(table, why)
                return digest(key), digest(value)
            seen = self.findings.seen.setdefault(mask.table, set())
            if mask.unresolved(seen):
                seen |= mask.columns_of(value)
        try:
            return key, mask.masked(value)
        except UnmaskableError:
            return key, digest(value)

    def _mask_of(self, table: SourceTable) -> PayloadMask | None:
        """That of the table, or of the one whose shadow it is by its name.

        Where a shadow's name is taken, tools write more underscores in front of it.
        """
        mask = self.by_table.get(table)
        schema, name = table
        if mask is not None or schema is None or name is None:
            return mask
        try:
            named = TableName(schema, name)
        except NameRefusedError:  # Nobody folds it.
            return None
        for shadowed in filter(None, (shadowed_by([p], named) for p in self.shadows)):
            for copied in (shadowed.table, shadowed.table.lstrip("_")):
                if (mask := self.by_table.get((schema, copied))) is not None:
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
        whole = rows.sparkSession.sparkContext.accumulator(self.findings, _InSpark())

        def mask(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield from map(self.masked_batch, batches)
            whole.add(self.findings)

        return rows.mapInArrow(mask, rows.schema)

    @property
    def hidden(self) -> frozenset[tuple[str, str]]:
        """The columns that are masked, each with its table as the file calls it."""
        masks = self.by_table.values()
        return frozenset((mask.table, column) for mask in masks for column in mask.hidden)

    def refusal(self) -> PreflightError | None:
        """Why what was masked cannot be landed; None where it can."""
        for table, why in sorted(self.findings.refused.items(), key=str):
            return PreflightError(
                f"records of {table[0]}.{table[1]} {why}, and changelog.payload is masked: rows "
                "could not be told apart",
                state=NOT_LANDED,
                next_step="declare key: of the table, or have target-columns show these columns, "
                "or set changelog.payload: raw",
            )
        masks = {mask.table: mask for mask in self.by_table.values()}
        for name, seen in sorted(self.findings.seen.items()):
            if absent := masks[name].absent(seen):
                return PreflightError(
                    f"records of {name} have no column {', '.join(absent)}, for which there is a "
                    "rule, and changelog.payload is masked: the values that it means may be in "
                    "another column",
                    state=NOT_LANDED,
                    next_step="write in target-columns what the column is called in these records, "
                    "or take the rule out until the source has the column",
                )
        return None


def masks_by_table(
    pipeline: PipelineSpec,
    renames: Iterable[Rename],
    published: Mapping[TableName, TableSchema],
) -> Mapping[SourceTable, PayloadMask]:
    """The masks of the tables of a pipeline, also under the names that they had."""
    masks: dict[TableName, PayloadMask] = {}
    for spec in pipeline.tables:
        mask = PayloadMask.of(
            spec.target_columns.rules,
            is_canal=pipeline.source.format.is_canal,
            is_keyed=bool(spec.key),
            published=published.get(spec.source),
            table=str(spec.source),
        )
        if mask is not None:
            masks[spec.source] = mask
    for rename in reversed(tuple(renames)):
        if rename.new in masks and rename.old not in pipeline.declared:
            masks.setdefault(rename.old, masks[rename.new])
    return {(name.schema, name.table): mask for name, mask in masks.items()}


def _published(run: Run, spec: TableSpec) -> TableSchema | None:
    """The columns of the source that the target was made of; None before there is one."""
    target = find_table(run.world.catalog, TableId(run.pipeline.target_namespace, spec.target))
    text = None if target is None else target.properties.get(SOURCE_SCHEMA)
    return None if text is None else TableSchema.from_json(json.loads(text))


def hidden_columns(run: Run, spec: TableSpec) -> frozenset[str]:
    """Columns of a table without whose values landed records may be, in lower case.

    Also those that rules of another file hid; of a table that was renamed, those of any.
    """
    renames = run.progress.known_renames(run.pipeline.renames)
    hidden = set(run.heads.changelog.hidden)
    if run.pipeline.changelog.is_masked:
        hidden |= LandingMasks.of_tables(run.pipeline, renames).hidden
    return frozenset(column for table, column in hidden if renames or table == str(spec.source))
