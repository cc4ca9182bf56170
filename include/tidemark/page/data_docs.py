"""Data Docs as the page serves them: the HTML files of a pipeline's folder, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tidemark.model.verdict import Verdict
from tidemark.quality.pages import page_of

INDEX = "index.html"


def find_page(folder: Path, path: str) -> Path | None:
    """The HTML file at ``path`` below ``folder``; None where there is none, or it is elsewhere."""
    try:
        file = (folder / path).resolve(strict=True)
        is_inside = file.is_relative_to(folder.resolve(strict=True))
    except (OSError, RuntimeError, ValueError):  # also a loop of links, or a NUL in the path
        return None
    return file if is_inside and file.suffix == ".html" and file.is_file() else None


def pages_of(folder: Path, verdicts: Iterable[Verdict | None]) -> frozenset[str]:
    """Where the pages of ``verdicts`` are, below ``folder``, of those that have one there."""
    pages = (page_of(verdict.audit, verdict.table) for verdict in verdicts if verdict)
    return frozenset(page for page in pages if find_page(folder, page))
