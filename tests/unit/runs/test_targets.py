"""Which tables of the file are meant by names that records tell."""

from __future__ import annotations

from typing import Any

import pytest

from tidemark.lake.history import History
from tidemark.model.names import TableName
from tidemark.runs.targets import followed_targets, possible_names
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


@pytest.mark.parametrize(
    ("published", "found"),
    [
        ("", "shop__items items crm__orders"),
        ("crm.items:items", "shop__items items crm__orders"),
        ("shop.items:items crm.items:crm__items", "items crm__items crm__orders"),
        ("crm.items:Items", "shop__items Items crm__orders"),
    ],
)
def test_tables_of_one_name_get_targets_of_their_own(published: str, found: str) -> None:
    """What was published stays; a declared table comes first."""
    declared = pipeline("orders").model_copy(
        update={"tables": (pipeline("orders").tables[0].model_copy(update={"target": "orders"}),)}
    )
    folded = frozenset(
        (source, f"p.{target}")
        for source, _, target in (x.partition(":") for x in published.split())
    )
    tables = [TableName.parse(name) for name in ("shop.items", "crm.items", "crm.orders")]
    targets = followed_targets(declared, History(folded=folded), tables)
    assert [targets[table] for table in tables] == found.split()
