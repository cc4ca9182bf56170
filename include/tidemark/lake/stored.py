"""Rows of a target as they are published, for those who ask for some of them by key.

``place`` is the target, or its fork where the cut changes its columns: both have the same rows.
"""

from __future__ import annotations

from pyiceberg.catalog import Catalog
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.lake.catalog import TableId, catalog_errors
from tidemark.model.columns import END_POSITION, POSITION, ROW, TableSchema
from tidemark.model.names import ColumnName, quote
from tidemark.model.position import Position


def read_stored(
    session: SparkSession,
    catalog: Catalog,
    place: TableId,
    wanted: TableSchema,
    above: Position | None,
) -> DataFrame | None:
    """The source's rows above the position ``above``; None when the table is still to be made.

    Out: ``key_0`` and so on, or of a table without a key ROW; ``image``, a struct of the columns of
    ``wanted`` in its types, null where the table is still to get them, and filled in rows that are
    older than they (SCHEMA-14); ``stored_at``, the position of the change that made it.
    """
    with catalog_errors(f"the reading of {place}"):
        if not catalog.table_exists(place.parts):
            return None
    table = session.table(quote(catalog.name, *place.parts)).where(wanted.stands)
    if above is not None:
        table = table.where(F.col(POSITION) > above)

    def column(name: ColumnName) -> Column:
        source_column, since = wanted[name], wanted.column_alias(name).since
        there = (F.col(quote(name)) if name in table.columns else F.lit(None)).cast(
            source_column.iceberg
        )
        if source_column.backfill is None or since is None:
            return there
        at = F.coalesce(POSITION, F.lit(""))
        return F.when(at > since, there).otherwise(
            F.lit(source_column.backfill).cast(source_column.iceberg)
        )

    keys = [column(name).alias(f"key_{number}") for number, name in enumerate(wanted.key)]
    return table.select(
        *(keys or [F.col(ROW)]),
        F.struct(*(column(name).alias(name) for name in wanted.names)).alias("image"),
        F.coalesce(POSITION, F.lit("")).alias("stored_at"),
    )


def read_versions(
    session: SparkSession, catalog: Catalog, place: TableId, schema: TableSchema
) -> DataFrame:
    """All versions of a history target: ``key_0`` and so on, ``began_at`` and ``ended_at``."""
    keys = (F.col(quote(name)).alias(f"key_{number}") for number, name in enumerate(schema.key))
    return session.table(quote(catalog.name, *place.parts)).select(
        *keys,
        F.coalesce(POSITION, F.lit("")).alias("began_at"),
        F.col(END_POSITION).alias("ended_at"),
    )


def stored_beside(stored: DataFrame, asked: DataFrame, schema: TableSchema) -> DataFrame:
    """`read_stored` rows beside the rows of ``asked`` with their ``row_key``.

    Where ``asked`` is a plain scan with a predicate, as that of `read_unavailable` is, its runtime
    Bloom filter keeps all other rows out of the join, like in the merge
    (docs/adr/0002-one-guarded-merge.md).
    """
    stored_keys = [F.col(f"key_{number}") for number in range(len(schema.key))]
    wanted = [F.col("row_key")[name] for name in schema.key]
    same = [key == other for key, other in zip(stored_keys, wanted, strict=True)]
    if len(schema.key) > 1:  # one column alone filters nothing
        same.append(F.xxhash64(*stored_keys) == F.xxhash64(*wanted))
    return stored.join(asked, same).drop(*(f"key_{number}" for number in range(len(schema.key))))
