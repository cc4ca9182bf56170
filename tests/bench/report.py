"""Figures for people, as one table, and for programs, as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.bench.figures import Figure
from tests.bench.setting import Setting

WIDTH = 120
VERDICTS: Mapping[bool | None, str] = {True: "met", False: "missed", None: ""}


def show(figures: Sequence[Figure], setting: Setting) -> None:
    """Print one line a figure: its median, the spread of its samples, and the target."""
    table = Table("measure", "figure", "median", "least", "most", "unit", "target", "")
    for column in table.columns[2:5]:
        column.justify = "right"
    for figure in figures:
        numbers = (figure.value, min(figure.samples), max(figure.samples))
        table.add_row(
            figure.benchmark,
            figure.name,
            *(f"{number:,.3g}" if abs(number) < 100 else f"{number:,.0f}" for number in numbers),
            figure.unit,
            str(figure.target or ""),
            VERDICTS[figure.is_met(setting.scale)],
        )
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    console.print(table)
    console.print(
        f"{setting.rounds} rounds on {setting.cores} cores of {setting.processor}; "
        f"load before {', '.join(f'{load:.1f}' for load in setting.load)}"
    )
    if setting.scale != 1:
        console.print(f"Targets are set for scale 1; nothing is judged at {setting.scale:g}.")


def write_json(file: Path, figures: Sequence[Figure], setting: Setting, command: str) -> None:
    """One object: how it was made, where, and every figure with its samples."""
    content = {
        "command": command,
        "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
        **asdict(setting),
        "figures": [_entry(figure, setting.scale) for figure in figures],
    }
    file.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _entry(figure: Figure, scale: float) -> Mapping[str, object]:
    return {
        "benchmark": figure.benchmark,
        "figure": figure.name,
        "value": figure.value,
        "unit": figure.unit,
        "samples": list(figure.samples),
        "target": str(figure.target) if figure.target else None,
        "met": figure.is_met(scale),
    }
