"""DDL that is not understood: which tables it stops, and why."""

from __future__ import annotations

import pytest

from tidemark.model.names import TableName
from tidemark.schema.ddl import NO_TARGET, parse_ddl
from tidemark.schema.ddl_operations import AlterColumns, RenameTable, TruncateTable, Unsupported


@pytest.mark.parametrize(
    ("sql", "tables", "why"),
    [
        ("DROP SOMETHING x", [None], "it drops SOMETHING x"),
        ("RENAME TABLE t TO `_t/del`", ["db.t"], "no target can have the other name"),
        ("RENAME TABLE t u", [None], "does not say to what name"),
        ("RENAME TABLE t TO u v", [None], "more follows than a name"),
        ("ALTER TABLE t RENAME TO", ["db.t"], "a name is missing"),
        ("ALTER TABLE t RENAME TO u v", ["db.t"], "more follows than a name"),
        ("ALTER TABLE t RENAME COLUMN a b", ["db.t"], "not among the known changes"),
        ("ALTER TABLE t RENAME COLUMN a TO `b/c`", ["db.t"], "b/c"),
        ("ALTER TABLE t DROP COLUMN a b", ["db.t"], "not among the known changes"),
        ("ALTER TABLE t MODIFY a bigint AS (b + 1) STORED", ["db.t"], "computed value in a"),
        ("ALTER TABLE t MODIFY a char(3) CHARACTER SET binary", ["db.t"], "makes bytes of it"),
        ("ALTER TABLE t MODIFY a varchar(3) CHARSET binary", ["db.t"], "makes bytes of it"),
        ("ALTER TABLE t MODIFY a char(3) BYTE", ["db.t"], "makes bytes of it"),
        ("ALTER TABLE t MODIFY COLUMN", ["db.t"], "a name is missing"),
        ("ALTER TABLE t MODIFY `_tidemark_op` int", ["db.t"], "_tidemark_"),
        ("ALTER TABLE t TRUNCATE PARTITION p0", ["db.t"], "rows go without events"),
        ("ALTER TABLE t DROP PARTITION p0, p1", ["db.t"], "rows go without events"),
        (
            "ALTER TABLE t EXCHANGE PARTITION p WITH TABLE x.u WITHOUT VALIDATION",
            *(["db.t", "x.u"], "rows change without events"),
        ),
        (
            "ALTER TABLE `t/x` EXCHANGE PARTITION p WITH TABLE u",
            *(["db.u"], "rows change without events"),
        ),
        ("ALTER TABLE t CONVERT PARTITION p TO TABLE u", ["db.t", "db.u"], "not among the known"),
        (
            "ALTER TABLE t CONVERT TABLE u TO PARTITION p VALUES LESS THAN (9)",
            *(["db.t", "db.u"], "not among the known"),
        ),
        ("ALTER TABLE t EXCHANGE PARTITION p WITH TABLE", [None], "a name is missing"),
        ("ALTER TABLE `t/x` RENAME TO u", ["db.u"], "no target can have the other name"),
        ("ALTER TABLE t IMPORT TABLESPACE", ["db.t"], "rows come without events"),
        ("ALTER IGNORE TABLE t ADD UNIQUE (a)", ["db.t"], "rows may go without events"),
        ("ALTER ONLINE IGNORE TABLE t ADD PRIMARY KEY (a)", ["db.t"], "rows may go without events"),
        ("alter ignore table t add constraint u unique (a)", ["db.t"], "rows may go without"),
        ("ALTER IGNORE TABLE t DROP PRIMARY KEY, ADD b int KEY", ["db.t"], "rows may go without"),
        ("ALTER IGNORE TABLE t ADD (b int, c int UNIQUE)", ["db.t"], "rows may go without events"),
        ("ALTER IGNORE TABLE t ADD b int CHECK (b > 0)", ["db.t"], "rows may go without events"),
        ("ALTER IGNORE TABLE t ADD UNIQUE INDEX u (a)", ["db.t"], "rows may go without events"),
        ("ALTER IGNORE TABLE t MODIFY a bigint", ["db.t"], "rows may go without events"),
        ("ALTER IGNORE TABLE t CHANGE a b bigint", ["db.t"], "rows may go without events"),
        ("ALTER IGNORE TABLE t COALESCE PARTITION 2", ["db.t"], "rows may go without events"),
        ("ALTER IGNORE TABLE t FORCE", ["db.t"], "rows may go without events"),
        (
            "ALTER IGNORE TABLE t CONVERT TO CHARACTER SET utf8mb4",
            *(["db.t"], "rows may go without events"),
        ),
        (
            "ALTER IGNORE TABLE t PARTITION BY LIST (a) (PARTITION p VALUES IN (1))",
            *(["db.t"], "rows may go without events"),
        ),
        ("ALTER TABLE t CONVERT TO CHARACTER SET latin1", ["db.t"], "may not hold every value"),
        ("ALTER TABLE t ADD SYSTEM VERSIONING", ["db.t"], "stay in the table, as their versions"),
        (
            "ALTER TABLE t ADD b int, WITH SYSTEM VERSIONING",
            *(["db.t"], "stay in the table, as their versions"),
        ),
        ("ALTER TABLE t ADD b int WITH SYSTEM VERSIONING", ["db.t"], "as their versions"),
        ("CREATE TABLE t (a int) WITH SYSTEM VERSIONING", ["db.t"], "as their versions"),
        ("ALTER TABLE t DROP SYSTEM VERSIONING", ["db.t"], "rows go without events"),
        ("CREATE TABLE t (a int) ENGINE=MERGE UNION=(u)", ["db.t"], "the rows of other tables"),
        ("ALTER TABLE t FIRST PARTITION LESS THAN (5)", ["db.t"], "rows go without events"),
        ("ALTER TABLE t ORDER BY a, IMPORT TABLESPACE", ["db.t"], "rows come without events"),
        ("ANALYZE UPDATE t SET a = 1", [None], "ANALYZE is not among the known statements"),
        ("ADMIN REPAIR TABLE t CREATE TABLE t (a int)", [None], "not among the known statements"),
        ("ALTER TABLE t UNION = (u, v)", ["db.t"], "not among the known changes"),
        ("ALTER TABLE t COMMENT 'x' UNION (u)", ["db.t"], "not among the known changes"),
        ("ALTER TABLE t CONNECTION 'mysql://other/db/t'", ["db.t"], "not among the known changes"),
        ("ALTER TABLE t `frobnicate`=1", ["db.t"], "not among the known changes"),
        ("ALTER TABLE t FROBNICATE", ["db.t"], "not among the known changes"),
        ("ALTER TABLE t ADD COLUMN `_tidemark_op` int", ["db.t"], "_tidemark_"),
        ("CREATE TABLE t (a int, `b/c` int)", ["db.t"], "b/c"),
        ("CREATE TABLE t (a)", ["db.t"], "a name is missing"),
        ("CREATE OR REPLACE PROCEDURES p", [None], "CREATE PROCEDURES is not known"),
        ("CREATE TABLE t (a int", [None], "parentheses are missing"),
        ("CREATE", [None], "not known"),
        ("ALTER TABLE", [None], "a name is missing"),
        ("REPAIR TABLE t, x.u USE_FRM", ["db.t", "x.u"], "rows may go without events"),
        ("repair local table `t/x`, t quick use_frm", ["db.t"], "rows may go without events"),
        ("REPAIR t", [None], "REPAIR of something else than tables and views"),
        ("FLASHBACK TABLE `t/x` TO u", ["db.u"], "rows come back without events"),
        ("FLASHBACK TABLE x.`t/x` TO u", ["x.u"], "rows come back without events"),
        ("FLASHBACK TABLE x.t TO y.u", [None], "more follows than a name"),
        ("FLASHBACK DATABASE d", [None], "FLASHBACK of something else than a named table"),
        ("TRUNCATE TABLE t PARTITION p", [None], "more follows than a name"),
        ("ALTER TABLE t ALTER COLUMN a SET DATA TYPE int", ["db.t"], "not among the known changes"),
        ("RECOVER TABLE x.t 2", ["x.t"], "rows come back without events"),
        ("RECOVER TABLE t u", [None], "more follows than a name"),
        ("RECOVER TABLE BY JOB 53", [None], "RECOVER of something else than a named table"),
        ("DELETE FROM t", [None], "DELETE is not among the known statements"),
        ("INSERT INTO t VALUES (1)", [None], "INSERT is not among the known statements"),
        ("(select 1)", [None], "not among the known statements"),
        ("ALTER TABLE t COMMENT 'open", [None], "cannot be divided into words"),
        ("ALTER TABLE t COMMENT 'it''", [None], "cannot be divided into words"),
        ("DROP TABLE t /* open", [None], "cannot be divided into words"),
        (f"DROP TABLE t {'/*!' * 30_000}", [None], "cannot be divided into words"),
    ],
    ids=lambda shown: shown[:40] if isinstance(shown, str) else None,
)
def test_unsupported(sql: str, tables: list[str | None], why: str) -> None:
    operations = parse_ddl(sql, "db")
    assert [
        (operation.table and str(operation.table))
        for operation in operations
        if isinstance(operation, Unsupported) and why in operation.why
    ] == tables
    assert len(operations) == len(tables)


