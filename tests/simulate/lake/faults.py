"""Faults that interleavings must find: of the product's decisions, and of what it relies on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest
from pyiceberg.table import Table

from tests.simulate.lake import actors
from tests.simulate.lake.store import Files, MemoryPublication, Store
from tidemark.lake import publication, refs
from tidemark.lake.due import Due
from tidemark.lake.refs import ancestors, main_head

Plant = Callable[[pytest.MonkeyPatch], None]


def _expiry_without_branches(patch: pytest.MonkeyPatch) -> None:
    def main_alone(table: Table, before_ms: int) -> set[int]:
        lineage = list(ancestors(table, main_head(table)))
        return {one.snapshot_id for one in lineage if one.timestamp_ms >= before_ms} | {
            one.snapshot_id for one in lineage[:1]
        }

    patch.setattr(actors, "retained", main_alone)


def _orphans_of_any_age(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(actors, "POLICY", replace(actors.POLICY, orphan_days=0))


def _rewrite_over_newer_rows(patch: pytest.MonkeyPatch) -> None:
    def holds(_store: Store, _table: Table, _before: Files) -> bool:
        return True

    patch.setattr(actors, "holds", holds)


def _swap_without_comparison(patch: pytest.MonkeyPatch) -> None:
    def swap(made: MemoryPublication) -> bool:
        for move, metadata in zip(made._due, made._after, strict=True):  # noqa: SLF001
            name = move.ref_update.published_as
            made._store._stand(name, metadata, move.table.metadata_location)  # noqa: SLF001
        return True

    patch.setattr(MemoryPublication, "swap", swap)


def _half_a_swap(patch: pytest.MonkeyPatch) -> None:
    whole = MemoryPublication.__init__

    def half(made: MemoryPublication, store: Store, due: Sequence[Due]) -> None:
        whole(made, store, due[:1])

    patch.setattr(MemoryPublication, "__init__", half)


def _no_publication_behind_a_rewrite(patch: pytest.MonkeyPatch) -> None:
    def is_the_same(table: Table, since: int | None) -> bool:
        return main_head(table) == since

    patch.setattr(publication, "is_only_rewritten", is_the_same)
    patch.setattr(publication, "descends", lambda *_: False)


def _foreign_rewrites(patch: pytest.MonkeyPatch) -> None:
    def is_another(table: Table, published: object) -> str:
        is_known = published is None or main_head(table) == getattr(published, "snapshot", None)
        return "" if is_known else "somebody rewrote it"

    patch.setattr(actors, "foreign_change", is_another)


def _refs_of_living_attempts_go(patch: pytest.MonkeyPatch) -> None:
    dropped = refs.drop_dead_refs
    patch.setattr(refs, "drop_dead_refs", lambda table, number: dropped(table, number + 1))


def _refs_of_dead_attempts_stay(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(refs, "drop_dead_refs", lambda *_: None)


@dataclass(frozen=True)
class Fault:
    """Something that is done wrongly; seed: of interleavings that find it soon."""

    name: str
    plant: Plant
    seed: int = 1


SEEDS = {_rewrite_over_newer_rows: 601}
FAULTS = tuple(
    Fault(plant.__name__.strip("_").replace("_", " "), plant, SEEDS.get(plant, 1))
    for plant in (
        _expiry_without_branches,
        _orphans_of_any_age,
        _rewrite_over_newer_rows,
        _swap_without_comparison,
        _half_a_swap,
        _no_publication_behind_a_rewrite,
        _foreign_rewrites,
        _refs_of_living_attempts_go,
        _refs_of_dead_attempts_stay,
    )
)


@contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """Have everything done with ``fault``."""
    with pytest.MonkeyPatch.context() as patch:
        fault.plant(patch)
        yield
