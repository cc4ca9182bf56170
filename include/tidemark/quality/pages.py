"""The HTML around Data Docs: one style, an index of audits, and nothing fetched from elsewhere.

Great Expectations' own page shells load styles, icons and the rows of the index from half a dozen
hosts, so without the internet they are blank, and with it they tell those hosts who reads them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from html import escape
from urllib.parse import quote

from tidemark.model.stored_state import Stored, from_stored, to_stored
from tidemark.model.verdict import CheckResult, Outcome, outcome_of

CUTS = "cuts"
"""The folder of audits, beside the index."""
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }
h1 { font-size: 1.4rem } h2, h5 { font-size: 1.1rem; margin: 1.6rem 0 .4rem }
table { border-collapse: collapse; width: 100%; margin: .4rem 0 1rem }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .6rem; text-align: left;
  vertical-align: top; overflow-wrap: break-word }
tr:hover td { background: var(--soft) }
ul { list-style: none; margin: 0; padding: 0 }
a { color: inherit } .ge-section p { margin: .2rem 0 }
.badge-secondary, code { background: var(--soft); border-radius: .2rem; padding: 0 .3rem }
.pass, .warn, .block { color: #fff; border-radius: .2rem; padding: .1rem .5rem }
.pass { background: #1a7f37 } .warn { background: #9a6700 } .block { background: #cf222e }
h1, h2, p { overflow-wrap: anywhere }
@media (max-width: 40rem) { table { display: block; overflow-x: auto } }
/* what is observed stands in the first table, for passed checks too */
.ge-section tr > :nth-child(3) { display: none }
i.text-success::before { content: "\\2714"; color: #1a7f37; font-style: normal }
i.text-danger::before { content: "\\2718"; color: #cf222e; font-style: normal }
"""


@dataclass(frozen=True, slots=True)
class AuditedTable:
    """One line of the index: how the suite of one table came out. page: relative to the index."""

    table: str
    suite: str
    outcome: Outcome
    checks: int
    failed: int
    page: str


@dataclass(frozen=True, slots=True)
class AuditedCut:
    """One part of the index. at: when the cut was audited, ISO 8601 in UTC."""

    name: str
    at: str
    tables: tuple[AuditedTable, ...]

    def to_json(self) -> str:
        """As kept beside the pages."""
        return json.dumps(to_stored(asdict(self)))

    @classmethod
    def from_json(cls, text: str) -> AuditedCut:
        """The reverse of `to_json`."""
        stored = from_stored(Stored.AUDIT, json.loads(text))
        tables = (
            AuditedTable(**{**table, "outcome": Outcome(table["outcome"])})
            for table in stored["tables"]
        )
        return cls(stored["name"], stored["at"], tuple(tables))


def page_of(cut: str, table: str) -> str:
    """Where the page of a table in the audit ``cut`` is, relative to the index."""
    return f"{CUTS}/{cut}/{table}.html"


def index_page(title: str, cuts: Sequence[AuditedCut]) -> str:
    """All kept audits, in the order given."""
    return _page(title, "".join(map(_cut_section, cuts)))


def table_page(
    audited: AuditedTable, cut: AuditedCut, checks: Iterable[CheckResult], body: str
) -> str:
    """What the suite of one table found. body: HTML that Great Expectations rendered."""
    about = (
        f"<p>{_badge(audited.outcome)} suite {escape(audited.suite)}, audit {escape(cut.name)} "
        f"at {escape(cut.at)}: {audited.failed} of {audited.checks} checks failed. "
        '<a href="../../index.html">All audits</a></p>'
    )
    rows = [
        [_badge(outcome_of([check])), escape(check.name), escape(check.observed)]
        for check in checks
    ]
    return _page(audited.table, about + _table(["Outcome", "Check", "Found"], rows) + body)


def _cut_section(cut: AuditedCut) -> str:
    rows = [
        [
            _badge(table.outcome),
            f'<a href="{escape(quote(table.page))}">{escape(table.table)}</a>',
            escape(table.suite),
            f"{table.failed} of {table.checks}",
        ]
        for table in cut.tables
    ]
    head = f"<h2>{escape(cut.name)} <small>{escape(cut.at)}</small></h2>"
    return head + _table(["Outcome", "Table", "Suite", "Failed checks"], rows)


def _badge(outcome: Outcome) -> str:
    return f'<span class="{outcome}">{outcome}</span>'


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of cells that are HTML already."""
    lines = [_row("th", head), *(_row("td", row) for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def _row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{cell}</{tag}>' for cell in cells)}</tr>"


def _page(title: str, body: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>\n{body}</body></html>\n"
    )
