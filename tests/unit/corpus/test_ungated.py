"""A case without BEGIN and END is the same case at the same stages."""

from __future__ import annotations

from pathlib import Path

from tests.corpus.cases import read_case
from tests.corpus.pipeline import gate_of
from tests.corpus.source import Role, source_of
from tests.corpus.ungated import without_boundaries
from tidemark.model.cut import GateMode

CASES = Path(__file__).parents[2] / "corpus" / "cases"
INVENTORY = read_case(CASES / "recorded-debezium-mysql" / "my-inventory", "json-schema")


def test_boundaries_alone_are_gone() -> None:
    case = without_boundaries(INVENTORY)
    (topic,) = source_of(INVENTORY).topics(Role.TRANSACTIONS)
    assert gate_of(INVENTORY, source_of(INVENTORY)) is GateMode.TRANSACTION
    assert gate_of(case, source_of(case)) is GateMode.NONE
    assert case.records == tuple(one for one in INVENTORY.records if one.topic != topic)
    assert set(INVENTORY.partitions) - set(case.partitions) == {topic}
    for stage, whole in zip(case.stages, INVENTORY.stages, strict=True):
        kept = [one for one in INVENTORY.records[: whole.end] if one.topic != topic]
        assert list(case.records[: stage.end]) == kept
        assert stage.tables == whole.tables


def test_a_case_that_has_none_stays_as_it_is() -> None:
    case = without_boundaries(INVENTORY)
    assert without_boundaries(case) is case
