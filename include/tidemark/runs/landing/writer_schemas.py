"""The Avro schemas of a run: those that are kept, and those that new records bring (MSG-19)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.formats.avro.framed import framed_schema
from tidemark.formats.avro.framing import foreign_framing
from tidemark.formats.avro.schema import InvalidAvroSchemaError
from tidemark.formats.avro.wire_format import Schemas, id_of
from tidemark.lake.writer_schemas import read_schemas
from tidemark.log import get_logger
from tidemark.model.event import Reason
from tidemark.runs.run import Run
from tidemark.spec import PipelineSpec
from tidemark.topics.registry import open_schemas

log = get_logger()

UNKNOWN = "schema_unknown"
FRAMED, FRAMING = "framed", "framing"

_OF_FRAMING = (Reason.AVRO_MAGIC.value, Reason.AVRO_SCHEMA_UNKNOWN.value)


def stored_schemas(run: Run) -> Schemas:
    """The schemas of every record that is landed; none where records are JSON."""
    if run.pipeline.source.avro is None:
        return {}
    return read_schemas(run.world.catalog, run.system)


def schema_counts(pipeline: PipelineSpec) -> tuple[Column, ...]:
    """Aggregates over decoded records: how many have a schema that is not known, as UNKNOWN.

    As FRAMED, how many name their schema otherwise, and as FRAMING, how they do (`Framing`).
    """
    if pipeline.source.avro is None:
        return ()
    unknown = F.col("reason") == Reason.AVRO_SCHEMA_UNKNOWN.value
    framing = F.when(
        F.col("reason").isin(*_OF_FRAMING),
        foreign_framing(F.col("key"), F.col("value"), F.col("headers")),
    )
    return (
        F.count(F.when(unknown, 1)).alias(UNKNOWN),
        F.count(framing).alias(FRAMED),
        F.max(framing).alias(FRAMING),
    )


def missing_schemas(run: Run, records: DataFrame, known: Schemas) -> Schemas:
    """Those schemas that ``records`` name, ``known`` lacks, and the registry has.

    records: RECORD_COLUMNS and ``reason``, decoded with ``known``. Raises what `open_schemas` does.
    """
    avro = run.pipeline.source.avro
    if avro is None:
        return {}
    source, schemas, misses = open_schemas(avro), {}, 0
    for number in _ids(records, known):
        text = source(number)
        if text is not None and _is_fit(number, text):
            schemas[number] = text
        else:
            misses += 1
        if misses > run.pipeline.limits.max_unreadable:
            break  # each is of one record at least: the landing will be refused
    return schemas


def _ids(records: DataFrame, known: Schemas) -> list[int]:
    """The ids in ``records`` that ``known`` lacks, least first."""
    unknown = records.where(F.col("reason") == Reason.AVRO_SCHEMA_UNKNOWN.value)
    ids = unknown.select(F.explode(F.array(id_of(F.col("key")), id_of(F.col("value")))).alias("id"))
    rows = ids.where(F.col("id").isNotNull()).distinct().collect()
    return sorted({row["id"] for row in rows} - known.keys())


def _is_fit(number: int, text: str) -> bool:
    """Whether bodies can be decoded with a schema; what a converter writes always can."""
    try:
        framed_schema(text)
    except InvalidAvroSchemaError as error:
        log.warning("schema_unfit", id=number, why=str(error))
        return False
    return True
