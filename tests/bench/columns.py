"""The table that everything is measured on: twenty columns, for MySQL, for JSON and for Spark.

Every value follows from a row's id and version, so a record and a row need no memory of others.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.model.columns import TableSchema
from tidemark.model.modes import ConnectorModes
from tidemark.schema.source_types import table_change_columns

KEY = "id"
STATUSES = ("NEW", "PAID", "PACKED", "SENT", "DONE")
CURRENCIES = ("EUR", "USD", "GBP", "CHF")
CITIES = ("Lisbon", "Rotterdam", "Ghent", "Tartu", "Graz", "Turku", "Split", "Cork")
COUNTRIES = ("PT", "NL", "BE", "EE", "AT", "FI", "HR", "IE")
NOTES = ("null", '"leave it at the door"', '"ring twice"', '"a gift"')
FIRST_DAY = 19_000
FIRST_SECOND = 1_700_000_000


@dataclass(frozen=True, slots=True)
class BenchColumn:
    """One column.

    type: as MySQL declares it; length, scale and labels stand beside it in a schema change.
    json: how Debezium writes a value, a %-format. spark: the value as an SQL expression over the
    row's ``id`` and its ``seed``, a number that follows from id and version.
    """

    name: str
    type: str
    json: bytes
    spark: str
    length: int | None = None
    scale: int | None = None
    labels: tuple[str, ...] = ()


def _below(limit: int, divisor: int = 1) -> str:
    return f"pmod(seed DIV {divisor}, {limit})"


def _one_of(words: Sequence[str], divisor: int) -> str:
    listed = ", ".join(f"'{word}'" for word in words)
    return f"element_at(array({listed}), 1 + CAST({_below(len(words), divisor)} AS INT))"


_SECOND = f"{FIRST_SECOND} + {_below(30_000_000)}"

COLUMNS = (
    BenchColumn(KEY, "BIGINT", b"%d", "id"),
    BenchColumn("order_no", "CHAR", b'"SO%010d"', "concat('SO', lpad(string(id), 10, '0'))", 12),
    BenchColumn("customer_id", "INT", b"%d", _below(500_000)),
    BenchColumn("store_id", "SMALLINT", b"%d", _below(200, 7)),
    BenchColumn("status", "ENUM", b'"%b"', _one_of(STATUSES, 11), 1, labels=STATUSES),
    BenchColumn("currency", "CHAR", b'"%b"', _one_of(CURRENCIES, 13), 3),
    BenchColumn("amount", "DECIMAL", b'"%b"', f"{_below(8_388_608, 17)} / 100", 12, 2),
    BenchColumn("tax", "DECIMAL", b'"%b"', f"{_below(32_768, 19)} / 100", 10, 2),
    BenchColumn("quantity", "INT", b"%d", _below(40, 23)),
    BenchColumn("weight", "DOUBLE", b"%d.%03d", f"{_below(50_000, 29)} / 1000"),
    BenchColumn("is_gift", "TINYINT", b"%d", _below(2, 31), 1),
    BenchColumn("email", "VARCHAR", b'"%x@example.org"', "concat(hex(seed), '@example.org')", 120),
    BenchColumn("city", "VARCHAR", b'"%b"', _one_of(CITIES, 37), 80),
    BenchColumn("country", "CHAR", b'"%b"', _one_of(COUNTRIES, 37), 2),
    BenchColumn("note", "TEXT", b"%b", _one_of([note.strip('"') for note in NOTES], 41)),
    BenchColumn(
        "attributes", "JSON", rb'"{\"color\":%d}"', f"""concat('{{"color":', {_below(99)}, '}}')"""
    ),
    BenchColumn("version", "INT", b"%d", "version"),
    BenchColumn("ordered_on", "DATE", b"%d", f"date_add('2022-01-08', CAST({_below(900)} AS INT))"),
    BenchColumn("created_at", "DATETIME", b"%d", f"timestamp_seconds({_SECOND})", 6),
    BenchColumn(
        "updated_at", "TIMESTAMP", b'"2026-%02d-%02dT%02d:00:00Z"', f"timestamp_seconds({_SECOND})"
    ),
)
_IMAGE = b"{%s}" % b",".join(b'"%s":%s' % (column.name.encode(), column.json) for column in COLUMNS)


def image(row_id: int, version: int) -> bytes:
    """The row as Debezium writes it in a before or after image."""
    digest = blake2b(b"%d.%d" % (row_id, version), digest_size=24).digest()
    seed = int.from_bytes(digest[:8])
    return _IMAGE % (
        row_id,
        row_id,
        seed % 500_000,
        digest[0],
        _word(STATUSES, digest[1]),
        _word(CURRENCIES, digest[2]),
        _decimal(digest[3:6]),
        _decimal(digest[6:8]),
        digest[8] % 40,
        digest[9],
        digest[10],
        digest[11] & 1,
        seed,
        _word(CITIES, digest[12]),
        _word(COUNTRIES, digest[12]),
        _word(NOTES, digest[13]),
        digest[14],
        version,
        FIRST_DAY + digest[15],
        (FIRST_SECOND + seed % 30_000_000) * 1_000_000 + digest[16],
        1 + digest[17] % 12,
        1 + digest[18] % 28,
        digest[19] % 24,
    )


def _word(words: Sequence[str], chance: int) -> bytes:
    return words[chance % len(words)].encode()


def _decimal(unscaled: bytes) -> bytes:
    """A positive number as Connect's Decimal: the first bit is the sign."""
    return base64.b64encode(bytes((unscaled[0] & 0x7F,)) + unscaled[1:])


def table_change() -> dict[str, object]:
    """``tableChanges[].table`` of the schema change that declares the table."""
    return {
        "defaultCharsetName": "utf8mb4",
        "primaryKeyColumnNames": [KEY],
        "columns": [
            {
                "name": column.name,
                "typeName": column.type,
                "typeExpression": column.type,
                "length": column.length,
                "scale": column.scale,
                "position": position,
                "optional": column.name != KEY,
                "enumValues": [f"'{label}'" for label in column.labels] or None,
            }
            for position, column in enumerate(COLUMNS, start=1)
        ],
        "comment": None,
    }


def source_schema() -> TableSchema:
    """The schema that the product reads out of `table_change`."""
    return table_change_columns(table_change(), ConnectorModes())


def with_columns(rows: DataFrame) -> DataFrame:
    """Add the twenty columns. In: ``id`` and ``version``. Out: the same and the rest of them."""
    types = {str(column.name): column.iceberg for column in source_schema().columns}
    values = {
        column.name: F.expr(column.spark).cast(types[column.name])
        for column in COLUMNS
        if column.name != KEY
    }
    return rows.withColumn("seed", F.xxhash64(KEY, "version")).withColumns(values).drop("seed")
