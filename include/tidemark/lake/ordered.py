"""What a person orders between two cuts: appended to main as it was read, or not at all.

An append by pyiceberg goes in behind that of another writer: an order that was made from the
progress of before a cut would put that progress in the cut's place.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from tidemark.errors import OutcomeUnknownError, SupersededError
from tidemark.lake.catalog import TableId, commit_errors
from tidemark.lake.refs import Move, attempt_ref, create_branch, main_head, move_mains
from tidemark.model.names import AttemptId


def append_ordered(
    catalog: SqlCatalog, table: Table, rows: pa.Table, cut: int, summary: Mapping[str, str]
) -> None:
    """Append ``rows`` with ``summary`` behind main of ``table``, which is not read anew.

    cut: the newest that is published; what an order that failed leaves goes with the cut after the
    next. `SupersededError`: main moved since the table was read. `OutcomeUnknownError`: the catalog
    may carry the order out yet (PUB-5).
    """
    namespace, name = table.name()
    base, branch = (
        main_head(table),
        attempt_ref(cut + 1, AttemptId(f"order_{secrets.token_hex(6)}")),
    )
    create_branch(table, branch)
    with commit_errors("the writing of an order"):
        table.append(rows, snapshot_properties=dict(summary), branch=branch)
    snapshot = table.refs()[branch].snapshot_id
    try:
        move_mains(catalog, [Move(TableId(namespace, name), base, snapshot, (branch,))])
    except SupersededError as error:
        raise SupersededError(
            f"{namespace}.{name} was changed while the order was written",
            state="this order is not recorded",
            next_step="look what was recorded meanwhile, tidemark status, and order again",
        ) from error
    except OutcomeUnknownError as error:
        raise OutcomeUnknownError(
            f"the catalog did not say whether the order was recorded: {error.what}",
            state="the order is recorded or not, now or within a minute; nothing was deleted",
            next_step="look whether it is, tidemark status, before you order it again",
        ) from error
