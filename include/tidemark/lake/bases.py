"""Bases of tables: states of their targets that stay readable, by a tag (KEEP-1).

What a base is, is kept in a property of the target, and goes with it wherever it is renamed to.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.update.snapshot import ManageSnapshots

from tidemark.lake.catalog import TableId, catalog_errors
from tidemark.lake.refs import REF_PREFIX, commit_refs
from tidemark.model.retention import Base

BASES = "tidemark.bases"


def tag_of(base: Base) -> str:
    """The tag that keeps what ``base`` is."""
    return f"{REF_PREFIX}base_{base.cut}"


def bases_in(table: Table) -> tuple[Base, ...]:
    """The bases of a table, oldest first; one whose tag somebody removed or moved is none."""
    stored = map(Base.from_json, json.loads(table.properties.get(BASES, "[]")))
    refs = {name: ref.snapshot_id for name, ref in table.refs().items()}
    return tuple(base for base in stored if refs.get(tag_of(base)) == base.snapshot)


def read_bases(catalog: Catalog, target: TableId) -> tuple[Base, ...]:
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
    lost = {base.cut for base in gone}

    def changed(refs: ManageSnapshots) -> ManageSnapshots:
        for base in made:
            refs = refs.create_tag(base.snapshot, tag_of(base))
        for tag in {tag_of(base) for base in gone} & table.refs().keys():
            refs = refs.remove_tag(tag)
        return refs

    def updates() -> dict[str, str]:
        bases = {base.cut: base for base in (*bases_in(table), *made) if base.cut not in lost}
        return {BASES: json.dumps([bases[cut].to_json() for cut in sorted(bases)])}

    commit_refs(table, f"the bases of {table.name()}", changed, updates=updates)
