"""Case folders: the records to put into topics, and the tables that must come out of them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.corpus.avro import json_of
from tidemark.model.names import TableName

EXPECTED = "expected.json"
_BEFORE, _AFTER = "messages.", ".jsonl"
_EXCLUDED = "table.exclude.list"


@dataclass(frozen=True, slots=True)
class Record:
    """A Kafka record, byte for byte; text: its value as JSON, where that is not what it holds."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a source table; expected_as: ``index``, ``mask`` or ``integer`` (numbers)."""

    name: str
    source_type: str
    expected_as: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """What a table must hold; rows: a set by ``key``, a multiset when there is none."""

    key: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """A moment at which tables are compared; end: how many messages have been sent by then."""

    name: str
    end: int
    tables: Mapping[str, Table]


@dataclass(frozen=True, slots=True)
class Case:
    """One variant of a case folder.

    partitions: of each topic as recorded. is_gated: the stages are states at the cut of watermarks.
    lacks_keys: the recording has no Kafka keys, so a job has to be told the keys of the tables.
    connector: settings of the connector that was recorded, empty when nobody kept them. schemas:
    Avro schemas by id, empty where records are JSON. operator: what somebody wrote for the case.
    """

    name: str
    variant: str
    records: tuple[Record, ...]
    stages: tuple[Stage, ...]
    partitions: Mapping[str, int]
    is_gated: bool = False
    lacks_keys: bool = False
    connector: Mapping[str, str] = field(default_factory=dict)
    schemas: Mapping[int, Any] = field(default_factory=dict)
    operator: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Name and variant."""
        return f"{self.name} {self.variant}"

    @property
    def tables(self) -> Mapping[str, Table]:
        """Every table of any stage in its latest form."""
        return {name: table for stage in self.stages for name, table in stage.tables.items()}


def find_cases(folders: Sequence[Path], variant: str | None = None) -> tuple[Case, ...]:
    """Every case below ``folders`` in every variant, or in the one that is named."""
    found = sorted({file.parent.resolve() for root in folders for file in root.rglob(EXPECTED)})
    return tuple(
        read_case(folder, name)
        for folder in found
        for name in _variants(folder)
        if variant in {None, name}
    )


def read_case(folder: Path, variant: str) -> Case:
    """One variant of the case in ``folder``."""
    expected = json.loads((folder / EXPECTED).read_text(encoding="utf-8"))
    lines = (folder / f"{_BEFORE}{variant}{_AFTER}").read_text(encoding="utf-8").split("\n")
    schemas = _schemas(folder, variant)
    records = tuple(_record(json.loads(line), schemas) for line in lines if line)
    file = folder / f"connector.{variant}.json"
    connector = json.loads(file.read_text("utf-8")) if file.exists() else {}
    written = folder / "pipeline.yaml"
    return Case(
        name=f"{folder.parent.name}/{folder.name}",
        variant=variant,
        records=records,
        stages=tuple(_stages(expected, variant, connector.get(_EXCLUDED, ""))),
        partitions=_partitions(records, expected.get("partitions", {}).get(variant)),
        is_gated=any("watermark" in stage for stage in expected["stages"]),
        lacks_keys="primary_key_given_by_job" in expected or "key_not_recorded" in expected,
        connector=connector,
        schemas=schemas,
        operator=yaml.safe_load(written.read_text("utf-8")) if written.exists() else {},
    )


def name_of(text: str) -> TableName:
    """The table that a case calls ``text``: both of its names may have dots in them.

    The first dot divides them that leaves neither with blanks at its ends.
    """
    parts = text.split(".")
    halves = ((".".join(parts[:n]), ".".join(parts[n:])) for n in range(1, len(parts)))
    return TableName(*next(two for two in halves if all(one == one.strip() for one in two)))


def _variants(folder: Path) -> tuple[str, ...]:
    names = (file.name for file in folder.glob(f"{_BEFORE}*{_AFTER}"))
    return tuple(sorted(name.removeprefix(_BEFORE).removesuffix(_AFTER) for name in names))


def _schemas(folder: Path, variant: str) -> dict[int, Any]:
    """By id: from the list of a registry's subjects, or from a file for each id."""
    if not variant.startswith("avro"):
        return {}
    kept = folder / f"schemas.{variant}.json"
    subjects = json.loads(kept.read_text("utf-8")).values() if kept.exists() else ()
    found = {version["id"]: version["schema"] for versions in subjects for version in versions}
    for file in folder.glob("schema-*.json"):
        found[int(file.stem.removeprefix("schema-"))] = json.loads(file.read_text("utf-8"))
    return found


def _record(line: Mapping[str, Any], schemas: Mapping[int, Any]) -> Record:
    value = _bytes(line["value"])
    return Record(
        line["topic"],
        line.get("partition", 0),
        _bytes(line["key"]),
        value,
        tuple((name, _bytes(text)) for name, text in line["headers"]),
        json_of(value, schemas) if value and schemas else "",
    )


def _bytes(kept: str | Mapping[str, str] | None) -> bytes | None:
    if kept is None:
        return None
    return kept.encode() if isinstance(kept, str) else base64.b64decode(kept["b64"])


def _partitions(
    records: Sequence[Record], declared: int | Mapping[str, int] | None
) -> dict[str, int]:
    """Partitions of each topic; one that got nothing counts where the case says so."""
    counts: dict[str, int] = {}
    for record in records:
        counts[record.topic] = max(counts.get(record.topic, 0), record.partition + 1)
    if isinstance(declared, int):
        return dict.fromkeys(counts, declared)
    return {**counts, **(declared or {})}


def _stages(expected: Mapping[str, Any], variant: str, excluded: str) -> Iterator[Stage]:
    """excluded: the connector's list of patterns of tables that it does not capture."""
    patterns = [pattern for pattern in excluded.split(",") if pattern]
    unsent = expected.get("columns_not_captured", {})
    for stage in expected["stages"]:
        tables = {
            name: read_table(table, unsent.get(name, ()))
            for name, table in stage["tables"].items()
            if not any(re.fullmatch(pattern, name, re.IGNORECASE) for pattern in patterns)
        }
        yield Stage(stage["stage"], stage["messages_so_far"][variant], tables)


def read_table(table: Mapping[str, Any], unsent: Collection[str] = ()) -> Table:
    """A table of a stage without the columns ``unsent``."""
    columns = tuple(
        Column(column["name"], column["source_type"], column.get("expected_as", ""))
        for column in table["columns"]
        if column["name"] not in unsent
    )
    return Table(tuple(table["primary_key"]), columns, tuple(table["rows"]))
