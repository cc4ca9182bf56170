"""DDL of MySQL 8 and 9, MariaDB and TiDB at random, weighted by use, and what each statement does.

What it does follows from how it was put together, in the words of `shown`; nothing here reads a
statement. It is written as people and tools write: in any case, with quotes and remarks, and parts
in comments that count as text.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

TABLES = (
    *("items", "`items`", "shop.items", "`shop`.`items`", "shop . `items`", '"items"', "status"),
    *("`a;b`", "`we ird`", "`back``tick`", "2024_orders", "таблица", "x.items", "`select`", "user"),
)
COLUMNS = (
    *("a", "`b`", "comment", "`order`", "period", "status", "2nd", "`it's`", "`x,y`", "vector"),
    *("date", "`primary`", "колонка", "visible", "first", '"q"'),
)
TYPES = (
    *("int", "int(11)", "bigint unsigned", "varchar(20)", "decimal(10,2)", "double precision"),
    *(
        "text",
        "json",
        "datetime(6)",
        "date",
        "enum('a,b','it''s',')')",
        "set('x','y')",
        "binary(3)",
    ),
    *(
        "tinyint(1)",
        "bit(8)",
        "year",
        "char(3)",
        "national varchar(9)",
        "mediumint unsigned zerofill",
    ),
)
_SPACES = (" ",) * 12 + ("\n", "\t", "  ", "/* a; b */ ", "/**/", " -- it's\n", " # `why\n")
_ROUTINE = "BEGIN DELETE FROM {t}; DROP TABLE {t}; ALTER TABLE {t} DROP COLUMN a; END"

OPTIONS = (
    *("ENGINE = InnoDB", "COMMENT = 'a, b; DROP'", "AUTO_INCREMENT 100", "ROW_FORMAT=DYNAMIC"),
    *("DEFAULT CHARSET utf8mb4", "COLLATE = utf8mb4_bin", "STATS_PERSISTENT=1", "MAX_ROWS 5"),
    *("COMPRESSION='zlib'", "ENCRYPTION='N'", "KEY_BLOCK_SIZE 8", "PAGE_COMPRESSED=1"),
    *("TRANSACTIONAL=1", "SECONDARY_ENGINE=NULL", "AUTOEXTEND_SIZE 4M", "PACK_KEYS=0"),
    *("SHARD_ROW_ID_BITS=4", "PRE_SPLIT_REGIONS=2", "AUTO_ID_CACHE 9", "PLACEMENT POLICY=`p`"),
    *("TTL = `at` + INTERVAL 1 DAY", "TTL_ENABLE='OFF'", "TTL_JOB_INTERVAL='1h'"),
    *("AUTO_RANDOM_BASE=9", "STATS_SAMPLE_PAGES DEFAULT", "TABLESPACE = ts", "DATA DIRECTORY '/d'"),
)
NO_ITEMS = (
    *OPTIONS,
    *("ADD INDEX i (a, b DESC)", "ADD KEY (a(10))", "ADD UNIQUE u (a)", "ADD UNIQUE INDEX (a)"),
    *("ADD FULLTEXT INDEX f (a) WITH PARSER ngram", "ADD SPATIAL KEY (a)", "ADD INDEX ((a + b))"),
    *("ADD INDEX i (a) USING BTREE COMMENT 'i' INVISIBLE", "ADD UNIQUE INDEX g (a) GLOBAL"),
    *("ADD CONSTRAINT c CHECK (a > 0) NOT ENFORCED", "ADD CHECK (a IN ('x', ')'))"),
    *("ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES u (b) ON DELETE SET NULL", "DROP CHECK c"),
    *("ADD CONSTRAINT UNIQUE KEY u (a)", "DROP CONSTRAINT c", "DROP FOREIGN KEY f", "DROP KEY j"),
    *("DROP INDEX i", "RENAME INDEX i TO j", "RENAME KEY i TO j", "ALTER INDEX i INVISIBLE"),
    *("ALTER CHECK c NOT ENFORCED", "ALTER CONSTRAINT c ENFORCED", "ALTER KEY k IGNORED"),
    *(
        "ALTER a SET DEFAULT 5",
        "ALTER COLUMN a SET DEFAULT (uuid())",
        "ALTER COLUMN a DROP DEFAULT",
    ),
    *("ALTER COLUMN a SET INVISIBLE", "ALTER a SET VISIBLE", "ENABLE KEYS", "DISABLE KEYS"),
    *("CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "CONVERT TO CHARSET 'utf8mb4'"),
    *("ADD INDEX IF NOT EXISTS i (a)", "DROP INDEX IF EXISTS i", "DROP CONSTRAINT IF EXISTS c"),
    *("ADD PERIOD FOR p (x, y)", "ADD PERIOD IF NOT EXISTS FOR p (x, y)", "DROP PERIOD FOR p"),
    *("DROP PERIOD IF EXISTS FOR p", "RENAME INDEX IF EXISTS i TO j", "ADD VECTOR INDEX v (e)"),
    *("ADD STATS_EXTENDED s CORRELATION(a, b)", "DROP STATS_EXTENDED s", "FORCE"),
    *("SET TIFLASH REPLICA 2 LOCATION LABELS 'a', 'b'", "ORDER BY a DESC, b, shop.c"),
    *("ATTRIBUTES='merge_option=deny'", "REMOVE TTL", "WITHOUT VALIDATION", "ALGORITHM=INSTANT"),
    *("ALGORITHM = INPLACE", "LOCK=NONE", "LOCK SHARED", "FORCE AUTO_INCREMENT = 1"),
)
PARTITIONING = (
    *("PARTITION BY HASH (a) PARTITIONS 4", "PARTITION BY LINEAR KEY ALGORITHM=2 (a)"),
    "PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (5), PARTITION q VALUES IN (1))",
    *("REMOVE PARTITIONING", "ADD PARTITION (PARTITION p9 VALUES IN (1, 2))"),
    *("ADD PARTITION PARTITIONS 4", "COALESCE PARTITION 2", "REBUILD PARTITION p0, p1"),
    *("OPTIMIZE PARTITION ALL", "ANALYZE PARTITION p0", "CHECK PARTITION p0, p1"),
    "REORGANIZE PARTITION p INTO (PARTITION q VALUES LESS THAN (3), PARTITION r COMMENT 'x')",
    *("PARTITION p0 PLACEMENT POLICY = q", "PARTITION p0 ATTRIBUTES 'a=b'", "CACHE", "NOCACHE"),
    *("LAST PARTITION LESS THAN (50)", "MERGE FIRST PARTITION LESS THAN (5)", "COMPACT"),
    *("COMPACT PARTITION p0 TIFLASH REPLICA", "SPLIT MAXVALUE PARTITION LESS THAN (9)"),
)
STOPPING = (
    *("DROP PARTITION p0, p1", "TRUNCATE PARTITION ALL", "DISCARD TABLESPACE", "IMPORT TABLESPACE"),
    *("CONVERT TO CHARACTER SET latin1", "UNION = (u, v)", "FIRST PARTITION LESS THAN (5)"),
    "ADD SYSTEM VERSIONING",
)
EXCHANGES = (
    *("EXCHANGE PARTITION p WITH TABLE {o}", "CONVERT PARTITION p TO TABLE {o}"),
    "EXCHANGE PARTITION p WITH TABLE {o} WITHOUT VALIDATION",
)
AROUND = (
    *(
        "CREATE INDEX i ON {t} (a)",
        "CREATE UNIQUE INDEX `i` USING BTREE ON {t} (a DESC) COMMENT 'x'",
    ),
    *("CREATE FULLTEXT INDEX f ON {t} (a)", "DROP INDEX i ON {t} ALGORITHM=INPLACE LOCK=NONE"),
    *(
        "CREATE OR REPLACE VIEW v AS SELECT * FROM {t}",
        "DROP VIEW IF EXISTS v",
        "ANALYZE TABLE {t}",
    ),
    *("CREATE ALGORITHM=MERGE DEFINER=`r`@`%` SQL SECURITY INVOKER VIEW v AS SELECT 1",),
    *("ALTER VIEW v AS TABLE {t}", "OPTIMIZE TABLE {t}", "CHECK TABLE {t} FOR UPGRADE"),
    *("REPAIR TABLE {t} QUICK", "CHECKSUM TABLE {t}", "FLUSH TABLES {t}", "LOCK TABLES {t} WRITE"),
    *("UNLOCK TABLES", "GRANT ALL ON shop.* TO 'u'@'%'", "REVOKE SELECT ON {t} FROM u"),
    *(
        "CREATE USER IF NOT EXISTS 'u'@'%' IDENTIFIED BY 'DROP TABLE t'",
        "DROP USER u",
        "CREATE ROLE r",
    ),
    *("ALTER USER u ACCOUNT LOCK", "RENAME USER a TO b", "SET PASSWORD FOR u = 'x'", "DROP ROLE r"),
    f"CREATE DEFINER=table@h PROCEDURE p() {_ROUTINE}",
    f"CREATE TRIGGER g BEFORE INSERT ON {{t}} FOR EACH ROW {_ROUTINE}",
    f"CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO {_ROUTINE}",
    f"CREATE FUNCTION f() RETURNS INT DETERMINISTIC {_ROUTINE}",
    *("DROP PROCEDURE IF EXISTS p", "DROP TRIGGER shop.g", "DROP EVENT e", "ALTER EVENT e DISABLE"),
    *("CREATE FUNCTION f RETURNS STRING SONAME 'f.so'", "ALTER PROCEDURE p COMMENT 'x'"),
    *("CREATE TEMPORARY TABLE {t} (a INT)", "DROP TEMPORARY TABLE IF EXISTS {t}"),
    *("CREATE SEQUENCE s START WITH 5", "ALTER SEQUENCE s RESTART", "DROP SEQUENCE s"),
    *(
        "CREATE TABLESPACE ts ADD DATAFILE 'x.ibd'",
        "DROP TABLESPACE ts",
        "ALTER TABLESPACE a RENAME TO b",
    ),
    *("CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'h')", "DROP SERVER s"),
    *("CREATE PLACEMENT POLICY p FOLLOWERS=4", "DROP PLACEMENT POLICY p", "DROP STATS {t}"),
    *("CREATE RESOURCE GROUP r RU_PER_SEC=9", "CREATE GLOBAL BINDING FOR SELECT 1 USING SELECT 1"),
    *("LOCK STATS {t}", "UNLOCK STATS {t}", "SPLIT TABLE {t} BETWEEN (0) AND (9) REGIONS 3"),
    *(
        "ADMIN CHECK TABLE {t}",
        "ANALYZE LOCAL TABLE {t}",
        "ALTER INSTANCE ROTATE INNODB MASTER KEY",
    ),
    *("INSTALL PLUGIN p SONAME 'p.so'", "INSTALL COMPONENT 'file://c'", "UNINSTALL PLUGIN p"),
    *(
        "CREATE SPATIAL REFERENCE SYSTEM 4120 NAME 'x'",
        "CREATE LIBRARY l LANGUAGE JAVASCRIPT AS 'x'",
    ),
    *("PURGE BINARY LOGS TO 'x'", "RESET MASTER", "STOP SLAVE", "CHANGE MASTER TO MASTER_HOST='x'"),
    *("BACKUP STAGE START", "CACHE INDEX {t} IN c", "SET GLOBAL max_connections = 9", "USE shop"),
    *(
        "ALTER DATABASE shop CHARACTER SET utf8mb4",
        "ALTER SCHEMA shop READ ONLY = 1",
        "SAVEPOINT s",
    ),
    *("CREATE PACKAGE BODY p AS BEGIN DROP TABLE t; END", "DROP PACKAGE p", "XA START 'x'"),
)


CONSTRAINTS = (
    *("KEY i (a(3) DESC)", "UNIQUE (a)", "CHECK (a > 0)", "INDEX ((a + 1))"),
    *("CONSTRAINT c CHECK (a IN (1, 2))", "FOREIGN KEY (a) REFERENCES u (b)"),
)

Parts = dict[str, list[str]]
"""Kind of change of columns -> those that an ALTER TABLE makes, in its order."""


@dataclass(frozen=True)
class Statement:
    """A text, and what it does."""

    text: str
    does: tuple[str, ...]


@dataclass
class Grammar:
    """Statements by one source of chance."""

    rng: random.Random

    def statement(self) -> Statement:
        """One of any kind."""
        kinds: dict[Callable[[], Statement], int] = {
            self._alter: 46,
            self._around: 16,
            self._create: 12,
            self._drop: 6,
            self._partition: 5,
            self._rename: 4,
            self._copy: 3,
            self._truncate: 3,
            self._database: 2,
            self._stopping: 1,
            self._back: 1,
        }
        (make,) = self.rng.choices(list(kinds), list(kinds.values()))
        return make()

    def _alter(self) -> Statement:
        written, name = self._table()
        parts: Parts = {kind: [] for kind in ("drop", "rename", "add", "change", "key")}
        items: list[str] = []
        columns = self._columns(8)
        for _ in range(self.rng.choices((1, 2, 3, 4), (60, 20, 12, 8))[0]):
            kind = self.rng.choices(
                ("add", "none", "drop", "modify", "rename", "change", "key"),
                (34, 30, 10, 12, 6, 5, 3),
            )[0]
            items.append(self._item(kind, columns, parts))
        tail = ""
        parts["key"] = parts["key"][-1:]
        if self.rng.random() < 0.1:
            new, new_name = self._table()
            if new_name != name:
                items.append(f"RENAME {self.rng.choice(('TO ', 'AS ', ''))}{new}")
                tail = f"rename {name} to {new_name}"
        verb = self.rng.choice(
            ("ALTER TABLE",) * 8 + ("ALTER ONLINE TABLE", "ALTER TABLE IF EXISTS")
        )
        does = [f"alter {name}: {'; '.join(p for kind in parts.values() for p in kind)}"]
        does = does if any(parts.values()) else []
        does += [tail] if tail else []
        return self._spelled(f"{verb} {written} {', '.join(items)}", does or ["none"])

    def _item(self, kind: str, columns: list[str], parts: Parts) -> str:
        column, optional = columns.pop(), self.rng.choice(("", "COLUMN "))
        if kind == "none":
            return self.rng.choice(NO_ITEMS)
        if kind == "drop":
            parts["drop"].append(f"drop {_unquoted(column)}")
            return f"DROP {optional}{self.rng.choice(('', '', 'IF EXISTS '))}{column}"
        if kind == "rename":
            new = columns.pop()
            parts["rename"].append(f"rename {_unquoted(column)} to {_unquoted(new)}")
            return f"RENAME COLUMN {column} TO {new}"
        if kind == "key":
            if self.rng.random() < 0.3 and not parts["key"]:
                parts["key"].append("key none")
                return "DROP PRIMARY KEY"
            parts["key"].append(f"key {_unquoted(column)}")
            named = self.rng.choice(("", "CONSTRAINT `k` ", "CONSTRAINT "))
            return f"ADD {named}PRIMARY KEY ({column}){self.rng.choice(('', ' USING BTREE'))}"
        text = self.rng.choice(TYPES)
        place = self.rng.choice(("", "", " FIRST", " AFTER `z`"))
        note = self.rng.choice(("", "", " COMMENT 'PRIMARY KEY, DEFAULT 5'"))
        if kind == "modify":
            parts["change"].append(f"change {_unquoted(column)} {text}")
            null = self.rng.choice(("", " NOT NULL", " NULL DEFAULT NULL"))
            return f"MODIFY {optional}{column} {text}{null}{note}{place}"
        if kind == "change":
            new = columns.pop()
            parts["rename"].append(f"rename {_unquoted(column)} to {_unquoted(new)}")
            parts["change"].append(f"change {_unquoted(new)} {text}")
            return f"CHANGE {optional}{column} {new} {text}{note}{place}"
        return self._added(column, text, optional, f"{note}{place}", parts)

    def _added(self, column: str, text: str, optional: str, behind: str, parts: Parts) -> str:
        attributes, filled = self.rng.choices(
            (
                ("", ""),
                (" NULL", ""),
                (" DEFAULT NULL", ""),
                (" INVISIBLE", ""),
                (" NOT NULL", " = implied"),
                (" NOT NULL DEFAULT '7'", " = 7"),
                (" DEFAULT -1.5 NOT NULL", " = -1.5"),
                (" DEFAULT 'a,'')' UNIQUE", " = a,')"),
                (" DEFAULT (uuid())", " = unknown"),
                (" AS (b * (2 + 1)) VIRTUAL", " = unknown"),
                (" GENERATED ALWAYS AS (concat(b, ','))  STORED", " = unknown"),
            ),
            (30, 6, 8, 2, 8, 20, 8, 6, 4, 4, 4),
        )[0]
        name = _unquoted(column)
        guard = self.rng.choice(("", "", "", "IF NOT EXISTS "))
        if self.rng.random() < 0.1:
            parts["add"] += [f"add {name} {text}{filled}", "add also int"]
            return f"ADD {optional}({column} {text}{attributes}, also int, INDEX (also))"
        parts["add"].append(f"add {name} {text}{filled}")
        return f"ADD {optional}{guard}{column} {text}{attributes}{behind}"

    def _create(self) -> Statement:
        written, name = self._table()
        columns = self._columns(self.rng.randint(1, 5))
        types = [self.rng.choice(TYPES) for _ in columns]
        key = self.rng.sample(columns, self.rng.randint(0, min(2, len(columns))))
        items = [
            f"{column} {text}{self.rng.choice(('', ' NOT NULL', ' DEFAULT NULL', ' COMMENT `x`'))}"
            for column, text in zip(columns, types, strict=True)
        ]
        items = [item.replace("`x`", "'KEY (a), '") for item in items]
        if len(key) == 1 and self.rng.random() < 0.5:
            at = columns.index(key[0])
            items[at] += self.rng.choice((" PRIMARY KEY", " KEY", " PRIMARY KEY AUTO_RANDOM(5)"))
        elif key:
            kind = self.rng.choice(("", "CONSTRAINT `pk` ", "CONSTRAINT "))
            end = self.rng.choice(("", " USING BTREE", " NONCLUSTERED", " /*T![c] CLUSTERED */"))
            items.append(f"{kind}PRIMARY KEY ({', '.join(key)}){end}")
        items += self.rng.sample(CONSTRAINTS, self.rng.randint(0, 2))
        options = " ".join(self.rng.sample(OPTIONS, self.rng.randint(0, 3)))
        partitions = self.rng.choice(("", "", " /*!50100 PARTITION BY HASH (a) PARTITIONS 2 */"))
        guard = self.rng.choice(("", "", "IF NOT EXISTS "))
        told = ", ".join(f"{_unquoted(c)} {text}" for c, text in zip(columns, types, strict=True))
        does = f"create {name}: {told}; key {', '.join(map(_unquoted, key)) or 'none'}"
        text = f"CREATE TABLE {guard}{written} ({', '.join(items)}) {options}{partitions}"
        if not guard and self.rng.random() < 0.1:
            return self._spelled(
                text.replace("CREATE", "CREATE OR REPLACE", 1), [f"drop {name}", does]
            )
        return self._spelled(text, [does])

    def _copy(self) -> Statement:
        (written, name), (other, other_name) = self._table(), self._table()
        texts = {
            f"CREATE TABLE {written} LIKE {other}": other_name,
            f"CREATE TABLE {written} (LIKE {other})": other_name,
            f"CREATE TABLE {written} AS TABLE {other}": "a query",
            f"CREATE TABLE {written} (a INT) IGNORE SELECT 1 AS a": "a query",
        }
        text = self.rng.choice(list(texts))
        return self._spelled(text, [f"copy {name} like {texts[text]}"])

    def _drop(self) -> Statement:
        tables = list(dict.fromkeys(self._table() for _ in range(self.rng.choice((1, 1, 1, 2, 3)))))
        names = list(dict.fromkeys(name for _, name in tables))
        verb = self.rng.choice(("DROP TABLE", "DROP TABLE", "DROP TABLE IF EXISTS", "DROP TABLES"))
        written = [next(w for w, n in tables if n == name) for name in names]
        end = self.rng.choice(("", "", " CASCADE", " RESTRICT", " /* generated by server */"))
        return self._spelled(f"{verb} {', '.join(written)}{end}", [f"drop {n}" for n in names])

    def _truncate(self) -> Statement:
        written, name = self._table()
        return self._spelled(
            f"TRUNCATE {self.rng.choice(('TABLE ', ''))}{written}", [f"truncate {name}"]
        )

    def _rename(self) -> Statement:
        tables: dict[str, str] = {}
        while len(tables) < 4:
            written, name = self._table()
            tables.setdefault(name, written)
        names = list(tables)
        pairs = [(names[0], names[1]), (names[2], names[3])][: self.rng.choice((1, 1, 2))]
        text = ", ".join(f"{tables[old]} TO {tables[new]}" for old, new in pairs)
        verb = self.rng.choice(("RENAME TABLE", "RENAME TABLES"))
        return self._spelled(f"{verb} {text}", [f"rename {old} to {new}" for old, new in pairs])

    def _partition(self) -> Statement:
        written, _ = self._table()
        return self._spelled(f"ALTER TABLE {written} {self.rng.choice(PARTITIONING)}", ["none"])

    def _stopping(self) -> Statement:
        (written, name), (other, other_name) = self._table(), self._table()
        if name != other_name and self.rng.random() < 0.3:
            item = self.rng.choice(EXCHANGES).replace("{o}", other)
            does = [f"stop {name}", f"stop {other_name}"]
            return self._spelled(f"ALTER TABLE {written} {item}", does)
        return self._spelled(f"ALTER TABLE {written} {self.rng.choice(STOPPING)}", [f"stop {name}"])

    def _database(self) -> Statement:
        texts = {
            "CREATE DATABASE `d` DEFAULT CHARACTER SET utf8mb4": "make d",
            "CREATE SCHEMA IF NOT EXISTS d": "make d",
            "DROP DATABASE IF EXISTS `d`": "end d",
            "DROP SCHEMA d": "end d",
        }
        text = self.rng.choice(list(texts))
        return self._spelled(text, [texts[text]])

    def _back(self) -> Statement:
        written, name = self._table()
        if self.rng.random() < 0.3:
            as_name = f"{name.partition('.')[0]}.back"
            return self._spelled(
                f"FLASHBACK TABLE {written} TO back", [f"back {name} as {as_name}"]
            )
        verb = self.rng.choice(("FLASHBACK", "RECOVER"))
        return self._spelled(f"{verb} TABLE {written}", [f"back {name} as {name}"])

    def _around(self) -> Statement:
        written, _ = self._table()
        return self._spelled(self.rng.choice(AROUND).replace("{t}", written), ["none"])

    def _table(self) -> tuple[str, str]:
        """A name as it is written, and as it is meant."""
        written = self.rng.choice(TABLES)
        schema, _, name = written.rpartition(".")
        return written, f"{_unquoted(schema.strip()) or 'shop'}.{_unquoted(name.strip())}"

    def _columns(self, count: int) -> list[str]:
        return self.rng.sample(COLUMNS, count)

    def _spelled(self, text: str, does: Sequence[str]) -> Statement:
        """``text`` with other spaces, remarks, and keywords in any case."""
        words = _words(text)
        if self.rng.random() < 0.3:
            spell = self.rng.choice((str.lower, str.title))
            words = [spell(word) if word.isascii() and word.isupper() else word for word in words]
        spaced = "".join(self.rng.choice(_SPACES) if word == " " else word for word in words)
        around = self.rng.choice(("{}",) * 6 + ("/* by a tool */ {}", "{};", "{} /* end */"))
        return Statement(around.replace("{}", spaced), tuple(does))


def _unquoted(name: str) -> str:
    quote = name[:1]
    return name[1:-1].replace(quote * 2, quote) if quote in ("`", '"') else name


def _words(text: str) -> list[str]:
    """The words of a text that is put together here, with the spaces between them."""
    words: list[str] = []
    word = quote = ""
    for at, sign in enumerate(text):
        if quote:
            word += sign
            closes = sign == quote[-1] and (len(quote) == 1 or text[at - 1] == "*")
            quote = "" if closes else quote
        elif sign in "'\"`" or text[at : at + 2] == "/*":
            quote = "*/" if sign == "/" else sign
            word += sign
        elif sign == " ":
            words += [word, " "] if words[-1:] != [" "] or word else []
            word = ""
        else:
            word += sign
    return [*words, word]
