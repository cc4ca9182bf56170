"""One record per table says what its columns are, however many tables a cut has."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tidemark.formats.decoder import decoder_of
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.event import Kind, Op
from tidemark.model.names import TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import commit_bound
from tidemark.model.profile import ProfileEntry
from tidemark.runs.columns.schemas import examples
from tidemark.spec import SourceSpec

TABLES = 600
SOURCE = SourceSpec.model_validate(
    {"format": "ticdc-canal-json", "gate": "watermark", "topics": {"data": ["shop"]}}
)
RECORD = (
    '{{"id": 0, "database": "shop", "table": "t{0}", "pkNames": ["id"], "isDdl": false, '
    '"type": "INSERT", "es": 1, "ts": 1, "sql": "", "sqlType": {{"id": -5}}, '
    '"mysqlType": {{"id": "bigint", "c{0}": "int"}}, "data": [{{"id": "1", "c{0}": "2"}}], '
    '"old": null, "_tidb": {{"commitTs": 5}}}}'
)


def test_a_cut_of_hundreds_of_tables(spark: SparkSession) -> None:
    """SCHEMA-1: a first snapshot has them all; Spark's analyzer takes no chain of as many ORs."""
    rows: list[tuple[object, ...]] = [
        ("shop", 0, number, "shop", f"t{number}", None, None, RECORD.format(number).encode(), kind)
        for number in range(TABLES)
        for kind in ([Kind.ROW.value, Kind.UNREADABLE.value] if number == 0 else [Kind.ROW.value])
    ]
    rows.append(("shop", 0, 1, None, None, None, None, b"of no table", Kind.UNREADABLE.value))
    columns = (
        "topic STRING, partition INT, offset LONG, source_schema STRING, source_table STRING, "
        "schema_id INT, key BINARY, value BINARY, kind STRING"
    )
    events = spark.createDataFrame(rows, columns).selectExpr("*", f"'{commit_bound(5)}' position")
    entries = [
        ProfileEntry(
            at=TopicPartition(TopicName("shop"), 0),
            kind=Kind.ROW,
            table=("shop", f"t{number}"),
            op=Op.UPSERT,
            schema_id=None,
            status=CheckpointStatus.PENDING,
            is_new=True,
            records=1,
            without_key=0,
            highest_place=None,
            highest=commit_bound(5),
            oldest_landing=1,
            newest_offset=number,
        )
        for number in range(TABLES)
    ]
    record_schemas = examples(events, entries, decoder_of(SOURCE, {}))
    assert {table.table: schema.types for table, (schema,) in record_schemas.items()} == {
        f"t{number}": {"id": "bigint", f"c{number}": "int"} for number in range(TABLES)
    }
