"""A table of some families of types: every form of their columns decoded, written, read again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import reduce
from math import isnan
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.spark.properties.cases import ALL, COUNT, SEED, Case, Cell, Form
from tests.spark.properties.records import Sending
from tests.spark.properties.shown import REFUSED
from tests.support.staged import staged_place
from tidemark.formats.decoder import Decoder, decoder_of
from tidemark.formats.row_reader import ODD, RowReader, can_read
from tidemark.formats.rows import typed_rows
from tidemark.lake.catalog import TableId
from tidemark.lake.evolve import apply_changes
from tidemark.lake.publication import update_mains
from tidemark.lake.staged import stage_rows
from tidemark.lake.staging import StagingContext, stage_table
from tidemark.model.columns import CONVERSION_ERROR, SourceColumn, TableSchema, ValueEncoding
from tidemark.model.event import Op
from tidemark.model.names import ColumnName, quote
from tidemark.runs.session import FEW_ROWS, size_for
from tidemark.runs.world import World
from tidemark.schema.changes import plan_changes
from tidemark.spec import SourceSpec

WIDE = 150
"""Columns of all forms together. The expressions of more are interpreted, as those of a cut of a
few rows are: to compile them takes longer than to read the values.
"""
ID, FORM, TOLD = ColumnName("id"), ColumnName("form"), ColumnName("conversion_error")
SHOWN = 10
_ID = SourceColumn(ID, "int", ValueEncoding.INTEGER, "int")
_OWN = (SourceColumn(FORM, "string", ValueEncoding.TEXT, "text"), _ID)
_TOLD = SourceColumn(TOLD, "string", ValueEncoding.TEXT, "text")


@dataclass(frozen=True)
class Read:
    """The frame of one form, and where the value of each of its cells stands in the table."""

    sending: Sending
    records: Sequence[tuple[bytes | None, bytes]]
    rows: Sequence[Mapping[str, Any]]
    schema: TableSchema
    frame: DataFrame

    @property
    def places(self) -> Mapping[str, ColumnName]:
        """Column of the record -> column of the table, which forms share where types agree."""
        return {name: _place(self.schema[name]) for name in self.sending.cells}


def check_families(
    world: World,
    folder: Path,
    families: Mapping[str, Sequence[Case]],
    forms: Sequence[Form] = ALL,
) -> None:
    """Compare what a reader finds with what stood at the source, of every case in every form.

    The families share their records and a table: what a form costs it costs once.
    """
    name = " and ".join(families)
    rng = Random(f"{SEED} {name}")  # noqa: S311  no secret: the same seed, the same values
    cases = [case for family in families.values() for case in family]
    count = COUNT * len(families) // len(cases)
    values = [case.values.take(count, rng) for case in cases]
    cells = [_cells(cases, form) for form in forms]
    is_wide = sum(map(len, cells)) > WIDE
    size_for(world.spark, FEW_ROWS if is_wide else FEW_ROWS + 1)
    reads = [_read(world, folder, *of_form, values) for of_form in zip(forms, cells, strict=True)]
    found = _written_and_read(world, folder, name, reads)
    wrong = [fault for read in reads for fault in _faults(read, values, found)]
    wrong += [fault for read in reads for fault in _faults_in_python(read, values)]
    assert not wrong, "\n".join(
        [f"{name}, VALUES={COUNT} VALUES_SEED={SEED}: {len(wrong)} values differ", *wrong[:SHOWN]]
    )


def _cells(cases: Sequence[Case], form: Form) -> dict[str, Cell]:
    return {
        f"c{number}{'_alone' if cell.is_alone else ''}": cell
        for number, case in enumerate(cases)
        for cell in case.inside(form)
    }


def _of(name: str, values: Sequence[Sequence[Any]]) -> Sequence[Any]:
    return values[int(name.removeprefix("c").removesuffix("_alone"))]


def _read(
    world: World,
    folder: Path,
    form: Form,
    cells: Mapping[str, Cell],
    values: Sequence[Sequence[Any]],
) -> Read:
    sending = Sending(form, cells)
    columns = {n: list(map(cell.encoded, _of(n, values))) for n, cell in cells.items()}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    records = list(sending.records(rows))
    decoder = decoder_of(_source(form), sending.schemas)
    told = decoder.record_schema(*records[0])
    own = tuple(cell.column(name, told) for name, cell in cells.items())
    schema = TableSchema((_ID, *own), (ID,))
    events = _events(world, folder / f"{form.name}.parquet", form, records)
    return Read(sending, records, rows, schema, _typed(events, form, decoder, schema))


def _events(
    world: World, file: Path, form: Form, records: Sequence[tuple[bytes | None, bytes]]
) -> DataFrame:
    """What landing makes of ``records``: its own tests look at envelopes."""
    keys, contents = zip(*records, strict=True)
    landed = {
        "key": pa.array(keys, pa.binary()),
        "value": pa.array(contents, pa.binary()),
        "schema_id": pa.array([1 if form.has_schema else None] * len(records), pa.int64()),
    }
    pq.write_table(pa.table(landed), file)
    return world.spark.read.parquet(str(file)).select(
        "*",
        F.lit("0").alias("position"),
        F.lit(Op.UPSERT.value).alias("op"),
        F.lit(0).cast("timestamp").alias("commit_time"),
        F.lit(None).cast("array<struct<key: string, value: binary>>").alias("headers"),
    )


def _source(form: Form) -> SourceSpec:
    fields: dict[str, Any] = {
        "format": form.partition(",")[0],
        "gate": "watermark" if form.startswith("ticdc") else "none",
        "topics": {"data": ["shop.items"]},
    }
    if form.is_avro:
        fields["avro"] = {"folder": "/nowhere"}
    return SourceSpec.model_validate(fields)


def _typed(events: DataFrame, form: Form, decoder: Decoder, schema: TableSchema) -> DataFrame:
    changes = decoder.changes(events, schema, key_from_images=False)
    rows = typed_rows(changes, schema, decoder.row_image(schema))
    placed = {quote(column.name): _place(column) for column in schema.columns if column.name != ID}
    others = [
        name for name in rows.columns if quote(name) not in placed and name != CONVERSION_ERROR
    ]
    return rows.select(
        F.lit(form.value).alias(FORM),
        F.col(CONVERSION_ERROR).alias(TOLD),
        F.lit(None)
        .cast("string")
        .alias(CONVERSION_ERROR),  # so that the row is written like any other
        *others,
        *(F.col(name).alias(place) for name, place in placed.items()),
    )


def _place(column: SourceColumn) -> ColumnName:
    return ColumnName(f"{column.name} {re.sub('[^a-z0-9]+', ' ', column.iceberg).strip()}")


def _written_and_read(
    world: World, folder: Path, name: str, reads: Sequence[Read]
) -> Mapping[tuple[str, int], Mapping[str, Any]]:
    """The rows by form and number, as pyiceberg finds them on main."""
    target = TableId("values", name)
    placed = {
        _place(column): replace(column, name=_place(column))
        for read in reads
        for column in read.schema.columns
        if column.name != ID
    }
    schema = TableSchema((*_OWN, _TOLD, *placed.values()), (FORM, ID))
    apply_changes(world.spark, world.catalog, target, plan_changes(None, schema), schema)
    frames = (read.frame for read in reads)
    union = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
    rows = stage_rows(staged_place(world, folder, target), union, schema)
    context = StagingContext(world.spark, world.catalog, target, "tidemark_1_values", 1, None)
    ref_update, _ = stage_table(context, schema, rows, ())
    update_mains(world.catalog, [ref_update])
    table = world.catalog.load_table(target.parts).scan().to_arrow()
    return {(row[FORM], row[ID]): row for row in table.to_pylist()}


def _faults(
    read: Read,
    values: Sequence[Sequence[Any]],
    found: Mapping[tuple[str, int], Mapping[str, Any]],
) -> Iterator[str]:
    form, places = read.sending.form, read.places
    for number, row in enumerate(read.rows):
        got = found.get((form.value, number))
        if got is None:
            yield f"{form}: row {number} is missing"
            continue
        refused = ""
        for name, cell in read.sending.cells.items():
            value = _of(name, values)[number]
            expected = cell.expected(value)
            if expected is REFUSED:
                refused, expected = refused or name, None
            if not _is_alike(got[places[name]], expected):
                wire = read.sending.shown(name, row[name])
                yield (
                    f"{form}: {cell.case}{' (by its record alone)' if cell.is_alone else ''}\n"
                    f"  source {value!r}\n  wire   {wire}\n"
                    f"  wanted {expected!r}\n  got    {got[places[name]]!r}"
                )
        if (got[TOLD] or "") != refused:
            named = got[TOLD] or refused
            case, wire = read.sending.cells[named].case, read.sending.shown(named, row[named])
            yield f"{form}: {case}\n  misread {got[TOLD]}, not {refused or 'none'}\n  wire {wire}"


def _faults_in_python(read: Read, values: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Values that the reader without Spark reads, and not as it must; columns that it never reads.

    It may refuse any value, and all decimals that are numbers.
    """
    form = read.sending.form
    if form.is_canal or form.is_avro:
        return
    for name, cell in read.sending.cells.items():
        schema = TableSchema((_ID, read.schema[name]), (ID,))
        if not can_read(schema):
            continue
        reader = RowReader(schema)
        is_read = form.has_numbers or form.is_mixed
        for number, (key, record) in enumerate(read.records):
            value = _of(name, values)[number]
            expected = cell.expected(value)
            try:
                image = reader.image(record)
                assert image is not None
                row = reader.typed(reader.key(key or b""), image)
            except ODD:
                continue
            is_read = is_read or row[1] is not None
            (got,) = reader.arrays([[one] for one in row])[1].to_pylist()
            if row[0] != number or not _is_alike(got, expected):
                wire = read.sending.shown(name, read.rows[number][name])
                yield (
                    f"{form}, in Python: {cell.case}\n  source {value!r}\n  wire   {wire}\n"
                    f"  wanted {expected!r}\n  got    {got!r}"
                )
        if not is_read:
            yield f"{form}, in Python: no value of {cell.case} is read"


def _is_alike(got: Any, wanted: Any) -> bool:
    """Equal, of one type, and written alike: 1.0 is not 1, 0.10 is not 0.1, -0.0 is not 0.0."""
    if isinstance(wanted, float) and isnan(wanted):
        return isinstance(got, float) and isnan(got)
    if isinstance(wanted, dict):  # which pyarrow has as pairs, in no order of meaning
        return isinstance(got, list) and len(got) == len(wanted) and dict(got) == wanted
    if isinstance(wanted, list):
        of_one_kind = type(got) is type(wanted) and len(got) == len(wanted)
        return of_one_kind and all(map(_is_alike, got, wanted))
    if type(got) is not type(wanted) or got != wanted:
        return False
    return not isinstance(wanted, float | Decimal) or repr(got) == repr(wanted)
