"""A pipeline file and its suites, as text. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count

import yaml

from tidemark.model.cut import GateMode
from tidemark.model.names import PipelineName, TableName, TopicName, without_dots
from tidemark.runs.draft.recognize import Encoding, Role
from tidemark.runs.draft.seen import SeenSource
from tidemark.spec.audit import NO_SUITE

CONNECTOR_NAMES: Mapping[str, str] = {
    "debezium-mysql": "Debezium's MySQL connector",
    "debezium-mariadb": "Debezium's MariaDB connector",
    "debezium-postgres": "Debezium's PostgreSQL connector",
    "ticdc-canal-json": "TiCDC",
    "canal-json": "Canal",
}


@dataclass(frozen=True, slots=True)
class Registry:
    """Where Avro schemas are: as the pipeline file has it, references unresolved."""

    url: str
    user: str | None = None
    password: str | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """What a person calls the pipeline. by_prefix: topics are named by patterns of the prefix."""

    name: PipelineName
    owner: str
    by_prefix: bool
    registry: Registry | None = None


def suites_of(name: PipelineName, seen: SeenSource) -> dict[TableName, str]:
    """Table -> the name of its suite; those without a key have none."""
    names: dict[TableName, str] = {}
    taken: set[str] = set()
    for table, key in sorted(seen.tables.items()):
        if key:
            plain = re.sub(r"[^a-z0-9]+", "_", f"{name}_{table.table}".lower()).strip("_")
            free = (suite for suite in chain([plain], _numbered(plain)) if suite not in taken)
            names[table] = next(free)
            taken.add(names[table])
    return names


def _numbered(name: str) -> Iterator[str]:
    return (f"{name}_{number}" for number in count(2))


def pipeline_text(
    named: Named, seen: SeenSource, gate: GateMode, suites: Mapping[TableName, str]
) -> str:
    """The pipeline file."""
    tables = len(seen.tables)
    writer = CONNECTOR_NAMES[seen.format]
    plural = "table" if tables == 1 else "tables"
    lines = [
        "# By tidemark init, from what the topics held; every field: docs/configure.md",
        f"name: {named.name}",
        f"description: {_scalar(f'Copies {tables} {plural} that {writer} sends')}",
        f"owner: {_scalar(named.owner)}",
        'schedule: null  # by hand alone; every ten minutes: "*/10 * * * *"',
        "source:",
        f"  format: {seen.format}",
        f"  gate: {gate}",
        "  topics:",
        *_topics(named, seen, gate),
        *(f"  signal-table: {_scalar(str(table))}" for table in sorted(seen.signals)[:1]),
        *_avro(named, seen),
        "tables:",
        *_tables(seen, suites),
    ]
    return "\n".join(lines) + "\n"


def _topics(named: Named, seen: SeenSource, gate: GateMode) -> Iterator[str]:
    rows = seen.with_role(Role.ROWS)
    data = data_patterns(rows, seen.prefixes) if named.by_prefix else rows
    yield f"    data: {_listed(data)}"
    statements = [name for name in seen.with_role(Role.STATEMENTS) if name not in rows]
    if statements and not seen.format.is_canal:
        yield f"    schema-changes: {_listed(statements)}"
    if gate is GateMode.TRANSACTION:
        yield f"    transactions: {_listed(seen.with_role(Role.TRANSACTIONS))}"


def data_patterns(rows: Sequence[TopicName], prefixes: Collection[str]) -> list[str]:
    """Patterns of all tables beside those of ``rows``; exact names of other topics."""
    selectors: dict[str, None] = {}
    for name in rows:
        parent, _, table = name.rpartition(".")
        by_table = any(parent.startswith(f"{prefix}.") for prefix in prefixes)
        pattern = "^" + re.escape(f"{parent}.").replace("\\-", "-") + "[^.]+$"
        selectors[pattern if by_table and table else name] = None
    return list(selectors)


def _avro(named: Named, seen: SeenSource) -> Iterator[str]:
    registry = named.registry
    if Encoding.AVRO not in seen.encodings or registry is None:
        return
    yield "  avro:"
    yield "    registry:"
    yield f"      url: {_scalar(registry.url)}"
    if registry.user is not None and registry.password is not None:
        yield f"      user: {_scalar(registry.user)}"
        yield f"      password: {_scalar(registry.password)}"


def _tables(seen: SeenSource, suites: Mapping[TableName, str]) -> Iterator[str]:
    taken: set[str] = set()
    for table, key in sorted(seen.tables.items()):
        columns = ", ".join(key) or "none, so rows are compared in all columns"
        yield f"  - source: {_scalar(str(table))}  # key: {_on_a_line(columns)}"
        target = _target(table, taken)
        taken.add(target.casefold())
        if target != without_dots(table.table):
            yield f"    target: {_scalar(target)}"
        yield f"    expectations: {suites.get(table, NO_SUITE)}"


def _target(table: TableName, taken: Collection[str]) -> str:
    """As of a table that is followed without being declared, with a number where that is taken."""
    names = [without_dots(name) for name in (table.table, f"{table.schema}__{table.table}")]
    return next(name for name in chain(names, _numbered(names[-1])) if name.casefold() not in taken)


def suite_text(suite: str, table: TableName, key: Sequence[str]) -> str:
    """A suite that has the key of each changed row told, and of no two of them the same."""
    unique = (
        ("expect_column_values_to_be_unique", f"{{column: {_scalar(key[0])}}}")
        if len(key) == 1
        else ("expect_compound_columns_to_be_unique", f"{{column_list: {_listed(key)}}}")
    )
    present = [
        ("expect_column_values_to_not_be_null", f"{{column: {_scalar(column)}}}") for column in key
    ]
    lines = [
        f"# Of {_on_a_line(str(table))}: its key. What else has to hold: docs/quality.md",
        f"suite: {suite}",
        "expectations:",
    ]
    for name, arguments in (*present, unique):
        lines += [
            f"  - expect: {name}",
            f"    arguments: {arguments}",
            "    severity: critical",
            "    scope: changed",
        ]
    return "\n".join(lines) + "\n"


def _listed(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(_scalar, texts))}]"


def _on_a_line(text: str) -> str:
    """``text`` in a comment, which no character of it ends."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _scalar(text: str) -> str:
    """``text`` as YAML has it, in quotes where it would be something else."""
    return yaml.safe_dump([text], default_flow_style=True, width=10_000, allow_unicode=True)[1:-2]
