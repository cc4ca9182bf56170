from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest
from pyspark.sql import DataFrame

from tests.spark.quality.conftest import MARKER
from tidemark.errors import StorageError
from tidemark.quality.audit import SuiteRun, run_suite
from tidemark.quality.report import MAX_AUDITS, write_data_docs
from tidemark.spec.audit import SuiteSpec

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Text(HTMLParser):
    """The words and links of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.words: list[str] = []
        self.links: list[str] = []
        self.feed(page.read_text("utf-8"))

    def handle_data(self, data: str) -> None:
        self.words += data.split()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if name in ("href", "src") and value]

    def __str__(self) -> str:
        return " ".join(self.words)


def _run(changed: DataFrame, table: DataFrame, regex: str) -> SuiteRun:
    expectation = {
        "expect": "expect_column_values_to_match_regex",
        "arguments": {"column": "email", "regex": regex},
        "severity": "warning",
        "scope": "changed",
    }
    spec = SuiteSpec.model_validate({"suite": "people", "expectations": [expectation]})
    return run_suite(spec, changed=changed, table=table)


@pytest.fixture(scope="module")
def good(changed: DataFrame, table: DataFrame) -> SuiteRun:
    return _run(changed, table, ".")


@pytest.fixture(scope="module")
def bad(changed: DataFrame, table: DataFrame) -> SuiteRun:
    return _run(changed, table, "^<script>")


def test_outcome_of_every_table_stands_in_the_index_and_on_its_page(
    tmp_path: Path, good: SuiteRun, bad: SuiteRun
) -> None:
    runs = {"shop.people": bad, "shop.clients": good}
    index = write_data_docs(tmp_path / "shop", runs, cut="first", at=NOON)

    text = Text(index)
    assert index == tmp_path / "shop" / "index.html"
    assert "Audits of shop first 2026-03-01T12:00:00+00:00" in str(text)
    assert "pass shop.clients people 0 of 1 warn shop.people people 1 of 1" in str(text)
    pages = [Text(index.parent / link) for link in text.links]
    assert "warn suite people, audit first" in str(pages[1])
    assert "values must match this regular expression" in str(pages[1])
    assert "2 of 3 rows unexpected, 1 null and not checked" in str(pages[1])
    assert "pass suite people, audit first" in str(pages[0])


def test_pages_hold_no_value_no_foreign_host_and_no_markup_of_a_suite(
    tmp_path: Path, bad: SuiteRun
) -> None:
    write_data_docs(tmp_path, {"shop.people": bad}, cut="first", at=NOON)
    files = [file.read_text("utf-8") for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) == 3
    for text in files:
        assert MARKER not in text
        assert not re.search(r"https?://|src=|<script", text.replace("&lt;", ""))


def test_earlier_audits_are_kept_newest_first_and_bounded(tmp_path: Path, good: SuiteRun) -> None:
    names = [f"cut{number}" for number in range(MAX_AUDITS + 2)]
    for number, name in enumerate(names):
        at = NOON + timedelta(minutes=number)
        index = write_data_docs(tmp_path, {"shop.people": good}, cut=name, at=at)

    newest_first = names[::-1][:MAX_AUDITS]
    assert Text(index).links == [f"cuts/{name}/shop.people.html" for name in newest_first]
    assert {directory.name for directory in (tmp_path / "cuts").iterdir()} == set(newest_first)


def test_audit_repeated_under_its_name_replaces_itself(
    tmp_path: Path, good: SuiteRun, bad: SuiteRun
) -> None:
    write_data_docs(tmp_path, {"shop.people": bad}, cut="first", at=NOON)
    index = write_data_docs(tmp_path, {"shop.people": good}, cut="first", at=NOON)
    assert str(Text(index)).count("shop.people") == 1
    assert "pass shop.people" in str(Text(index))


def test_audit_that_was_not_written_to_its_end_is_not_shown(tmp_path: Path, good: SuiteRun) -> None:
    (tmp_path / "cuts" / "broken").mkdir(parents=True)
    index = write_data_docs(tmp_path, {"shop.people": good}, cut="first", at=NOON)
    assert "broken" not in str(Text(index))
    assert not (tmp_path / "cuts" / "broken").exists()


def test_folder_that_cannot_be_written_is_named(tmp_path: Path, good: SuiteRun) -> None:
    (tmp_path / "shop").write_text("a file", "utf-8")
    with pytest.raises(StorageError, match="shop"):
        write_data_docs(tmp_path / "shop", {"shop.people": good}, cut="first", at=NOON)
