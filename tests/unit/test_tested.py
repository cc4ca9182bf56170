"""What the pages call tested names a test that there is, and says of everything whether it is."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from tidemark.model.cut import GateMode

REPOSITORY = Path(__file__).parents[2]
PAGES = sorted((REPOSITORY / "docs").glob("*.md"))
NAMED = re.compile(r"`(tests/[\w/.-]+)(?:::(\w+))?`")
CATALOGS, STORES = ("PostgreSQL", "REST", "SQLite"), ("disk", "S3")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tests_that_a_page_names_exist(page: Path) -> None:
    for path, test in NAMED.findall(page.read_text("utf-8")):
        file = REPOSITORY / path
        assert file.exists(), f"{page.name} names {path}"
        assert not test or f"\ndef {test}(" in file.read_text("utf-8"), f"{path}::{test}"


def combinations() -> list[tuple[str, str, tuple[str, ...], str]]:
    """Catalog, store, gates, and what tests them."""
    page = (REPOSITORY / "docs" / "deployment.md").read_text("utf-8")
    section = page.partition("### Combinations\n")[2].partition("\n\n")[0]
    _, _, *rows = section.splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return [(c, s, tuple(re.findall(r"`(\w+)`", gates)), by) for c, s, gates, by in cells]


def test_each_combination_is_tested_or_called_untested_once() -> None:
    rows = combinations()
    named = [(catalog, store, gate) for catalog, store, gates, _ in rows for gate in gates]
    assert sorted(named) == sorted(itertools.product(CATALOGS, STORES, GateMode))
    for *_, by in rows:
        match = NAMED.fullmatch(by)
        assert by == "untested" or (match is not None and match[2]), by
