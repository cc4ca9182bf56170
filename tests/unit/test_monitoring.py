"""Dashboard and alert rules name metrics, labels and commands that there are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tidemark.cli.app import app
from tidemark.model.metrics import CATALOGUE

DOCS = Path(__file__).parents[2] / "docs"
METRICS = {metric.name: metric for metric in CATALOGUE}
RULES = [
    rule
    for group in yaml.safe_load((DOCS / "prometheus-rules.yaml").read_text())["groups"]
    for rule in group["rules"]
]
DASHBOARD = json.loads((DOCS / "grafana-dashboard.json").read_text())
TARGETS = [(panel["title"], target) for panel in DASHBOARD["panels"] for target in panel["targets"]]
each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
each_target = pytest.mark.parametrize(("title", "target"), TARGETS)


def named(expression: str) -> set[str]:
    """The metrics of ours in an expression."""
    return set(re.findall(r"\btidemark_\w+", expression))


def labels(expression: str) -> set[str]:
    """The labels that every metric in ``expression`` has."""
    return set.intersection(*(set(METRICS[name].labels) for name in named(expression)))


def shown(text: str) -> Iterator[str]:
    """The labels that a template of Prometheus or Grafana shows."""
    yield from re.findall(r"\{\{ ?(?:\$labels\.)?([a-z_]+) ?\}\}", text)


@each_rule
def test_rules_ask_for_metrics_that_there_are(rule: dict[str, Any]) -> None:
    names = named(rule["expr"])
    assert names <= METRICS.keys()
    assert names or rule["alert"] == "TidemarkMetricsOld"


@each_rule
def test_rules_show_labels_that_their_metrics_have(rule: dict[str, Any]) -> None:
    texts = " ".join(rule["annotations"].values())
    known = labels(rule["expr"]) if named(rule["expr"]) else {"instance"}
    assert set(shown(texts)) <= known


@each_rule
def test_rules_name_commands_that_there_are(rule: dict[str, Any]) -> None:
    verbs = {command.name or command.callback.__name__ for command in app.registered_commands}  # type: ignore[union-attr]
    verbs |= {group.name or "" for group in app.registered_groups}
    program, verb, *_ = rule["annotations"]["next"].split()
    assert program == "tidemark"
    assert verb in verbs


@each_target
def test_panels_ask_for_metrics_that_there_are(title: str, target: dict[str, str]) -> None:
    assert named(target["expr"]), title
    assert named(target["expr"]) <= METRICS.keys(), title
    assert set(shown(target["legendFormat"])) <= labels(target["expr"]), title


def test_panels_have_places_of_their_own() -> None:
    places = [
        (panel["gridPos"]["x"] + column, panel["gridPos"]["y"] + row)
        for panel in DASHBOARD["panels"]
        for column in range(panel["gridPos"]["w"])
        for row in range(panel["gridPos"]["h"])
    ]
    assert len(places) == len(set(places))
    assert max(column for column, _ in places) < 24
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(numbers) == len(set(numbers))


def test_every_metric_of_a_pipeline_is_seen_somewhere() -> None:
    """What neither alerts nor is drawn is there for whoever asks; it is a short list."""
    expressions = [rule["expr"] for rule in RULES] + [target["expr"] for _, target in TARGETS]
    unseen = METRICS.keys() - named(" ".join(expressions))
    assert unseen == {
        "tidemark_cut_publish_delay_seconds",
        "tidemark_pipeline_freshness_seconds",
        "tidemark_table_complete_timestamp_seconds",
    }


def test_the_page_tells_how_to_use_both() -> None:
    page = (DOCS / "monitoring.md").read_text("utf-8")
    assert "](prometheus-rules.yaml)" in page
    assert "](grafana-dashboard.json)" in page
    assert [rule["alert"] for rule in RULES] == re.findall(r"^\| `(Tidemark\w+)` \|", page, re.M)