def test_a_refused_change_keeps_the_new_name() -> None:
    """SCHEMA-31: the rows of a table that stops are those of another name, too."""
    refused, renamed = parse_ddl("ALTER TABLE t FROBNICATE, RENAME TO u", "db")
    assert isinstance(refused, Unsupported)
    assert refused.table == TableName("db", "t")
    assert isinstance(renamed, RenameTable)
    assert (renamed.old, renamed.new) == (TableName("db", "t"), TableName("db", "u"))


def test_a_table_that_no_target_can_have_stops_nothing() -> None:
    """SCHEMA-26: as long as the statement names no other one."""
    for item in ("FROBNICATE", "ADD COLUMN", "ADD COLUMN a int", "EXCHANGE PARTITION p"):
        assert parse_ddl(f"ALTER TABLE `t/x` {item}", "db") == (NO_TARGET,), item


def test_statements_before_an_unsupported_one_are_kept() -> None:
    first, second = parse_ddl("TRUNCATE t; ALTER TABLE u TRUNCATE PARTITION p", "db")
    assert first == TruncateTable(TableName("db", "t"))
    assert second == Unsupported(
        TableName("db", "u"), "ALTER TABLE u TRUNCATE PARTITION p", "rows go without events"
    )


@pytest.mark.parametrize(
    "item",
    [
        "ADD COLUMN a datetime DEFAULT now()",
        "ADD COLUMN a int DEFAULT 1+1",
        "ADD COLUMN a text DEFAULT _latin1'x'",
        "ADD a varchar(9) DEFAULT b'0'",
        "ADD a timestamp(6) DEFAULT now(6)",
        "ADD a timestamp DEFAULT now() + 1",
        "ADD COLUMN a varchar(36) DEFAULT (uuid()) NULL",
        "ADD COLUMN a int AS (b + 1)",
        "ADD COLUMN (x int, a bit(2) DEFAULT b'0')",
    ],
)
def test_values_that_no_text_shows(item: str) -> None:
    """SCHEMA-38: the column joins, and it is known that its values are not."""
    (altered,) = parse_ddl(f"ALTER TABLE t {item}", "db")
    assert isinstance(altered, AlterColumns)
    unknown = [c.name for c in altered.items.added if c.backfill and c.backfill.is_unknown]
    assert unknown == ["a"]
    assert altered.items.has_unknown


def test_a_key_is_never_withheld() -> None:
    (operation,) = parse_ddl("ALTER TABLE t ADD a int AUTO_INCREMENT PRIMARY KEY", "db")
    assert isinstance(operation, Unsupported)
    assert "get a value in a" in operation.why
