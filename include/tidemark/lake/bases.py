"""Bases of tables: states of their targets that stay readable, by a tag (KEEP-1).

What a base is, is kept in a property of the target, and goes with it wherever it is renamed to.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.update.snapshot import ManageSnapshots

from tidemark.errors import SupersededError
from tidemark.lake.catalog import TableId, catalog_errors, commit_errors
from tidemark.lake.refs import REF_PREFIX, TRIES
from tidemark.model.retention import Base

BASES = "tidemark.bases"


def tag_of(base: Base) -> str:
    """The tag that keeps what ``base`` is."""
    return f"{REF_PREFIX}base_{base.cut}"


def bases_in(table: Table) -> tuple[Base, ...]:
    """The bases of a table, oldest first; one whose tag somebody removed or moved is none."""
    told = map(Base.from_json, json.loads(table.properties.get(BASES, "[]")))
    refs = {name: ref.snapshot_id for name, ref in table.refs().items()}
    return tuple(base for base in told if refs.get(tag_of(base)) == base.snapshot)


def read_bases(catalog: SqlCatalog, target: TableId) -> tuple[Base, ...]:
    """The bases of ``target``, oldest first; none where it is not there."""
    with catalog_errors(f"the reading of {target}"):
        try:
            return bases_in(catalog.load_table(target.parts))
        except NoSuchTableError:
            return ()


def keep_bases(table: Table, made: Collection[Base], gone: Collection[Base]) -> None:
    """Tag the bases ``made`` and let those that are ``gone`` go, in one commit.

    `SupersededError` where somebody else commits time and again.
    """
    for tries_left in reversed(range(TRIES)):
        known = {base.cut: base for base in (*bases_in(table), *made)}
        kept = sorted(known.keys() - {base.cut for base in gone})
        tags = {tag_of(base) for base in gone} & table.refs().keys()
        try:
            with commit_errors(f"the bases of {table.name()}"), table.transaction() as change:
                refs = ManageSnapshots(transaction=change)
                for base in made:
                    refs = refs.create_tag(base.snapshot, tag_of(base))
                for tag in tags:
                    refs = refs.remove_tag(tag)
                refs.commit()
                change.set_properties({BASES: json.dumps([known[cut].to_json() for cut in kept])})
        except SupersededError:
            if not tries_left:
                raise
            table.refresh()
        else:
            return
