from __future__ import annotations

from typing import cast

import pytest

from tidemark.model.columns import SourceColumn
from tidemark.model.modes import ConnectorModes
from tidemark.schema.backfills import UnknownBackfillError, backfill_text
from tidemark.schema.ddl import parse_ddl
from tidemark.schema.ddl_operations import AlterColumns
from tidemark.schema.source_types import canal_column, debezium_column


def filled(definition: str, *, written_by_canal: bool = False) -> str | None:
    """What rows get when ``c`` joins them."""
    (operation,) = parse_ddl(f"ALTER TABLE t ADD COLUMN c {definition}", "db")
    (added,) = cast("AlterColumns", operation).items.added
    if added.backfill is None:
        return None
    column: SourceColumn = debezium_column("c", added.type_text, ConnectorModes())
    if written_by_canal:
        column = canal_column("c", added.type_text.partition("(")[0], added.type_text, None)
    return backfill_text(column, added.backfill)


@pytest.mark.parametrize(
    ("definition", "value"),
    [
        ("int", None),
        ("int DEFAULT NULL", None),
        ("int NULL DEFAULT 5 AFTER b", "5"),
        ("int unsigned NOT NULL DEFAULT '7' COMMENT 'DEFAULT 8'", "7"),
        ("bigint NOT NULL", "0"),
        ("tinyint(1) NOT NULL DEFAULT TRUE", "1"),
        ("int DEFAULT -3", "-3"),
        ("year NOT NULL DEFAULT 2020", "2020"),
        ("year NOT NULL", "0"),
        ("decimal(8,2) NOT NULL DEFAULT 1.5", "1.50"),
        ("decimal(8,2) NOT NULL", "0.00"),
        ("double DEFAULT -1e-3", "-0.001"),
        ("float NOT NULL", "0.0"),
        ("varchar(20) NOT NULL", ""),
        ("varchar(20) DEFAULT _UTF8MB4'it''s'", "it's"),
        ("varchar(20) DEFAULT 'it''s \\'x\\\\'", "it's 'x\\"),
        ('varchar(20) DEFAULT "say ""x"""', 'say "x"'),
        ("varchar(20) DEFAULT 7", "7"),
        ("varchar(20) DEFAULT '007'", "007"),
        ("char(5) DEFAULT 'ab  '", "ab"),
        ("int DEFAULT 007", "7"),
        ("date DEFAULT '2024-00-00'", None),
        ("datetime DEFAULT '2024-01-00 00:00:00'", None),
        ("date DEFAULT '2020-02-29'", "2020-02-29"),
        ("date NOT NULL", None),
        ("datetime NOT NULL DEFAULT '2020-02-29'", "2020-02-29 00:00:00"),
        ("datetime(3) DEFAULT '2020-02-29 01:02:03.5'", "2020-02-29 01:02:03.5"),
        ("datetime NOT NULL DEFAULT '0000-00-00 00:00:00'", None),
        ("enum('a','b') NOT NULL", "a"),
        ("enum('a','b') DEFAULT 'B'", "b"),
        ("set('a','b') NOT NULL", ""),
        ("set('a','b','c') DEFAULT 'C,a'", "a,c"),
        ("time NOT NULL", "00:00:00"),
        ("time(3) DEFAULT '-100:02:03.5'", "-100:02:03.500"),
        ("bit(1) NOT NULL DEFAULT b'0'", "false"),
        ("bit DEFAULT 0b1", "true"),
        ("bit NOT NULL", "false"),
    ],
)
def test_what_rows_get(definition: str, value: str | None) -> None:
    """SCHEMA-14: the constant, or what NOT NULL implies."""
    assert filled(definition) == value


def test_a_numbered_label() -> None:
    """TYPE-32: where records number labels, so does what rows get."""
    assert filled("enum('a','b') DEFAULT 'b'", written_by_canal=True) == "2"
    with pytest.raises(UnknownBackfillError):
        filled("set('a','b') DEFAULT 'b'", written_by_canal=True)


def test_an_option_of_the_table_says_nothing_of_its_last_column() -> None:
    """SCHEMA-24: KEY names how rows are spread."""
    (operation,) = parse_ddl("ALTER TABLE t ADD COLUMN c INT PARTITION BY KEY(id)", "db")
    items = cast("AlterColumns", operation).items
    assert ([column.name for column in items.added], items.key) == (["c"], None)


def test_texts_side_by_side_are_one() -> None:
    """SCHEMA-38: the first of them alone is not the value."""
    (operation,) = parse_ddl("ALTER TABLE t ADD COLUMN c TEXT DEFAULT 'a' 'b'", "db")
    (added,) = cast("AlterColumns", operation).items.added
    assert added.backfill is not None
    assert added.backfill.is_unknown


@pytest.mark.parametrize(
    "definition",
    [
        "decimal(4,1) DEFAULT 1.25",
        "float(7,2) DEFAULT 1.5",
        "timestamp DEFAULT '2020-02-29 00:00:00'",
        "datetime DEFAULT '2020-02-29 01:02:03.5'",
        "date DEFAULT '20200229'",
        "date DEFAULT '2024-02-31'",
        "year DEFAULT 24",
        "year DEFAULT '0'",
        "varchar(9) DEFAULT 007",
        "varchar(9) DEFAULT 1e3",
        "varchar(9) DEFAULT -0.0",
        "enum('b','a','1') DEFAULT 1",
        "int DEFAULT 'x'",
        "int DEFAULT 1.5",
        "binary(3) NOT NULL",
        "json NOT NULL",
        "set('a','b') DEFAULT 'a,c'",
        "time DEFAULT '01:02:03.5'",
        "time DEFAULT '1:2'",
        "varbinary(9) DEFAULT 'x'",
        "enum('a','b') DEFAULT 'c'",
    ],
)
def test_what_nobody_can_tell(definition: str) -> None:
    """SCHEMA-14: rounded, in the time of a session, or in a form of the source's own."""
    with pytest.raises(UnknownBackfillError):
        filled(definition)
