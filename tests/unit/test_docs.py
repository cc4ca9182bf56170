"""The pages say what the code says: rules, errors, and every field of the files."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from tidemark import errors
from tidemark.errors import RetryableError, TerminalError, TidemarkError
from tidemark.formats.format_tables import KINDS, REASONS, with_formats
from tidemark.model.columns import Wire
from tidemark.model.event import Kind, Reason
from tidemark.schema.type_tables import WIRES, with_types
from tidemark.spec.field_tables import with_fields

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
RULE = re.compile(
    r"\b(?:ACC|DUP|GATE|KEY|MSG|POISON|POS|PUB|SCHEMA|TOP|TRUNC|TYPE|UNAV)-[A-Z]?\d+\b(?!:)"
)
ERRORS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, TidemarkError)
    and kind not in {TidemarkError, RetryableError, TerminalError}
]


def test_every_rule_that_is_cited_is_explained() -> None:
    explained = set(
        re.findall(r"^\| (\S+-[A-Z]?\d+) \|", (DOCS / "concepts.md").read_text("utf-8"), re.M)
    )
    cited = {
        rule
        for folder in ("include", "jobs", "dags", "tests")
        for file in (REPOSITORY / folder).rglob("*.py")
        for rule in RULE.findall(file.read_text("utf-8"))
    }
    assert cited - explained == set()


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_says_what_to_do(kind: type[TidemarkError]) -> None:
    section = re.search(
        rf"^### {kind.__name__}\n(\w+)", (DOCS / "operate.md").read_text("utf-8"), re.M
    )
    assert section is not None
    assert section[1] == ("Retried" if issubclass(kind, RetryableError) else "Stops")


def test_tables_of_fields_are_those_of_the_models() -> None:
    page = (DOCS / "configure.md").read_text("utf-8")
    assert with_fields(page) == page, "python -m tidemark.spec.field_tables docs/configure.md"


def test_tables_of_types_are_those_of_the_decoders() -> None:
    page = (DOCS / "types.md").read_text("utf-8")
    assert with_types(page) == page, "python -m tidemark.schema.type_tables docs/types.md"
    assert WIRES.keys() == set(Wire)


def test_tables_of_formats_are_those_of_the_decoders() -> None:
    page = (DOCS / "formats.md").read_text("utf-8")
    assert with_formats(page) == page, "python -m tidemark.formats.format_tables docs/formats.md"
    assert KINDS.keys() == set(Kind)
    assert REASONS.keys() == set(Reason)


def test_pages_link_to_files_that_are_there() -> None:
    for page in [REPOSITORY / "README.md", *DOCS.rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"
