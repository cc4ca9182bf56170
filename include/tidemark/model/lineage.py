"""Out of which topics and columns tables are made, and what their audits found, as values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from tidemark.model.column_rules import ColumnRules, Mask
from tidemark.model.names import SYSTEM_PREFIX, ColumnName, TableName, TopicName
from tidemark.model.offsets import Offsets
from tidemark.model.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Origin:
    """The source's column that a target's is made of. mask: what stands in place of its values."""

    column: ColumnName
    mask: Mask | None = None


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A target that a cut changed.

    target: namespace and table. location: where its files are. rows: that the cut inserted or
    updated. types: of its columns, in order. topic: that all records of the table are in; empty
    where several may have them. origins: of each column that is the source's.
    """

    target: str
    location: str
    snapshot_id: int
    rows: int
    types: Mapping[str, str]
    topic: str = ""
    origins: Mapping[str, Origin] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PublishedCut:
    """What a cut was made of and what it made. ends: next offsets of what is landed."""

    ends: Offsets
    tables: tuple[PublishedTable, ...]


@dataclass(frozen=True, slots=True)
class AuditedTable:
    """A target, where its files are, and what the audit of a staged snapshot found."""

    target: str
    location: str
    verdict: Verdict


def topic_of(table: TableName, topics: Collection[TopicName]) -> str:
    """The one of ``topics`` that is named after ``table``, as Debezium does; empty without one.

    >>> names = [TopicName(name) for name in ("a.shop.items", "a.shop.orders", "a")]
    >>> topic_of(TableName("shop", "items"), names), topic_of(TableName("shop", "a"), names)
    ('a.shop.items', '')
    """
    named = [topic for topic in topics if topic == str(table) or topic.endswith(f".{table}")]
    return named[0] if len(named) == 1 else ""


def origins_of(columns: Collection[str], rules: ColumnRules) -> dict[str, Origin]:
    """Of each of a target's ``columns`` that is not Tidemark's own, the source's column."""
    sources: dict[str, ColumnName] = {name: source for source, name in rules.renamed}
    origins = {}
    for name in columns:
        if not name.startswith(SYSTEM_PREFIX):
            source = sources.get(name, ColumnName(name))
            origins[name] = Origin(source, rules.mask(source))
    return origins
