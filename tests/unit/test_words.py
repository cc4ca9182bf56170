"""Names and prose use the field's words: what a word of our own was replaced by stays replaced."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
MODULES = [file for folder in ("include", "dags", "jobs") for file in (ROOT / folder).rglob("*.py")]

# Words of a name, in their order, and the field's.
NAMES = {
    "set aside": "quarantined",
    "left out": "unavailable",
    "unsent": "unavailable",
    "misread": "conversion error",
    "misfit": "conversion error",
    "growth": "expansion (of partitions), widening (of types)",
    "tail": "fingerprint",
    "sight": "statistics",
    "survey": "profile",
    "guard": "window bound",
    "rekey": "key change",
    "rekeyed": "key changed",
    "park": "begin a cut-over",
    "parked": "begun cut-over",
    "shift": "column rename",
    "spelling": "column alias",
    "judged": "acknowledged",
    "doubt": "warning",
    "letter": "message",
    "ring": "table swap",
    "found": "the thing's name",
    "told": "declared, or the thing's name",
    "said": "the thing's name",
    "kept": "stored, remaining, newest",
    "wire": "encoding",
    "unfit": "not applicable",
}
TERMS = ("not found", "wire format")
"""The field's own, with words that say little alone."""
PHRASES = {
    r"set(s|ting)? (\w+ )?aside": "quarantine",
    r"read(s|ing)? (\w+ )?anew": "re-snapshot",
    r"st(and|ands|ood|anding) still": "blocked",
    r"beg(ins?|an|un|inning) anew": "start over",
    r"mend(s|ed|ing)?": "fix",
}
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


def words_of(name: str) -> str:
    words = " ".join(_WORD.findall(name)).lower()
    return re.sub("|".join(TERMS), "", words)


def replaced_names(text: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    names = {token.string for token in tokens if token.type == tokenize.NAME}
    return sorted(
        f"{name}: say {better}"
        for name in names
        for word, better in NAMES.items()
        if f" {word} " in f" {words_of(name)} "
    )


def replaced_phrases(text: str) -> list[str]:
    flat = " ".join(text.split())
    return sorted(
        f"{match.group()}: say {better}"
        for phrase, better in PHRASES.items()
        for match in re.finditer(rf"\b{phrase}\b", flat, re.IGNORECASE)
    )


def test_the_lint_finds_what_it_looks_for() -> None:
    assert replaced_names("class RowSight:\n    is_set_aside = misread_rows = sightless\n") == [
        "RowSight: say statistics",
        "is_set_aside: say quarantined",
        "misread_rows: say conversion error",
    ]
    assert replaced_phrases("It stands\nstill; read them anew. A mending set.") == [
        "mending: say fix",
        "read them anew: say re-snapshot",
        "stands still: say blocked",
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_use_the_words_of_the_field(page: Path) -> None:
    assert replaced_phrases(page.read_text()) == []


def test_names_use_the_words_of_the_field() -> None:
    found = {
        str(module.relative_to(ROOT)): replaced
        for module in MODULES
        if (replaced := replaced_names(module.read_text()))
    }
    assert found == {}


def test_modules_use_the_words_of_the_field() -> None:
    """Messages, docstrings and comments."""
    found = {
        str(module.relative_to(ROOT)): replaced
        for module in MODULES
        if (replaced := replaced_phrases(module.read_text()))
    }
    assert found == {}
