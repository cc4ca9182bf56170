"""The pages say what the code says: rules, errors, and every field of the files."""

from __future__ import annotations

import inspect
import pkgutil
import re
from pathlib import Path

import pytest
import yaml

from reference.fields import with_fields
from reference.formats import KINDS, REASONS, with_formats
from reference.metrics import with_metrics
from reference.settings import with_settings
from reference.types import ENCODINGS, with_types
from tidemark import errors
from tidemark.errors import RetryableError, TerminalError, TidemarkError
from tidemark.model.columns import ValueEncoding
from tidemark.model.event import Kind, Reason
from tidemark.model.metrics import CATALOGUE
from tidemark.spec import load_pipeline

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
HABITS = REPOSITORY / ".github"
RULE = re.compile(
    r"\b(ACC|DUP|ERASE|FEED|GATE|KEEP|KEY|MASK|MSG|POISON|POS|PUB|REFOLD|SCHEMA|SNAP|TOP|TRUNC|TYPE|UNAV)-([A-Z]?)(\d+)\b"
)
ERRORS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, TidemarkError)
    and kind not in {TidemarkError, RetryableError, TerminalError}
]


def rules(text: str) -> list[tuple[str, str, int]]:
    """The rules that ``text`` names: family, letter and number."""
    return [(family, message, int(number)) for family, message, number in RULE.findall(text)]


def test_every_rule_that_is_cited_is_explained_and_the_reverse() -> None:
    rows = re.findall(r"^\| (\S+-[A-Z]?\d+) \|", (DOCS / "concepts.md").read_text("utf-8"), re.M)
    explained = rules("\n".join(rows))
    cited = {
        rule
        for folder in ("include", "jobs", "dags", "tests")
        for file in (REPOSITORY / folder).rglob("*.py")
        for rule in rules(file.read_text("utf-8"))
    }
    assert cited ^ set(explained) == set()
    assert len(explained) == len(rows)
    assert explained == sorted(explained)


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_says_what_to_do(kind: type[TidemarkError]) -> None:
    section = re.search(
        rf"^### {kind.__name__}\n(\w+)", (DOCS / "troubleshooting.md").read_text("utf-8"), re.M
    )
    assert section is not None
    assert section[1] == ("Retried" if issubclass(kind, RetryableError) else "Stops")


def test_tables_of_fields_are_those_of_the_models() -> None:
    for name in ("configure.md", "quality.md"):
        page = (DOCS / name).read_text("utf-8")
        assert with_fields(page) == page, "make tables"


def test_tables_of_types_are_those_of_the_decoders() -> None:
    page = (DOCS / "types.md").read_text("utf-8")
    assert with_types(page) == page, "make tables"
    assert ENCODINGS.keys() == set(ValueEncoding)


def test_tables_of_formats_are_those_of_the_decoders() -> None:
    page = (DOCS / "formats.md").read_text("utf-8")
    assert with_formats(page) == page, "make tables"
    assert KINDS.keys() == set(Kind)
    assert REASONS.keys() == set(Reason)


def test_table_of_metrics_is_that_of_the_catalogue() -> None:
    page = (DOCS / "monitoring.md").read_text("utf-8")
    assert with_metrics(page) == page, "make tables"
    assert all(f"| `{metric.name}` |" in page for metric in CATALOGUE)


def test_settings_of_connectors_are_those_that_are_judged() -> None:
    page = (DOCS / "sources.md").read_text("utf-8")
    assert with_settings(page) == page, "make tables"


def test_what_texts_name_of_the_package_is_there() -> None:
    package = REPOSITORY / "include" / "tidemark"
    rooms = "|".join(sorted(file.parent.name for file in package.glob("*/__init__.py")))
    reference = re.compile(rf"(?<!`)`((?:{rooms})\.[\w.]+)`(?!`)")
    pages = [*package.rglob("*.py"), *(REPOSITORY / "tests").rglob("*.py"), *DOCS.rglob("*.md")]
    named = {name for page in pages for name in reference.findall(page.read_text("utf-8"))}
    named -= {"jars.xml", "jars.lock"}  # files of the room of that name
    named -= {"schema.history.internal.skip.unparseable.ddl"}  # a setting of Debezium's
    assert named
    for name in sorted(named):
        pkgutil.resolve_name(f"tidemark.{name}")


def places(page: Path) -> set[str]:
    """What links may name of ``page``: its headings, as GitHub does, and its own marks."""
    text = page.read_text("utf-8")
    headings = (re.sub(r"[^\w -]", "", name) for name in re.findall(r"^#+ (.+)$", text, re.M))
    return {name.lower().replace(" ", "-") for name in headings} | set(
        re.findall(r'<a id="(\S+)"', text)
    )


def test_pages_link_to_what_is_there() -> None:
    for page in [REPOSITORY / "README.md", *DOCS.rglob("*.md"), *HABITS.glob("*.md")]:
        for file, place in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text("utf-8")):
            target = page.parent / file if file else page
            assert target.exists(), f"{page.name} links to {file}"
            assert not place or place in places(target), f"{page.name} links to {file}#{place}"


def test_files_that_the_guide_for_contributors_names_are_there() -> None:
    guide = (HABITS / "CONTRIBUTING.md").read_text("utf-8")
    named = re.findall(r"\b(?:dags|docs|include|jobs|tests)/[\w./-]*\w", guide)
    assert [name for name in named if not (REPOSITORY / name).exists()] == []


def test_hosted_ci_runs_what_has_to_pass() -> None:
    required = re.search(r"^exec make (.+)$", (REPOSITORY / ".ci" / "run").read_text("utf-8"), re.M)
    assert required is not None
    verbs = {
        name: yaml.safe_load((HABITS / "workflows" / name).read_text("utf-8"))["jobs"]["make"][
            "strategy"
        ]["matrix"]["verb"]
        for name in ("ci.yml", "nightly.yml")
    }
    assert verbs["ci.yml"] == [*required[1].split(), "scenarios"]
    listed = re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text("utf-8"), re.M)
    assert {*verbs["ci.yml"], *verbs["nightly.yml"]} <= set(listed)


def test_glossary_counts_its_own_words() -> None:
    page = (DOCS / "glossary.md").read_text("utf-8")
    own = page.partition("## Tidemark's own words")[2].partition("\n## ")[0]
    words = [row for row in re.findall(r"^\| (.+?) \|", own, re.M) if row not in {"word", "---"}]
    assert f"Home-made words: {len(words)}." in own
    assert words == sorted(words, key=str.lower)
    assert len(words) < 35


def test_readme_is_short_and_its_pipeline_is_valid(tmp_path: Path) -> None:
    page = (REPOSITORY / "README.md").read_text("utf-8")
    assert len(page.splitlines()) < 150
    block = re.search(r"^```yaml\n(.*?)^```", page, re.M | re.S)
    assert block is not None
    file = tmp_path / "shop.yaml"
    file.write_text(block[1], "utf-8")
    assert load_pipeline(file).name == "shop"
