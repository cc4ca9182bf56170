"""What a pipeline's own tables hold as a run begins: read once, and never again in it (PUB-8)."""

from __future__ import annotations

from dataclasses import dataclass

from pyiceberg.catalog import Catalog

from tidemark.lake.catalog import SystemTables
from tidemark.lake.landing import ChangelogHead, read_landed
from tidemark.lake.ledger import LedgerHead, read_ledger
from tidemark.lake.quarantine import read_quarantine


@dataclass(frozen=True, slots=True)
class Heads:
    """Where ``main`` of the ledger, the changelog and the quarantine stood, and what that told.

    What a run publishes builds on them; where one has moved meanwhile, the run is superseded.
    quarantine: a snapshot, None where nothing was ever quarantined.
    """

    ledger: LedgerHead
    changelog: ChangelogHead
    quarantine: int | None


def read_heads(catalog: Catalog, tables: SystemTables) -> Heads:
    """The heads as they are now.

    The ledger comes first: no cut is published of a landing that the changelog does not show.
    """
    ledger = read_ledger(catalog, tables)
    landed = read_landed(catalog, tables)
    quarantined = ledger.progress.quarantined
    return Heads(ledger, landed, read_quarantine(catalog, tables, quarantined))
