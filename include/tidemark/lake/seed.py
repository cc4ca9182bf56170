"""A new target that begins with the rows of a base, in its own columns, key and mode (KEEP-1)."""

from __future__ import annotations

from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidemark.errors import WAITING, TableStoppedError
from tidemark.lake import sql
from tidemark.lake.catalog import TableId, catalog_errors
from tidemark.lake.evolve import apply_changes
from tidemark.lake.publication import update_mains
from tidemark.lake.refs import RefUpdate
from tidemark.model.columns import POSITION, TableSchema
from tidemark.model.names import quote
from tidemark.model.position import Position
from tidemark.model.retention import Base
from tidemark.schema.changes import plan_changes


def make_seed(  # noqa: PLR0913  what is copied, from where and to where
    session: SparkSession,
    catalog: Catalog,
    current: TableId,
    base: Base,
    target: TableId,
    wanted: TableSchema,
    *,
    from_position: Position | None,
    branch: str,
) -> None:
    """Make ``target`` with the rows that ``current`` had at ``base``, as ``wanted`` has them.

    from_position: rows below it ended since and are not copied; None where all are. branch: of the
    attempt; main is made from it, by whichever attempt comes first. `SupersededError` in the
    others. `TableStoppedError` where two rows share a key.
    """
    rows = session.read.option("versionAsOf", base.snapshot).table(
        quote(catalog.name, *current.parts)
    )
    if base.schema.mode is not wanted.mode:
        rows = rows.where(base.schema.stands)
    if from_position is not None:
        rows = rows.where(F.col(POSITION) >= from_position)
    values = sql.seed_values(base.schema, wanted).items()
    seed = rows.select(*(F.expr(text).alias(name) for name, text in values))
    if wanted.in_target.key != base.schema.in_target.key:
        named = seed.where(wanted.stands).groupBy(*map(quote, wanted.in_target.key))
        if not named.count().where("count > 1").isEmpty():
            raise TableStoppedError(
                f"{current} as of cut {base.cut} has rows that the key {list(wanted.key)} does not "
                "tell apart",
                state=WAITING,
                next_step="declare another key: in the pipeline file, then refold again",
            )
    apply_changes(session, catalog, target, plan_changes(None, wanted), wanted)
    table = (catalog.name, *target.parts)
    session.sql(sql.create_branch(table, branch, None))
    seed.writeTo(quote(*table, f"branch_{branch}")).append()
    with catalog_errors(f"the making of {target}"):
        head = catalog.load_table(target.parts).refs()[branch].snapshot_id
    update_mains(catalog, [RefUpdate(target, None, head, (branch,))])
