"""Columns that nothing tells the types of: proposed, or taken as `source.untyped` says (SCHEMA-1).

Only a pipeline that asks for it pays: with another look at all rows of such a table in each cut, as
a column may hold its first value anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from pyspark.sql import functions as F

from tidemark.errors import NOT_FOLDED, SchemaUnknownError
from tidemark.formats.decoder import decoder_of
from tidemark.formats.record_schema import RecordSchema
from tidemark.formats.special import PLACEHOLDER
from tidemark.log import get_logger
from tidemark.model.columns import TableSchema
from tidemark.model.event import Op
from tidemark.model.json_kind import JsonKind
from tidemark.model.modes import Untyped
from tidemark.model.names import ColumnName, TableName, column_name
from tidemark.runs.choose import Chosen
from tidemark.runs.run import Run
from tidemark.schema.untyped import text_type, type_of_kinds
from tidemark.spec import SourceFormat, SourceSpec, TableSpec

log = get_logger()
_KINDS: Sequence[tuple[str, JsonKind]] = (
    (r"VOID", JsonKind.NULL),
    (r"BOOLEAN", JsonKind.BOOLEAN),
    (r"BIGINT", JsonKind.INTEGER),
    (r"DECIMAL\(\d+,0\)", JsonKind.LARGE),
    (r"DECIMAL.*|DOUBLE|FLOAT", JsonKind.NUMBER),
)
"""Spark's names of the types of variants; all others are texts."""


def untyped_columns(
    run: Run,
    chosen: Chosen,
    spec: TableSpec,
    have: TableSchema | None,
    records: Collection[RecordSchema],
) -> dict[ColumnName, str]:
    """Column -> type, of those that neither the file nor the target has, where it may be guessed.

    A column that was never seen with a value waits. `SchemaUnknownError` where values of one column
    are of two kinds.
    """
    source = run.pipeline.source
    has_schema = any(record.fields for record in records)
    if source.untyped is Untyped.REFUSE or has_schema or not records:
        return {}
    known = {*spec.columns, *(have.names if have is not None else ())}
    column_kinds = _kinds(run, chosen, spec.source)
    new = {name: kinds for name, kinds in column_kinds.items() if name not in known}
    if source.untyped is Untyped.STRING:
        return dict.fromkeys(new, text_type(source.format))
    types = {}
    for name, kinds in new.items():
        if kinds == {JsonKind.NULL}:
            continue
        type_text = type_of_kinds(kinds, source.format)
        if type_text is None:
            raise _of_no_type(spec.source, name, kinds)
        types[name] = type_text
    if types:
        log.info("columns_inferred", table=str(spec.source), columns=types)
    return types


def _kinds(run: Run, chosen: Chosen, table: TableName) -> dict[ColumnName, set[JsonKind]]:
    """Of each column, the kinds of its values in all upserts of the cut; as records order them."""
    decoder = decoder_of(run.pipeline.source, chosen.schemas_of(table))
    upserts = chosen.row_events(table).where(F.col("op") == Op.UPSERT.value)
    kind = F.lit(JsonKind.TEXT.value)
    name = F.schema_of_variant("value")
    for pattern, json_kind in reversed(_KINDS):
        kind = F.when(name.rlike(f"^({pattern})$"), json_kind.value).otherwise(kind)
    is_unavailable = F.try_variant_get("value", "$", "string") == PLACEHOLDER
    kind = F.when(is_unavailable | F.col("value").isNull(), JsonKind.NULL.value).otherwise(kind)
    rows = (
        upserts.select(F.posexplode(decoder.variants).alias("at", "name", "value"))
        .groupBy("name")
        .agg(F.min("at").alias("at"), F.collect_set(kind).alias("kinds"))
        .collect()
    )
    ordered = sorted(rows, key=lambda row: (row["at"], row["name"]))
    return {column_name(row["name"]): set(map(JsonKind, row["kinds"])) for row in ordered}


def _of_no_type(
    table: TableName, column: ColumnName, kinds: Collection[JsonKind]
) -> SchemaUnknownError:
    kind_names = " and ".join(sorted(kind.value for kind in kinds if kind is not JsonKind.NULL))
    return SchemaUnknownError(
        f"no schema declares the type of column {column} of {table}, and its values are "
        f"{kind_names} (SCHEMA_UNKNOWN)",
        state=NOT_FOLDED,
        next_step=f"declare {column} in columns: of {table} in the pipeline file",
    )


def untold(
    source: SourceSpec, table: TableName, records: Sequence[RecordSchema]
) -> SchemaUnknownError:
    """Nothing tells the columns of ``table``; with what its newest record looks like."""
    where = f"columns: and key: of {table} in the pipeline file"
    step = f"declare {where}"
    if source.format in (SourceFormat.DEBEZIUM_MYSQL, SourceFormat.DEBEZIUM_MARIADB):
        step = f"add the schema-change topic to source.topics.schema-changes, or {step}"
    shown: Mapping[str, JsonKind] = next((r.kinds for r in reversed(records) if r.kinds), {})
    if shown:
        types = {name: type_of_kinds({kind}, source.format) for name, kind in shown.items()}
        looks = ", ".join(
            f"{json.dumps(name)}: {type_text or '?'}" for name, type_text in types.items()
        )
        step += (
            f", which would be {{{looks}}} by the looks of its newest record: but a number may be "
            "a date there, and a text may be bytes; source.untyped takes them as they look"
        )
    return SchemaUnknownError(
        f"no schema declares the columns of {table}: its records carry no schema and no schema "
        "change of it was landed (SCHEMA_UNKNOWN)",
        state=NOT_FOLDED,
        next_step=step,
    )
