"""DDL as text: what each statement does to tables and columns."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from tidemark.model.names import TableName
from tidemark.schema.alter_items import ColumnItems
from tidemark.schema.ddl import parse_ddl
from tidemark.schema.ddl_operations import (
    AlterColumns,
    CopyTable,
    CreateDatabase,
    CreateTable,
    DdlOperation,
    DropDatabase,
    DropTable,
    NoEffect,
    RenameTable,
    RestoreTable,
    TruncateTable,
    Unsupported,
)

EVERY_FORM = r"""CREATE TABLE IF NOT EXISTS `x` (
  a DOUBLE PRECISION(10,7) UNSIGNED ZEROFILL DEFAULT 1.5,
  `b``q` NATIONAL CHARACTER VARYING (20) COMMENT 'no; PRIMARY KEY, ('' \' )',
  "c d" enum('a,b','it''s',')') CHARACTER SET utf8,
  e char character set latin1,
  f LONG VARCHAR,
  g bit,
  h SERIAL,
  i int GENERATED ALWAYS AS (a + (1 * 2)) VIRTUAL,
  `key` varchar(10) /* a remark, with 'a quote */ UNIQUE KEY, -- another; one
  CONSTRAINT pk PRIMARY KEY USING BTREE (`b``q`(10) DESC, g),
  UNIQUE INDEX u (a), FULLTEXT KEY (e), CHECK (a > 0), FOREIGN KEY (a) REFERENCES y (b)
) COMMENT='x'
  /*!50100 PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (5), PARTITION p1) */"""

Columns = list[tuple[str, str]]


RECORDED = json.loads(Path(__file__).with_name("recorded_ddl.json").read_text())


def shown_items(items: ColumnItems) -> list[str]:
    """In words: what goes and moves first, then what joins and is declared again."""
    return [
        *(f"drop {name}" for name in items.dropped),
        *(f"rename {old} to {new}" for old, new in items.renamed),
        *(f"add {column.name} {column.type_text}" for column in items.added),
        *(f"change {column.name} {column.type_text}" for column in items.changed),
        *([] if items.key is None else [f"key {', '.join(items.key) or 'none'}"]),
    ]


def shown(operation: DdlOperation) -> str:
    match operation:
        case CreateDatabase(name):
            return f"create database {name}"
        case CreateTable(table, columns, key):
            listed = ", ".join(f"{column.name} {column.type_text}" for column in columns)
            return f"create table {table}: {listed} | key {', '.join(key)}"
        case TruncateTable(table):
            return f"truncate {table}"
        case CopyTable(table, like, _):
            return f"copy {table} of {like or 'a query'}"
        case DropTable(table):
            return f"drop {table}"
        case DropDatabase(name):
            return f"drop database {name}"
        case AlterColumns(table, items, _):
            return f"alter {table}: {', '.join(shown_items(items))}"
        case NoEffect(what):
            return f"no effect: {what}"
        case Unsupported(table, _, why):
            return f"unsupported for {table}: {why}"
        case _:
            raise AssertionError(operation)


@pytest.mark.parametrize("record", RECORDED, ids=lambda record: record["ddl"][:60])
def test_recorded(record: dict[str, Any]) -> None:
    """DDL as Debezium, Canal and TiCDC sent it."""
    operations = parse_ddl(record["ddl"], record["database"])
    assert [shown(operation) for operation in operations] == record["operations"]


@pytest.mark.parametrize(
    ("sql", "table", "columns", "key"),
    [
        (
            EVERY_FORM,
            "db.x",
            [
                ("a", "DOUBLE PRECISION(10,7) UNSIGNED ZEROFILL"),
                ("b`q", "NATIONAL CHARACTER VARYING (20)"),
                ("c d", "enum('a,b','it''s',')')"),
                ("e", "char"),
                ("f", "LONG VARCHAR"),
                ("g", "bit"),
                ("h", "SERIAL"),
                ("i", "int"),
                ("key", "varchar(10)"),
            ],
            ["b`q", "g"],
        ),
        ("create table t (a int, b int key)", "db.t", [("a", "int"), ("b", "int")], ["b"]),
        ("CREATE TABLE t (a int)", "db.t", [("a", "int")], []),
        ('CREATE TABLE "t" ("a" int)', "db.t", [("a", "int")], []),
        (
            "CREATE TABLE t (period decimal(10,2), vector int, columnar text, "
            "PERIOD FOR SYSTEM_TIME (a, b), VECTOR INDEX v ((VEC_COSINE_DISTANCE(e))), "
            "VECTOR KEY (e), COLUMNAR INDEX (a), CONSTRAINT period CHECK (a > 0))",
            *("db.t", [("period", "decimal(10,2)"), ("vector", "int"), ("columnar", "text")], []),
        ),
    ],
)
def test_create_table(sql: str, table: str, columns: Columns, key: list[str]) -> None:
    (created,) = parse_ddl(sql, "db")
    assert isinstance(created, CreateTable)
    assert created.table == TableName.parse(table)
    assert [(column.name, column.type_text) for column in created.columns] == columns
    assert list(created.key) == key


@pytest.mark.parametrize(
    ("sql", "table", "columns"),
    [
        (
            "ALTER TABLE `customers` ADD COLUMN `tier` VARCHAR(16) NULL AFTER `name`",
            *("db.customers", [("tier", "VARCHAR(16)")]),
        ),
        (
            "ALTER TABLE albums ADD COLUMN rating decimal(3,1) NULL AFTER price",
            *("db.albums", [("rating", "decimal(3,1)")]),
        ),
        (
            "/* Query from DMS-WEBSQL-0-Qid_18j by user 1486767996652600 */ "
            "ALTER TABLE schema_evolution_2 ADD COLUMN v2 INT",
            *("db.schema_evolution_2", [("v2", "INT")]),
        ),
        ("ALTER TABLE t ADD COLUMN v3 NUMERIC(8, 3)", "db.t", [("v3", "NUMERIC(8, 3)")]),
        ("ALTER TABLE t ADD v5 FLOAT FIRST", "db.t", [("v5", "FLOAT")]),
        (
            "ALTER TABLE x.t ADD COLUMN (a int, b varchar(20))",
            *("x.t", [("a", "int"), ("b", "varchar(20)")]),
        ),
        ("ALTER TABLE t ADD (a int DEFAULT NULL)", "db.t", [("a", "int")]),
        ("ALTER TABLE `x`.t ADD a int, ADD b time(3)", *("x.t", [("a", "int"), ("b", "time(3)")])),
        (
            "ALTER TABLE t ADD COLUMN a int UNIQUE KEY, ADD INDEX i (a), LOCK=NONE",
            *("db.t", [("a", "int")]),
        ),
        ("ALTER TABLE t ENGINE=InnoDB, ADD b int", "db.t", [("b", "int")]),
        ("ALTER IGNORE TABLE t ADD COLUMN IF NOT EXISTS a int", "db.t", [("a", "int")]),
        (
            "ALTER TABLE t ADD COLUMN `primary` int COMMENT 'not null default 1'",
            *("db.t", [("primary", "int")]),
        ),
        ("alter /*!50000 table */ t add /*T! column */ a int", "db.t", [("a", "int")]),
    ],
)
def test_added_columns(sql: str, table: str, columns: Columns) -> None:
    (added,) = parse_ddl(sql, "db")
    assert isinstance(added, AlterColumns)
    assert added.table == TableName.parse(table)
    assert [(column.name, column.type_text) for column in added.items.added] == columns
    assert not added.items.changed


@pytest.mark.parametrize(
    ("sql", "operations"),
    [
        (
            "ALTER TABLE schema_evolution_1 MODIFY COLUMN v2 BIGINT",
            ["alter db.schema_evolution_1: change v2 BIGINT"],
        ),
        ("ALTER TABLE t MODIFY a varchar(20) FIRST", ["alter db.t: change a varchar(20)"]),
        (
            "alter table x.`t` change `a b` `a b` decimal(12,2) unsigned DEFAULT 1 AFTER c",
            ["alter x.t: change a b decimal(12,2) unsigned"],
        ),
        (
            "ALTER TABLE t CHANGE COLUMN a a enum('x','y,z') CHARACTER SET utf8 COMMENT 'AS'",
            ["alter db.t: change a enum('x','y,z')"],
        ),
        (
            "ALTER TABLE t MODIFY a BIGINT NOT NULL AUTO_INCREMENT, ADD INDEX i (a), ADD b int, "
            "CHANGE c c DOUBLE PRECISION NULL, ALGORITHM=COPY",
            ["alter db.t: add b int, change a BIGINT, change c DOUBLE PRECISION"],
        ),
        ("ALTER TABLE t RENAME COLUMN a TO b", ["alter db.t: rename a to b"]),
        (
            "ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN `b` TO a",
            ["alter db.t: rename a to b, rename b to a"],
        ),
        (
            "ALTER TABLE t CHANGE a b int NOT NULL FIRST",
            ["alter db.t: rename a to b, change b int"],
        ),
        ("ALTER TABLE t CHANGE COLUMN a A int", ["alter db.t: rename a to A, change A int"]),
        ("ALTER TABLE t RENAME COLUMN a TO a", ["no effect: ALTER TABLE"]),
        ("ALTER TABLE t DROP COLUMN IF EXISTS b CASCADE", ["alter db.t: drop b"]),
        ("ALTER TABLE t DROP `primary`", ["alter db.t: drop primary"]),
        ("ALTER TABLE t ADD PRIMARY KEY (a)", ["alter db.t: key a"]),
        ("ALTER TABLE t ADD CONSTRAINT pk PRIMARY KEY (a)", ["alter db.t: key a"]),
        ("ALTER TABLE t ADD CONSTRAINT PRIMARY KEY (a, b)", ["alter db.t: key a, b"]),
        (
            "ALTER TABLE t ADD CONSTRAINT a FOREIGN KEY (a) REFERENCES u (a)",
            ["no effect: ALTER TABLE"],
        ),
        (
            "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY USING BTREE (`b``q`(9) DESC, a)",
            ["alter db.t: key b`q, a"],
        ),
        ("ALTER TABLE t ADD PRIMARY KEY (a), DROP PRIMARY KEY", ["alter db.t: key a"]),
        (
            "ALTER TABLE t ADD period int, ADD vector text",
            ["alter db.t: add period int, add vector text"],
        ),
        (
            "ALTER TABLE t ADD PERIOD FOR p (a, b), ADD VECTOR INDEX v (e), ADD VECTOR KEY (e), "
            "ADD COLUMNAR INDEX c (a)",
            ["no effect: ALTER TABLE"],
        ),
        (
            "ALTER TABLE t ADD (a int, INDEX i (a), PRIMARY KEY (a), VECTOR INDEX v (e))",
            ["alter db.t: add a int, key a"],
        ),
        ("ALTER TABLE t DROP COLUMN a, DROP PRIMARY KEY", ["alter db.t: drop a, key none"]),
        ("ALTER TABLE t DROP INDEX `PRIMARY`", ["alter db.t: key none"]),
        ("DROP INDEX `PRIMARY` ON x.t", ["alter x.t: key none"]),
        (
            "ALTER TABLE t MODIFY a bigint PRIMARY KEY",
            ["alter db.t: change a bigint, key a"],
        ),
        ("ALTER TABLE t ADD COLUMN a int KEY", ["alter db.t: add a int, key a"]),
        (
            "ALTER TABLE t DROP b, ADD COLUMN b text AFTER c, DROP INDEX i, MODIFY a bigint",
            ["alter db.t: drop b, add b text, change a bigint"],
        ),
        (
            "ALTER TABLE t MODIFY COLUMN IF EXISTS a text /*!50000 UNIQUE */ KEY",
            ["alter db.t: change a text"],
        ),
        ("ALTER ONLINE TABLE t WAIT 5 MODIFY a text", ["alter db.t: change a text"]),
        ("alter table t nowait modify a text", ["alter db.t: change a text"]),
    ],
)
def test_changed_columns(sql: str, operations: list[str]) -> None:
    """SCHEMA-22: what a statement declares again, whether it fits is judged elsewhere."""
    assert [shown(operation) for operation in parse_ddl(sql, "db")] == operations


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("TRUNCATE TABLE `orders`", [TruncateTable(TableName("db", "orders"))]),
        ("truncate x.`or``ders`", [TruncateTable(TableName("x", "or`ders"))]),
        ("TRUNCATE TABLE t WAIT 5", [TruncateTable(TableName("db", "t"))]),
        ("truncate `t` nowait", [TruncateTable(TableName("db", "t"))]),
        ("CREATE OR REPLACE DATABASE shop", [DropDatabase("shop"), CreateDatabase("shop")]),
        ("DROP TABLE IF EXISTS `vinyl`.`albums`", [DropTable(TableName("vinyl", "albums"))]),
        (
            "DROP TABLE a, x.b, `c/d` CASCADE",
            [DropTable(TableName("db", "a")), DropTable(TableName("x", "b"))],
        ),
        ("DROP TABLES IF EXISTS a", [DropTable(TableName("db", "a"))]),
        ("DROP TABLES user", [DropTable(TableName("db", "user"))]),
        ("DROP DATABASE IF EXISTS `inventory`", [DropDatabase("inventory")]),
        ("drop schema s", [DropDatabase("s")]),
        ("CREATE DATABASE `shop`", [CreateDatabase("shop")]),
        ("CREATE DATABASE IF NOT EXISTS canal_hvygfc", [CreateDatabase("canal_hvygfc")]),
        (
            "CREATE DATABASE `inventory` CHARSET utf8mb4 COLLATE utf8mb4_general_ci",
            [CreateDatabase("inventory")],
        ),
        ("create schema s", [CreateDatabase("s")]),
        ("", []),
        ("/* nothing */ ; -- at all", []),
        (
            "USE `a`; TRUNCATE t; CREATE DATABASE b;",
            [NoEffect("USE"), TruncateTable(TableName("db", "t")), CreateDatabase("b")],
        ),
    ],
)
def test_other_operations(sql: str, expected: list[DdlOperation]) -> None:
    assert list(parse_ddl(sql, "db")) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SET character_set_server=utf8mb4, collation_server=utf8mb4_general_ci",
        "USE `inventory`",
        "CREATE INDEX `ix_status` ON `orders` (`status`)",
        "CREATE UNIQUE INDEX i ON t (a)",
        "DROP INDEX i ON t",
        "ALTER TABLE products AUTO_INCREMENT = 1101",
        "ALTER TABLE t COMMENT='DROP COLUMN a; TRUNCATE TABLE t'",
        "ALTER TABLE t ADD INDEX i (a), DROP KEY j, RENAME INDEX k TO l",
        "ALTER IGNORE TABLE t ADD INDEX i (a), DROP KEY u, ALTER a SET DEFAULT 3, COMMENT 'UNIQUE'",
        "ALTER TABLE t ADD CONSTRAINT fk FOREIGN KEY (a) REFERENCES x (b) ON DELETE CASCADE",
        "ALTER TABLE t ADD UNIQUE KEY u (a), DROP FOREIGN KEY fk, DROP CHECK c",
        "ALTER TABLE t ALTER COLUMN a SET DEFAULT 3, ALTER b DROP DEFAULT",
        "ALTER TABLE t ALTER INDEX i INVISIBLE",
        "ALTER TABLE t ADD PARTITION (PARTITION p3 VALUES LESS THAN (40))",
        "ALTER TABLE t REORGANIZE PARTITION p0, p1 INTO (PARTITION p VALUES LESS THAN (9))",
        "ALTER TABLE t PARTITION BY HASH (id) PARTITIONS 4",
        "ALTER TABLE t ORDER BY a DESC, t.b, c ASC, COMMENT 'x'",
        "ALTER TABLE t SET TIFLASH REPLICA 2 LOCATION LABELS 'a', 'b'",
        "ALTER TABLE t ADD PERIOD IF NOT EXISTS FOR p (x, y), DROP PERIOD FOR q",
        "ALTER TABLE t ADD STATS_EXTENDED s CORRELATION(a, b), DROP STATS_EXTENDED IF EXISTS r",
        "ALTER TABLE t PARTITION `p` PLACEMENT POLICY = q",
        "ALTER TABLE t CONVERT TO CHARSET 'UTF32'",
        "LOCK STATS t",
        "ADMIN CHECK TABLE t",
        "ALTER TABLE t REMOVE PARTITIONING",
        "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        "ALTER TABLE t DEFAULT CHARSET = utf8mb4",
        "ALTER TABLE t ENGINE=InnoDB ROW_FORMAT=DYNAMIC, FORCE",
        "ALTER TABLE t PAGE_COMPRESSED=1 PAGE_COMPRESSION_LEVEL=9, PAGE_CHECKSUM 1",
        "ALTER TABLE t `encrypted`='YES' `ENCRYPTION_KEY_ID`=2, `page_compressed` = 'ON'",
        "ALTER TABLE t TRANSACTIONAL = 1, CHECKSUM = 1, TABLE_CHECKSUM=0, STORAGE ENGINE InnoDB",
        "ALTER TABLE t TABLESPACE s STORAGE DISK, AUTOEXTEND_SIZE 4M, ENCRYPTION 'Y'",
        "ALTER TABLE t SECONDARY_ENGINE = RAPID, ENGINE_ATTRIBUTE='{}'",
        "ALTER TABLE t SECONDARY_LOAD PARTITION (p)",
        "ALTER TABLE t SECONDARY_UNLOAD, SECONDARY_ENGINE_ATTRIBUTE '{}'",
        "ALTER TABLE t DATA DIRECTORY = '/d', INDEX DIRECTORY = '/i'",
        "ALTER TABLE t UPGRADE PARTITIONING",
        "ALTER TABLE t SET TIFLASH REPLICA 1",
        "ALTER DATABASE shop CHARACTER SET utf8mb4",
        "CREATE OR REPLACE DEFINER=`root`@`%` SQL SECURITY DEFINER VIEW v AS SELECT 1",
        "ALTER INSTANCE ROTATE INNODB MASTER KEY",
        "DROP VIEW IF EXISTS v",
        "CREATE TEMPORARY TABLE t (a int)",
        "DROP TEMPORARY TABLE IF EXISTS t",
        "CREATE DEFINER=`a`@`b` PROCEDURE p() BEGIN TRUNCATE TABLE t; DROP TABLE u; END",
        "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW BEGIN DELETE FROM u; SET @a = 1; END;",
        "DROP TRIGGER g",
        "CREATE USER 'u'@'%' IDENTIFIED BY 'x'",
        "GRANT ALL ON *.* TO 'u'@'%'",
        "RENAME USER a TO b",
        "ANALYZE TABLE t",
        "OPTIMIZE LOCAL TABLE t, u",
        "CHECK TABLE t, u FOR UPGRADE",
        "CHECK VIEW v",
        "CHECKSUM TABLE t",
        "REPAIR TABLE t, u QUICK EXTENDED",
        "REPAIR NO_WRITE_TO_BINLOG TABLE x.t",
        "REPAIR LOCAL VIEW v FROM MYSQL",
        "REPAIR TABLE `t/x` USE_FRM",
        "CREATE TABLE `a/b` (id int)",
        "TRUNCATE TABLE `_tidemark_x`",
    ],
)
def test_no_effect(sql: str) -> None:
    (operation,) = parse_ddl(sql, "db")
    assert isinstance(operation, NoEffect)


BODY = "BEGIN TRUNCATE t; DROP TABLE u; UPDATE t SET a = 1; END"


@pytest.mark.parametrize(
    "sql",
    [
        f"CREATE DEFINER=user@h PROCEDURE p() {BODY}",
        f"CREATE DEFINER=index@'h' FUNCTION f() RETURNS INT {BODY}",
        f"CREATE DEFINER=`table`@user TRIGGER g BEFORE INSERT ON t FOR EACH ROW {BODY}",
        f"CREATE DEFINER = table @ h PROCEDURE p() {BODY}",
        f"CREATE OR REPLACE DEFINER=role@h AGGREGATE FUNCTION f() RETURNS INT {BODY}",
        f"CREATE DEFINER=CURRENT_USER() PROCEDURE p() {BODY}",
        f"CREATE DEFINER=user EVENT e ON SCHEDULE EVERY 1 DAY DO {BODY}",
        f"/* index */ CREATE -- user\n DEFINER=user@h /* table */ EVENT e ON SCHEDULE AT 1 DO"
        f" {BODY}",
        "CREATE /*!50017 DEFINER=user@h*/ /*!50003 TRIGGER g AFTER DELETE ON t FOR EACH ROW"
        f" {BODY} */",
        f"ALTER DEFINER=user@h EVENT e ON SCHEDULE EVERY 1 DAY DO {BODY}",
        f"ALTER EVENT e DO {BODY}",
        "CREATE OR REPLACE PACKAGE BODY p AS BEGIN DROP TABLE t; END; TRUNCATE t",
        "CREATE LIBRARY l LANGUAGE JAVASCRIPT AS $$ a(); truncate(t); $$",
        f"SET STATEMENT max_statement_time=1, sort_buffer_size=(2) FOR CREATE PROCEDURE p() {BODY}",
        "CREATE DEFINER=table@h SQL SECURITY INVOKER VIEW v AS SELECT 1",
        "ALTER ALGORITHM=MERGE DEFINER=table@h VIEW v AS SELECT 1",
        "CREATE SPATIAL REFERENCE SYSTEM 4120 NAME 'x'",
    ],
)
def test_whatever_a_body_holds_does_not_run(sql: str) -> None:
    """SCHEMA-22, SCHEMA-24: nor is the user whose rights it has what the statement is about."""
    (operation,) = parse_ddl(sql, "db")
    assert isinstance(operation, NoEffect)


def test_what_a_client_divides_is_no_statement() -> None:
    """SCHEMA-24."""
    (operation,) = parse_ddl(f"DELIMITER // CREATE PROCEDURE p() {BODY} //", "db")
    assert isinstance(operation, Unsupported)


@pytest.mark.parametrize(
    ("sql", "does"),
    [
        ("ALTER TABLE t ADD a int", "alter db.t: add a int"),
        ("DROP TABLE t", "drop db.t"),
        ("FROBNICATE t", "unsupported for None: FROBNICATE is not among the known statements"),
    ],
)
def test_settings_of_a_statement_do_not_hide_it(sql: str, does: str) -> None:
    """SCHEMA-24: MariaDB logs its variables with it."""
    (operation,) = parse_ddl(f"SET STATEMENT a=(SELECT 1 FOR UPDATE), b='FOR' FOR {sql}", "db")
    assert shown(operation) == does


@pytest.mark.parametrize(
    ("sql", "like"),
    [
        ("CREATE TABLE t LIKE u", TableName("db", "u")),
        ("CREATE TABLE t (LIKE x.u)", TableName("x", "u")),
        ("CREATE TABLE t AS SELECT 1", None),
        ("CREATE TABLE t (a int) SELECT * FROM u", None),
        ("CREATE TABLE t (a int) (SELECT * FROM u)", None),
    ],
)
def test_columns_of_another_table_or_query(sql: str, like: TableName | None) -> None:
    assert parse_ddl(sql, "db") == (CopyTable(TableName("db", "t"), like, sql),)


@pytest.mark.parametrize(
    ("sql", "made"),
    [
        ("CREATE OR REPLACE TABLE t (a int KEY)", CreateTable),
        ("CREATE OR REPLACE TABLE `t` LIKE u", CopyTable),
        ("create or replace table t as select 1", CopyTable),
    ],
)
def test_a_replaced_table_is_dropped_first(
    sql: str, made: type[CreateTable] | type[CopyTable]
) -> None:
    """SCHEMA-18: MariaDB."""
    gone, new = parse_ddl(sql, "db")
    assert gone == DropTable(TableName("db", "t"))
    assert isinstance(new, made)
    assert new.table == TableName("db", "t")


@pytest.mark.parametrize(
    ("sql", "pairs"),
    [
        ("RENAME TABLE a TO b, c TO x.d", [("db.a", "db.b"), ("db.c", "x.d")]),
        ("RENAME TABLE x.a NOWAIT TO b", [("x.a", "db.b")]),
        ("RENAME TABLE `a/b` TO `c/d`, e TO f", [("db.e", "db.f")]),
        ("ALTER TABLE a RENAME TO b", [("db.a", "db.b")]),
        ("ALTER TABLE a RENAME AS x.b", [("db.a", "x.b")]),
        ("ALTER TABLE a RENAME `column`, RENAME INDEX i TO j", [("db.a", "db.column")]),
        ("ALTER TABLE a ADD COLUMN c int, RENAME = b", [("db.a", "db.b")]),
    ],
)
def test_renamed_tables(sql: str, pairs: list[tuple[str, str]]) -> None:
    """SCHEMA-24: each pair of a list for itself, in its order."""
    renames = [RenameTable(TableName.parse(old), TableName.parse(new), sql) for old, new in pairs]
    assert [one for one in parse_ddl(sql, "db") if isinstance(one, RenameTable)] == renames


@pytest.mark.parametrize(
    ("sql", "pairs"),
    [
        ("rename tables if exists `a` wait 5 to `b`", [("a", "b")]),
        ("RENAME TABLE IF EXISTS a TO b, c TO d", [("a", "b"), ("c", "d")]),
    ],
)
def test_tables_that_are_renamed_if_they_exist(sql: str, pairs: list[tuple[str, str]]) -> None:
    """SCHEMA-31: MariaDB."""
    renames = [
        RenameTable(TableName("db", old), TableName("db", new), sql, if_present=True)
        for old, new in pairs
    ]
    assert list(parse_ddl(sql, "db")) == renames


@pytest.mark.parametrize(
    ("sql", "if_absent"),
    [
        ("CREATE TABLE IF NOT EXISTS t (a int)", True),
        ("CREATE TABLE IF NOT EXISTS t LIKE u", True),
        ("CREATE TABLE IF NOT EXISTS t SELECT 1", True),
        ("CREATE TABLE t (a int)", False),
        ("CREATE TABLE t LIKE u", False),
        ("CREATE TABLE t (a int) SELECT 1", False),
    ],
)
def test_tables_that_are_made_unless_they_exist(sql: str, if_absent: bool) -> None:
    """SCHEMA-21."""
    (made,) = parse_ddl(sql, "db")
    assert isinstance(made, CreateTable | CopyTable)
    assert made.if_absent is if_absent


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        parse_ddl("RENAME TABLE a TO b; ALTER TABLE t TRUNCATE PARTITION p; nonsense ::", "db")
    assert caplog.records == []


@pytest.mark.parametrize(
    ("definition", "comment"),
    [
        pytest.param("a int", "", id="none"),
        pytest.param("a int NOT NULL DEFAULT 1 COMMENT 'how many'", "how many", id="behind all"),
        pytest.param('a int COMMENT "it\'s" AFTER b', "it's", id="amid others"),
        pytest.param("a int COMMENT 'it''s \\\\ a\nb'", "it's \\ a\nb", id="escaped"),
        pytest.param(f"a int COMMENT '{'x' * 10_000}'", "x" * 10_000, id="a long one"),
        pytest.param("a varchar(9) DEFAULT 'COMMENT' COMMENT ''", "", id="an empty one"),
        pytest.param("a int AS (b + 1) VIRTUAL COMMENT 'sum'", "sum", id="of a computed column"),
        pytest.param("`comment` varchar(9) COMMENT 'said'", "said", id="a column of that name"),
    ],
)
def test_a_column_says_what_it_is(definition: str, comment: str) -> None:
    """SCHEMA-39: in each statement that declares one."""
    (made,) = parse_ddl(f"CREATE TABLE t (b int, {definition.replace(' AFTER b', '')})", "db")
    assert isinstance(made, CreateTable)
    assert made.columns[-1].comment == comment
    (altered,) = parse_ddl(f"ALTER TABLE t ADD COLUMN {definition}", "db")
    assert isinstance(altered, AlterColumns)
    assert [column.comment for column in altered.items.added] == [comment]


@pytest.mark.parametrize(
    ("sql", "table", "name"),
    [
        ("FLASHBACK TABLE t", "db.t", "db.t"),
        ("flashback table `x`.`t` to `u`;", "x.t", "x.u"),
        ("FLASHBACK TABLE t TO u", "db.t", "db.u"),
        ("RECOVER TABLE x.t", "x.t", "x.t"),
        ("/* Query from host */ RECOVER TABLE `to`", "db.to", "db.to"),
    ],
)
def test_a_table_comes_back(sql: str, table: str, name: str) -> None:
    """SCHEMA-18"""
    (restored,) = parse_ddl(sql, "db")
    assert isinstance(restored, RestoreTable)
    assert (str(restored.table), str(restored.name)) == (table, name)
