"""A Debezium connector as Kafka Connect has it, and which topics and tables are its."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidemark.model.names import TableName
from tidemark.spec.references import is_secret
from tidemark.spec.source import SourceFormat, SourceSpec
from tidemark.spec.topics import is_pattern

CLASSES: Mapping[str, SourceFormat] = {
    "MySql": SourceFormat.DEBEZIUM_MYSQL,
    "MariaDb": SourceFormat.DEBEZIUM_MARIADB,
    "Postgres": SourceFormat.DEBEZIUM_POSTGRES,
}
"""What Kafka Connect lets a connector's class be called, of which it takes longer names too."""
BINLOG = frozenset({SourceFormat.DEBEZIUM_MYSQL, SourceFormat.DEBEZIUM_MARIADB})
POSTGRES = frozenset({SourceFormat.DEBEZIUM_POSTGRES})
ALL = BINLOG | POSTGRES
JSON, AVRO = "Json", "Avro"
_COMMA = re.compile(r"(?<!\\),")
_GROUP = re.compile(r"\((?:\?:)?([^()?*+{}][^()]*)\)(?![?*+{])")
_PLAIN = re.compile(r"\[\\([^A-Za-z0-9])\]|\\([^A-Za-z0-9])|\[([^\\])\]")
RENAMING = ("RegexRouter", "ByLogicalTableRouter", "TopicNameNormalizer")
"""Transformations that give topics other names than the connector would."""


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector as Kafka Connect has it; config: setting -> value, secrets among them."""

    name: str
    config: Mapping[str, str] = field(repr=False)

    @property
    def format(self) -> SourceFormat | None:
        """What it writes; None where it is no connector whose records are read."""
        named = _last_part(self.config.get("connector.class", ""))
        return CLASSES.get(named.removesuffix("Connector"))

    @property
    def prefix(self) -> str:
        """With which its topics begin."""
        return self.config.get("topic.prefix", "")

    @property
    def delimiter(self) -> str:
        """What stands between the parts of its topics' names."""
        return self.config.get("topic.delimiter", ".")

    @property
    def transforms(self) -> Mapping[str, str]:
        """Transformation of records -> the last part of its class, in their order."""
        names = [name.strip() for name in self.config.get("transforms", "").split(",")]
        types = {name: self.config.get(f"transforms.{name}.type", "") for name in names if name}
        return {name: _last_part(text) for name, text in types.items()}

    @property
    def converter(self) -> str:
        """In which form values are written; empty where the worker says it."""
        return form_of(self.config.get("value.converter", ""))

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that nobody is shown."""
        return tuple(value for name, value in self.config.items() if is_secret(name) and value)

    def captures(self, table: TableName) -> bool:
        """Whether the connector's lists of databases or schemas, and of tables, have ``table``.

        Their expressions match whole names, whatever the case; one that Python does not know has
        each name.
        """
        space = "schema" if self.format in POSTGRES else "database"
        return all(
            _is_listed(self.config.get(f"{kind}.include.list", ""), name, of_nothing=True)
            and not _is_listed(self.config.get(f"{kind}.exclude.list", ""), name, of_nothing=False)
            for kind, name in ((space, table.schema), ("table", str(table)))
        )


def writers(source: SourceSpec, connectors: Sequence[Connector]) -> tuple[Connector, ...]:
    """Those of ``connectors`` that write topics of ``source``, by their prefixes.

    Of a topic that begins with several, shop and shop.eu, the longest tells whose it is.
    """
    topics = source.topics
    writing: set[str] = set()
    for name in (*topics.data, *topics.schema_changes, *topics.transactions):
        able = [one for one in connectors if one.prefix and _may_begin(name, one)]
        longest = max((len(one.prefix) for one in able), default=0)
        writing |= {one.name for one in able if len(one.prefix) == longest}
    return tuple(one for one in connectors if one.name in writing)


def _last_part(name: str) -> str:
    return name.rpartition(".")[2].partition("$")[0]


def form_of(converter: str) -> str:
    """The form that a converter writes, by the last part of its class: Json, Avro."""
    return _last_part(converter).removesuffix("Converter")


def _is_listed(listed: str, name: str, *, of_nothing: bool) -> bool:
    """Whether one of the expressions ``listed`` means ``name``; of_nothing: where there is none."""
    patterns = [pattern.strip() for pattern in _COMMA.split(listed) if pattern.strip()]
    return any(_means(pattern, name) for pattern in patterns) if patterns else of_nothing


def _means(pattern: str, name: str) -> bool:
    try:
        return re.fullmatch(pattern, name, re.IGNORECASE) is not None
    except re.error:
        return True


def _may_begin(selector: str, connector: Connector) -> bool:
    """Whether a topic of ``selector`` may begin with the connector's prefix.

    >>> shop = Connector("c", {"topic.prefix": "shop"})
    >>> _may_begin("^(shop|store)[.]db[.].*", shop), _may_begin("shopping.db.t", shop)
    (True, False)
    """
    start = f"{connector.prefix}{connector.delimiter}"
    names = _alternatives(selector, len(start)) if is_pattern(selector) else (selector,)
    starts = (start, f"{connector.prefix}.*")
    return any(name == connector.prefix or name.startswith(starts) for name in names)


def _alternatives(pattern: str, length: int) -> tuple[str, ...]:
    """What ``pattern`` may mean, each as plain text in its first ``length`` characters."""
    group = _GROUP.search(pattern)
    before = pattern[: group.start()] if group is not None else pattern
    if group is None or len(_plain(before.rpartition("|")[2])) >= length:
        return tuple(_plain(text) for text in pattern.split("|"))
    after = pattern[group.end() :]
    either = (_alternatives(f"{before}{part}{after}", length) for part in group[1].split("|"))
    return tuple(text for texts in either for text in texts)


def _plain(pattern: str) -> str:
    """``pattern`` without what has characters stand for themselves."""
    return _PLAIN.sub(r"\1\2\3", pattern.removeprefix("^"))
