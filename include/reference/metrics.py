"""The table of metrics, from their catalogue, for docs/monitoring.md."""

from __future__ import annotations

from collections.abc import Iterator

from reference.pages import with_tables
from tidemark.model.metrics import CATALOGUE

_HEADER = ("| metric | type | labels | what |", "| --- | --- | --- | --- |")


def with_metrics(page: str) -> str:
    """``page`` with the catalogue between ``<!-- metrics: catalogue -->`` and its end."""
    return with_tables(page, "metrics", lambda _: _table())


def _table() -> Iterator[str]:
    yield from _HEADER
    for metric in CATALOGUE:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        yield f"| `{metric.name}` | {metric.type} | {labels} | {metric.help} |"
