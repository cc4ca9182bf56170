"""Names and statements that mean harm wherever they are not taken for what they are: text."""

from __future__ import annotations

import random
from collections.abc import Iterator

MOST_CHARACTERS = 64
"""Of a name in MySQL."""
VICTIM = "victim"
SECRET_VARIABLE = "HOSTILE_SECRET"  # noqa: S105  the name of a variable
_HARM = (
    *("`", "``", "'", "''", '"', "\\", ";", "--", "/*", "*/", "#", "$$", "`.`", "')", '")'),
    *(".", "..", "/", "../", "%2e%2e%2f", "%00", ":", "~", "?", "&", "=", "|", ">", "@", "*", ","),
    "; DROP TABLE victim; --",
    "`; DELETE FROM victim; --",
    "' OR 1=1; INSERT INTO victim VALUES (9)",
    ") UNION SELECT * FROM victim --",
    "victim.branch_main",
    "victim$snapshots",
    f"${{env:{SECRET_VARIABLE}}}",
    "${file:/etc/passwd}",
    "{{ 7*7 }}",
    "{% raw %}",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    *("$(id)", "`id`", "%s", "%(x)s", "{0}", "{}", "${jndi:ldap://x}"),
    *("\0", "\n", "\r", "\t", "\x1b[2J", "\u202e", "\u200b", "\ufeff", "\ud800", "\x7f"),
    *("а", "ｓ", "ſ", "K", "İ", "ı", "ß", "é", "e\u0301", "名前", "🦑", "\u00a0", "\u2028"),
    *("_x002E_", "_x005F_", "_tidemark_op", "_tidemark_", "tidemark_1_a", "_file", "_pos"),
    *("select", "TABLE", "null", "true", "main", "key", "value", "offset", "op", "row"),
    *("_col0", "element", "before", "after", "metadata", "data", "snapshots", "CON", "NUL"),
)
_PLAIN = ("a", "id", "order_total", "x" * 40, "7", "Größe")
_STATEMENTS = (
    "ALTER TABLE {table} ADD COLUMN {name} INT",
    "ALTER TABLE {table} ADD COLUMN {name} VARCHAR(20) DEFAULT {text} COMMENT {text}",
    "ALTER TABLE {table} DROP COLUMN {name}",
    "ALTER TABLE {table} RENAME COLUMN {name} TO {other}",
    "ALTER TABLE {table} CHANGE {name} {other} BIGINT",
    "ALTER TABLE {table} COMMENT = {text}",
    "ALTER TABLE {table} RENAME TO {other}",
    "RENAME TABLE {table} TO {other}, {other} TO {name}",
    "CREATE TABLE {name} (id INT PRIMARY KEY, {other} TEXT COMMENT {text})",
    "CREATE TABLE {name} AS SELECT * FROM {table}",
    "CREATE VIEW {name} AS SELECT {text}",
    "DROP TABLE {name}",
    "TRUNCATE TABLE {name}",
    "DROP DATABASE {name}",
    "CREATE PROCEDURE {name}() BEGIN DROP TABLE {table}; END",
    "SET {name} = {text}; DROP TABLE {table}",
    "/* {bare} */ ALTER TABLE {table} ADD COLUMN {name} INT",
    "/*!50000 DROP TABLE {table} */",
    "ALTER TABLE {table} ADD COLUMN {bare} INT",
    "LOAD DATA INFILE '/etc/passwd' INTO TABLE {table}",
    "SELECT {text} INTO OUTFILE '/tmp/{bare}'",
    "CALL lake.system.remove_orphan_files({text})",
    "DELETE FROM {table} WHERE {name} = {text}",
    "MERGE INTO {table} t USING {name} s ON true WHEN MATCHED THEN DELETE",
    "{bare}",
)


def names(count: int, seed: int = 1) -> list[str]:
    """``count`` names, no two alike."""
    return _distinct(_names(random.Random(seed)), count)  # noqa: S311  no secret


def statements(count: int, table: str, seed: int = 1) -> list[str]:
    """``count`` statements about ``table`` and others, no two alike."""
    return _distinct(_texts(random.Random(seed), table), count)  # noqa: S311  no secret


def _distinct(drawn: Iterator[str], count: int) -> list[str]:
    seen: dict[str, None] = {}
    while len(seen) < count:
        seen.setdefault(next(drawn))
    return list(seen)


def _names(chances: random.Random) -> Iterator[str]:
    yield from _HARM
    while True:
        parts = chances.choices((*_HARM, *_PLAIN), k=chances.randint(1, 4))
        yield "".join(parts)[:MOST_CHARACTERS]


def _texts(chances: random.Random, table: str) -> Iterator[str]:
    drawn = _names(chances)
    for name in drawn:
        form = chances.choice(_STATEMENTS)
        parts = {"table": table, "bare": name, "name": _quoted(name), "other": _quoted(next(drawn))}
        yield form.format(**parts, text="'" + next(drawn).replace("'", "''") + "'")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
