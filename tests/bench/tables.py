"""Tables of any size in the shape that the product gives them, made once and then cloned."""

from __future__ import annotations

import shutil
from pathlib import Path
from uuid import uuid4

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.serializers import ToOutputFile
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tests.bench.columns import KEY, source_schema, with_columns
from tidemark.formats.place import hexadecimal, position
from tidemark.lake.catalog import TableId, ensure_namespace
from tidemark.lake.evolve import apply_changes, read_target
from tidemark.lake.marks import PUBLISHED, Published, live_rows
from tidemark.lake.refs import main_head, summary_value
from tidemark.lake.sql import SYSTEM_COLUMNS, TARGET_PROPERTIES
from tidemark.model.columns import COMMIT_TIME, POSITION
from tidemark.model.names import quote
from tidemark.model.position import FILE_DIGITS, NUMBER_DIGITS, SnapshotRank
from tidemark.runs.world import World
from tidemark.schema.changes import CreateTarget

BASES = "bases"
ROWS_PER_FILE = 1_500_000
SNAPSHOT_FILE, STREAM_FILE = 1, 2


def base_table(world: World, rows: int) -> TableId:
    """A table with ids from 1 to ``rows``, as a snapshot of the source leaves it.

    It is never written to again, so later runs take it as it is.
    """
    table = TableId(BASES, f"orders_{rows}")
    if not _is_whole(world, table, rows):
        if world.catalog.table_exists(table.parts):
            world.catalog.drop_table(table.parts)
        shutil.rmtree(_folder(world, *table.parts), ignore_errors=True)
        make_empty(world, table)
        write = with_columns(_ids(world, rows)).select(
            *source_schema().names,
            file_position(SNAPSHOT_FILE, F.lit(SnapshotRank.SNAPSHOT.value)).alias(POSITION),
            F.timestamp_seconds(F.lit(1_795_000_000)).alias(COMMIT_TIME),
        )
        write.writeTo(quote(world.catalog.name, *table.parts)).append()
    return table


def make_empty(world: World, table: TableId) -> None:
    """A target without rows, made by the product."""
    schema = source_schema()
    apply_changes(world.spark, world.catalog, table, [CreateTarget(schema)], schema)


def clone(world: World, base: TableId, into: TableId) -> None:
    """A table of its own that begins with the data files of ``base``, which it only reads.

    Its rows count as published, as no cut goes on with rows of which nothing tells.
    """
    source = world.catalog.load_table(base.parts)
    head = source.current_snapshot()
    if head is None:
        raise RuntimeError(f"{base} has no rows")
    published = Published(head.snapshot_id, head.sequence_number or 0, live_rows(head), {})
    ensure_namespace(world.catalog, into.namespace)
    location = str(_folder(world, *into.parts))
    own = {
        "location": location,
        "table_uuid": uuid4(),
        "metadata_log": [],
        "properties": {**source.properties, PUBLISHED: published.to_json()},
    }
    file = f"{location}/metadata/00000-{uuid4()}.metadata.json"
    ToOutputFile.table_metadata(source.metadata.model_copy(update=own), source.io.new_output(file))
    world.catalog.register_table(into.parts, file)


def discard(world: World, namespace: str) -> None:
    """Remove a namespace with its tables and their own files."""
    if not world.catalog.namespace_exists(namespace):
        return
    for table in world.catalog.list_tables(namespace):
        world.catalog.drop_table(table)
    world.catalog.drop_namespace(namespace)
    shutil.rmtree(_folder(world, namespace), ignore_errors=True)


def discard_all_but_bases(world: World) -> None:
    """Remove what an earlier run left that did not come to its end."""
    for (namespace,) in world.catalog.list_namespaces():
        if namespace != BASES:
            discard(world, namespace)


def file_position(file: int, rank: Column) -> Column:
    """The position of a row whose event stands in this binlog file at ``offset``."""
    return position(
        hexadecimal(F.lit(file), FILE_DIGITS),
        hexadecimal(F.col("offset"), NUMBER_DIGITS),
        rank.cast("string"),
    )


def read_all(world: World, table: TableId) -> DataFrame:
    """Every column of every row."""
    columns = [*source_schema().names, *SYSTEM_COLUMNS]
    return world.spark.table(quote(world.catalog.name, *table.parts)).select(*columns)


def _ids(world: World, rows: int) -> DataFrame:
    files = -(-rows // ROWS_PER_FILE)
    ids = world.spark.range(1, rows + 1, numPartitions=files)
    return ids.withColumn("version", F.lit(0)).withColumn("offset", F.col(KEY))


def _is_whole(world: World, table: TableId, rows: int) -> bool:
    try:
        found = world.catalog.load_table(table.parts)
    except NoSuchTableError:
        return False
    head = found.snapshot_by_id(main_head(found) or 0)
    return (
        head is not None
        and summary_value(head, "total-records") == str(rows)
        and TARGET_PROPERTIES.items() <= found.properties.items()
        and (read := read_target(world.catalog, table)) is not None
        and read.source_schema == source_schema()
    )


def _folder(world: World, *parts: str) -> Path:
    return Path(world.installation.catalog.warehouse, *parts)
