from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tidemark.model.column_rules import ColumnRules, Mask
from tidemark.model.names import ColumnName
from tidemark.spec.target_columns import TargetColumnsSpec


@pytest.mark.parametrize(
    ("declared", "at"),
    [
        pytest.param({"include": ["a"], "exclude": ["b"]}, ("exclude",), id="both"),
        pytest.param({"include": ["a", "a"]}, ("include", 1), id="included twice"),
        pytest.param({"hash": ["a"], "redact": ["b", "a"]}, ("redact", 1), id="two masks"),
        pytest.param({"rename": {"a": "x", "b": "x"}}, ("rename", "b"), id="one name for two"),
        pytest.param({"exclude": ["a"], "hash": ["b", "a"]}, ("hash", 1), id="hashed but gone"),
        pytest.param(
            {"include": ["a"], "rename": {"b": "x"}}, ("rename", "b"), id="named but gone"
        ),
    ],
)
def test_rules_that_contradict_one_another(
    declared: dict[str, Any], at: tuple[str | int, ...]
) -> None:
    with pytest.raises(ValidationError) as refused:
        TargetColumnsSpec.model_validate(declared)
    assert [fault["loc"] for fault in refused.value.errors()] == [at]


def test_what_rules_say_of_a_column() -> None:
    declared = {"exclude": ["a"], "rename": {"b": "a"}, "hash": ["b"], "redact": ["c"]}
    rules = TargetColumnsSpec.model_validate(declared).rules
    names = [ColumnName(name) for name in "abcd"]
    assert [rules.target_name(name) for name in names] == [None, "a", "c", "d"]
    assert [rules.mask(name) for name in names] == [None, Mask.HASH, Mask.REDACT, None]
    assert [name for name in names if rules.keeps_readable(name)] == ["d"]
    assert ColumnRules.from_json(rules.to_json()) == rules
