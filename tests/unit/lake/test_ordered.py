"""PUB-8: an order and a cut that is published while it is made do not undo each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.support.marks import append_published
from tidemark.lake.catalog import SystemTables
from tidemark.lake.ledger import (
    ORDER,
    PROGRESS,
    SCHEMA,
    read_progress,
    record_action,
)
from tidemark.lake.refs import summary_value
from tidemark.model.names import PipelineName
from tidemark.model.progress import Progress

SYSTEM = SystemTables.of(PipelineName("p"))


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    return SqlCatalog(
        "lake", uri=f"sqlite:///{tmp_path}/catalog.db?timeout=30", warehouse=str(tmp_path)
    )


def quiet(progress: Progress) -> Progress:
    return replace(progress, quiet_settles=True)


def test_order_is_kept_with_the_progress_that_it_changed(catalog: SqlCatalog) -> None:
    record_action(catalog, SYSTEM, quiet, "an order")
    ledger = catalog.load_table(SYSTEM.ledger.parts)
    snapshot = ledger.current_snapshot()
    assert snapshot is not None
    assert summary_value(snapshot, ORDER) == "an order"
    assert set(ledger.refs()) == {"main"}
    assert read_progress(catalog, SYSTEM) == quiet(Progress())


def test_cut_that_is_published_meanwhile_stays(catalog: SqlCatalog) -> None:
    """pyiceberg would append the order behind it, with the progress of before the cut."""
    record_action(catalog, SYSTEM, quiet, "an order")
    decided_by: list[Progress] = []

    def beside_a_cut(progress: Progress) -> Progress:
        decided_by.append(progress)
        if len(decided_by) == 1:
            ledger = catalog.load_table(SYSTEM.ledger.parts)
            published = {PROGRESS: replace(progress, cut=7).to_json()}
            append_published(catalog, ledger, SCHEMA.empty_table(), published)
        return replace(progress, landing=3)

    record_action(catalog, SYSTEM, beside_a_cut, "another order")
    assert [progress.cut for progress in decided_by] == [0, 7]
    assert read_progress(catalog, SYSTEM) == replace(quiet(Progress()), cut=7, landing=3)
