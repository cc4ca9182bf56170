"""The Avro schemas that records were written with, kept beside them for good.

An id means one schema for ever, so a schema is asked for once. What is landed can be read, and a
run can be made again with the same outcome, when the registry is away or has lost it (ADR 7).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError

from tidemark.lake.catalog import SystemTables, catalog_errors, commit_errors
from tidemark.lake.ledger import PROPERTIES, ensure_table

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("schema", pa.string(), nullable=False),
        pa.field("kept_at", pa.timestamp("us", tz="UTC"), nullable=False),
    ]
)


def read_schemas(catalog: Catalog, tables: SystemTables) -> dict[int, str]:
    """Every schema that is kept, by id; of two runs that kept one at once, the same twice."""
    with catalog_errors("the reading of the Avro schemas"):
        try:
            table = catalog.load_table(tables.schemas.parts)
        except NoSuchTableError:
            return {}
        rows = table.scan(selected_fields=("id", "schema")).to_arrow().to_pylist()
    return {row["id"]: row["schema"] for row in rows}


def keep_schemas(catalog: Catalog, tables: SystemTables, schemas: Mapping[int, str]) -> None:
    """Keep ``schemas`` before any record that needs them counts as landed."""
    now = datetime.now(UTC)
    rows = [{"id": number, "schema": text, "kept_at": now} for number, text in schemas.items()]
    table = ensure_table(catalog, tables.schemas, SCHEMA, PROPERTIES)
    with commit_errors("the keeping of Avro schemas"):
        table.append(pa.Table.from_pylist(rows, schema=SCHEMA))
