"""The form of operator actions: what does not fit is refused before anything is opened."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.trigger_form import untouched
from tidemark.errors import UNCHANGED, ActionRefusedError
from tidemark.scheduling.actions import LABELS, Action, act
from tidemark.scheduling.dags import build_action_dag
from tidemark.spec import load_pipelines

(PIPELINE, *_) = load_pipelines()
PARAMS = build_action_dag(PIPELINE).params
FORM = untouched({name: PARAMS.get_param(name).dump() for name in PARAMS})
ERASED = {"table": "shop.items", "keys": "march.jsonl", "reason": "requests of March"}
SKIPPED = {"statement": "00000001", "reason": "no rows", "confirm": True}


def refusal(**answers: Any) -> str:
    """Why the form is refused with these fields filled in; no world is there to be asked."""
    with pytest.raises(ActionRefusedError) as error:
        act(PIPELINE, None, {**FORM, **answers})  # type: ignore[arg-type]
    return str(error.value)


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({}, "the form names no action"),
        ({"action": "accept"}, "the action 'accept' needs reason"),
        ({"action": "accept", "reason": "  "}, "the action 'accept' needs reason"),
        ({"action": "skip statement", "reason": "x"}, "needs statement"),
        ({"action": "skip transaction", "table": "a.b", "transaction": "7"}, "takes no table"),
        ({"action": "quarantine list", "record": "topic:one:2"}, "no TOPIC:PARTITION:OFFSET"),
        ({"action": "quarantine replay", "table": "x"}, "'x' is no DATABASE.TABLE"),
        ({"action": "quarantine drop", "reason": "old"}, "cannot be undone, and is not confirmed"),
        ({"action": "handover gap"}, "cannot be undone, and is not confirmed"),
        ({"action": "erase", "table": "a.b", "reason": "x"}, "the action 'erase' needs keys"),
        ({"action": "erase", **ERASED, "confirm": None}, "is not confirmed"),
        ({"action": "skip statement", **SKIPPED, "confirm": None}, "is not confirmed"),
    ],
)
def test_fields_that_do_not_fit_are_refused(answers: dict[str, Any], why: str) -> None:
    message = refusal(**answers)
    assert why in message
    assert f"state: {UNCHANGED}" in message
    assert "next:  trigger " in message


def test_every_action_has_a_label_and_is_offered() -> None:
    assert set(LABELS) == set(Action)
    schema = PARAMS.get_param("action").schema
    assert schema["enum"] == [None, *Action]
    assert set(schema["values_display"]) == set(Action)


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ("march.jsonl", "cannot be read as keys: No such file or directory"),
        ("broken.jsonl", "cannot be read as keys: line 2 is no JSON"),
        ("empty.jsonl", "cannot be read as keys: it has no keys"),
        ("../erase/good.jsonl", "what stands in keys is no name of a file alone"),
        ('{"id": 4711}', "what stands in keys is no name of a file alone"),
    ],
)
def test_keys_stand_in_a_file_and_in_no_message(tmp_path: Path, keys: str, why: str) -> None:
    """ERASE-1: Airflow keeps what is typed into a form, and the logs of tasks."""
    (tmp_path / "erase").mkdir()
    (tmp_path / "erase" / "broken.jsonl").write_text('{"id": 4711}\n{"id": 4711\n')
    (tmp_path / "erase" / "empty.jsonl").write_text("\n")
    installation = SimpleNamespace(state=tmp_path)
    asked = {**FORM, "action": "erase", **ERASED, "keys": keys, "confirm": True}
    with pytest.raises(ActionRefusedError) as error:
        act(PIPELINE, SimpleNamespace(installation=installation), asked)  # type: ignore[arg-type]
    assert why in str(error.value)
    assert "4711" not in str(error.value)
