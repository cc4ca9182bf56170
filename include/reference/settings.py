"""The table of what a connector's settings cost, from the rules themselves, for docs/sources.md."""

from __future__ import annotations

from collections.abc import Iterator

from reference.pages import with_tables
from tidemark.spec.connector import BINLOG, POSTGRES
from tidemark.spec.connector_rules import RULES, Rule


def with_settings(page: str) -> str:
    """``page`` with the table of settings as the rules have them."""
    return with_tables(page, "settings", lambda _: _table())


def _table() -> Iterator[str]:
    yield "| setting | as | costs | instead |"
    yield "| --- | --- | --- | --- |"
    for rule in RULES:
        cells = (_named(rule), rule.when, _plain(rule.cost), _plain(rule.fix))
        yield f"| {' | '.join(cells)} |"


def _named(rule: Rule) -> str:
    only = {BINLOG: " (MySQL, MariaDB)", POSTGRES: " (PostgreSQL)"}
    return f"`{rule.name}`{only.get(frozenset(rule.formats), '')}"


def _plain(text: str) -> str:
    return text.replace("the operations {value}", "operations that it names").replace(
        "{value}", "its value"
    )
