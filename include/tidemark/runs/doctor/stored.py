"""What is stored in the form of an earlier version, which the next run converts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError

from tidemark.lake.catalog import TableId, catalog_errors
from tidemark.lake.marks import PREFIX
from tidemark.model.finding import Finding, Grade
from tidemark.model.stored_state import VERSION


def stored_findings(catalog: Catalog, tables: Collection[TableId]) -> Iterator[Finding]:
    """The tables whose documents are older than `VERSION`, and how many they are."""
    for name in tables:
        with catalog_errors(f"the reading of {name}"):
            try:
                properties = catalog.load_table(name.parts).properties
            except NoSuchTableError:
                continue
        old = old_versions(properties)
        if old:
            counts = ", ".join(f"{number} of version {v}" for v, number in sorted(old.items()))
            yield Finding(
                Grade.NOTE,
                f"table {name}",
                f"it holds documents of earlier versions: {counts}",
                f"the next run that writes them converts them to version {VERSION}, which an older "
                "Tidemark does not read",
                "keep a copy of the catalog before that run, if you may have to go back",
            )


def old_versions(properties: Mapping[str, str]) -> Counter[int]:
    """Version -> how many documents of it are in a table's properties, at any depth."""
    texts = (text for name, text in properties.items() if name.startswith(PREFIX))
    return Counter(version for text in texts for version in _versions(text) if version < VERSION)


def _versions(value: Any) -> Iterator[int]:
    """Documents may stand as text in others."""
    if isinstance(value, str):
        if not value.startswith(("{", "[")):
            return
        try:
            value = json.loads(value)
        except ValueError:
            return
    if isinstance(value, dict):
        if isinstance(value.get("version"), int):
            yield value["version"]
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _versions(each)
