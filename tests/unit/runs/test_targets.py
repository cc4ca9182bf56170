"""Which tables of the file are meant by names that records tell."""

from __future__ import annotations

from typing import Any

import pytest

from tidemark.runs.targets import possible_names
from tidemark.spec import PipelineSpec


def pipeline(*tables: str) -> PipelineSpec:
    """Of ``source`` or ``source was``."""
    declared: list[dict[str, Any]] = [
        {"source": f"shop.{one[0]}", "target": f"t{number}", "expectations": "none"}
        | ({"was": f"shop.{one[2]}"} if len(one) > 1 else {})
        for number, one in enumerate(tables)
    ]
    return PipelineSpec.model_validate(
        {
            "name": "p",
            "description": "a test",
            "owner": "tests",
            "schedule": None,
            "source": {"format": "debezium-mysql", "gate": "none", "topics": {"data": ["t"]}},
            "tables": declared,
        }
    )


@pytest.mark.parametrize(
    ("tables", "told", "names"),
    [
        pytest.param(["a"], "a", "a", id="no other name"),
        pytest.param(["b a"], "a", "b", id="renamed"),
        pytest.param(["b a"], "b", "b", id="by its new name"),
        pytest.param(["b a", "a b"], "a", "a b", id="exchanged"),
        pytest.param(["b a", "a b", "c"], "b c", "a b c", id="exchanged, and another one"),
    ],
)
def test_a_transaction_that_was_given_up_names_tables(
    tables: list[str], told: str, names: str
) -> None:
    """GATE-T8, SCHEMA-31, SCHEMA-34."""
    found = possible_names(pipeline(*tables), {f"shop.{one}" for one in told.split()})
    assert found == {f"shop.{one}" for one in names.split()}
