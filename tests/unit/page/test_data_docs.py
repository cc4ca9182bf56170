"""Which files the page serves as Data Docs: those of the pipeline's folder, whatever is asked."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tidemark.model.verdict import Outcome, Verdict
from tidemark.page.data_docs import find_page, pages_of
from tidemark.quality.pages import AuditedCut, AuditedTable, index_page, page_of

AUDITED = Verdict("shop.orders", 7, "orders", (), audit="tidemark_3_a")
PAGE = page_of(AUDITED.audit, AUDITED.table)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The Data Docs of the pipeline ``shop``, beside another's and what is nobody's to see."""
    docs = tmp_path / "data_docs" / "shop"
    for file in (docs / "index.html", docs / PAGE, tmp_path / "data_docs" / "zoo" / "index.html"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("<p>what was found</p>")
    (docs / PAGE).with_name("audit.json").write_text("{}")
    (docs / ".index.html.draft").write_text("half a page")
    (tmp_path / "secret.html").write_text("secret")
    (docs / "leads_out.html").symlink_to(tmp_path / "secret.html")
    (docs / "away").symlink_to(tmp_path)
    (docs / "loop.html").symlink_to(docs / "loop.html")
    (docs / "folder.html").mkdir()
    return docs


@pytest.mark.parametrize("path", ["index.html", "index.html/", PAGE, "cuts/../index.html"])
def test_pages_below_the_folder_are_served(folder: Path, path: str) -> None:
    assert find_page(folder, path) is not None


@pytest.mark.parametrize(
    "path",
    [
        *("", ".", "..", "/", "cuts", "missing.html", "folder.html"),
        *("../zoo/index.html", "../shop/../zoo/index.html", "cuts/../../zoo/index.html"),
        *("../../secret.html", "cuts/../../../secret.html", "away/secret.html"),
        *("/etc/passwd", "//etc/passwd", "..%2fzoo%2findex.html", "..\\zoo\\index.html"),
        *("index.html\0", "\0", "a" * 5000, f"{'../' * 3000}etc/passwd", "~/index.html"),
        *("leads_out.html", "loop.html", ".index.html.draft", "cuts/tidemark_3_a/audit.json"),
        "index.html/..",
    ],
)
def test_whatever_else_is_asked_for_is_not_there(folder: Path, path: str) -> None:
    assert find_page(folder, path) is None


def test_without_a_folder_there_are_no_pages(tmp_path: Path) -> None:
    assert find_page(tmp_path / "nowhere", "index.html") is None


def test_a_verdict_is_linked_where_its_own_page_is(folder: Path) -> None:
    """Another audit of the table may have one, and suites that are ``none`` have none."""
    older = Verdict("shop.orders", 6, "orders", (), audit="tidemark_2_a")
    assert pages_of(folder, [AUDITED, older, None]) == {PAGE}


def test_the_index_leads_to_pages_whatever_tables_are_called(folder: Path) -> None:
    name = 'shop.a#b?c=100%&"d"'
    page = page_of("tidemark_3_a", name)
    table = AuditedTable(name, "orders", Outcome.PASS, 1, 0, page)
    html = index_page("Audits", [AuditedCut("tidemark_3_a", "2026-01-01T00:00:00Z", (table,))])
    (href,) = re.findall(r'<a href="([^"]*)">', html)
    parts = urlsplit(unescape(href))
    assert (unquote(parts.path), parts.query, parts.fragment) == (page, "", "")
    (folder / page).write_text("found")
    assert find_page(folder, unquote(parts.path)) is not None
