"""Virtual generated columns: TiCDC never sends them, the others do (MSG-53)."""

from __future__ import annotations

import pytest

from tests.unit.schema.test_ddl import shown
from tidemark.schema.ddl import parse_ddl
from tidemark.schema.ddl_operations import AlterColumns
from tidemark.schema.virtual_columns import with_virtual, without_virtual

VIRTUAL = "v INT AS (id * 2) VIRTUAL"
REFUSED = "unsupported for shop.t: the rows that are there get a computed value in v"


@pytest.mark.parametrize(
    ("sql", "sent", "unsent"),
    [
        (
            f"CREATE TABLE t (id INT PRIMARY KEY, {VIRTUAL}, w INT GENERATED ALWAYS AS (1))",
            "create table shop.t: id INT, v INT, w INT | key id",
            "create table shop.t: id INT | key id",
        ),
        (
            "CREATE TABLE t (id INT PRIMARY KEY, v INT AS (id) STORED, w INT AS (1) PERSISTENT)",
            *["create table shop.t: id INT, v INT, w INT | key id"] * 2,
        ),
        (
            f"ALTER TABLE t ADD COLUMN {VIRTUAL}",
            *("alter shop.t: add v INT", "no effect: virtual columns"),
        ),
        (
            f"ALTER TABLE t ADD COLUMN IF NOT EXISTS {VIRTUAL}, ADD a INT, MODIFY b TEXT",
            "alter shop.t: add v INT, add a INT, change b TEXT",
            "alter shop.t: add a INT, change b TEXT",
        ),
        (f"ALTER TABLE t MODIFY {VIRTUAL}", *(REFUSED, "no effect: virtual columns")),
        (
            f"ALTER TABLE t CHANGE a {VIRTUAL}, RENAME COLUMN b TO c",
            *(REFUSED, "alter shop.t: rename b to c"),
        ),
        ("ALTER TABLE t MODIFY v INT AS (id * 2) STORED", *[REFUSED] * 2),
        ("ALTER TABLE t DROP COLUMN v", *["alter shop.t: drop v"] * 2),
    ],
)
def test_virtual_columns(sql: str, sent: str, unsent: str) -> None:
    parsed = parse_ddl(sql, "shop")
    assert [shown(operation) for operation in with_virtual(parsed)] == [sent]
    assert [shown(operation) for operation in without_virtual(parsed)] == [unsent]


def test_nothing_joins_where_it_is_there() -> None:
    """SCHEMA-21: of the columns that join unless they are there, those that are left."""
    sql = f"ALTER TABLE t ADD COLUMN IF NOT EXISTS ({VIRTUAL}, a INT)"
    (altered,) = without_virtual(parse_ddl(sql, "shop"))
    assert isinstance(altered, AlterColumns)
    assert altered.items.optional == {"a"}
