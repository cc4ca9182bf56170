"""The items of an ALTER TABLE, each judged for itself (SCHEMA-22)."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot.errors import ParseError

from tidemark.errors import NameRefusedError
from tidemark.schema.ddl_columns import ColumnText, column_definition
from tidemark.schema.sql_words import Words

CHANGES_KEY = "it changes the key"
RENAMES_COLUMN = "it renames a column"
UNKNOWN_ITEM = "it is not among the known changes of a table"

_NO_EFFECT = """
    ADD INDEX, ADD KEY, ADD UNIQUE, ADD FULLTEXT, ADD SPATIAL, ADD FOREIGN, ADD CHECK,
    DROP INDEX, DROP KEY, DROP FOREIGN, DROP CHECK, DROP CONSTRAINT, RENAME INDEX, RENAME KEY,
    ALTER INDEX, ALTER CHECK, ALTER CONSTRAINT, ENABLE KEYS, DISABLE KEYS,
    ADD PARTITION, REORGANIZE PARTITION, REBUILD PARTITION, COALESCE PARTITION,
    ANALYZE PARTITION, CHECK PARTITION, OPTIMIZE PARTITION, REPAIR PARTITION,
    PARTITION BY, REMOVE PARTITIONING, ORDER BY, FORCE, WITH VALIDATION, WITHOUT VALIDATION,
    CONVERT TO CHARACTER SET UTF8MB4, CONVERT TO CHARSET UTF8MB4,
    DEFAULT CHARACTER, DEFAULT CHARSET, DEFAULT COLLATE, CHARACTER SET, CHARSET, COLLATE,
    ALGORITHM, LOCK, COMMENT, ENGINE, AUTO_INCREMENT, AVG_ROW_LENGTH, CHECKSUM, COMPRESSION,
    DELAY_KEY_WRITE, ENCRYPTION, INSERT_METHOD, KEY_BLOCK_SIZE, MAX_ROWS, MIN_ROWS, PACK_KEYS,
    ROW_FORMAT, STATS_AUTO_RECALC, STATS_PERSISTENT, STATS_SAMPLE_PAGES,
    SET TIFLASH, PLACEMENT POLICY, ATTRIBUTES, AUTO_ID_CACHE, AUTO_RANDOM_BASE, CACHE, NOCACHE,
    SHARD_ROW_ID_BITS, STATS_OPTIONS, TTL, TTL_ENABLE, REMOVE TTL
"""
_HARMLESS = frozenset(tuple(phrase.split()) for phrase in _NO_EFFECT.split(","))
_REFUSED: Mapping[tuple[str, ...], str] = {
    ("ADD", "PRIMARY"): CHANGES_KEY,
    ("DROP", "PRIMARY"): CHANGES_KEY,
    ("DROP", "PARTITION"): "rows go without events",
    ("TRUNCATE", "PARTITION"): "rows go without events",
    ("EXCHANGE", "PARTITION"): "rows change without events",
    ("DISCARD",): "rows go without events",
    ("IMPORT",): "rows come without events",
    ("CONVERT", "TO"): "the character set may not hold every value",
    ("DROP",): "it drops a column",
    ("RENAME", "COLUMN"): RENAMES_COLUMN,
    ("RENAME",): "it renames the table",
}


def judge_item(item: Words, added: list[ColumnText], changed: list[ColumnText]) -> str | None:
    """Collect the columns that one item of an ALTER TABLE adds or changes.

    Out: why it cannot be followed; None when it can, as far as its text tells.
    """
    if item.accept("ADD", "CONSTRAINT"):
        is_key = "PRIMARY" in item.outside_parentheses()
        return CHANGES_KEY if is_key else None
    if item.keyword() == "ADD" and refusal(item) == UNKNOWN_ITEM:
        return _added(item, added)
    if item.keyword() in {"MODIFY", "CHANGE"}:
        return _changed(item, changed)
    return refusal(item)


def refusal(item: Words) -> str | None:
    """Why an item that adds no column cannot be followed; None when it has no effect."""
    for length in (5, 4, 3, 2, 1):
        words = tuple(item.keyword(ahead) for ahead in range(length))
        if words in _HARMLESS:
            drops_key = words[0] == "DROP" and item.words[-1].name.lower() == "primary"
            return CHANGES_KEY if drops_key else None
        if words in _REFUSED:
            return _REFUSED[words]
    keeps_type = {"DEFAULT", "VISIBLE", "INVISIBLE"} & set(item.outside_parentheses())
    return None if item.keyword() == "ALTER" and keeps_type else UNKNOWN_ITEM


def _changed(item: Words, changed: list[ColumnText]) -> str | None:
    """MODIFY, or CHANGE with one name twice; whether the new type fits, the old one decides."""
    is_named_twice = item.accept("CHANGE")
    item.accept("MODIFY")
    item.accept("COLUMN")
    item.accept("IF", "EXISTS")
    try:
        old_name = item.name() if is_named_twice else None
        column, attributes = column_definition(item)
    except (NameRefusedError, ParseError) as error:
        return str(error).partition("\n")[0]
    if old_name not in (None, column.name):
        return RENAMES_COLUMN
    if attributes.is_key:
        return CHANGES_KEY
    if attributes.is_computed:
        return f"the rows that are there get a computed value in {column.name}"
    if attributes.is_bytes:
        return f"the character set of {column.name} makes bytes of it"
    changed.append(column)
    return None


def _added(item: Words, added: list[ColumnText]) -> str | None:
    item.accept("ADD")
    item.accept("COLUMN")
    item.accept("IF", "NOT", "EXISTS")
    definitions = item.group().split(",") if item.keyword() == "(" else (item,)
    for definition in definitions:
        try:
            column, attributes = column_definition(definition)
        except (NameRefusedError, ParseError) as error:
            return str(error).partition("\n")[0]
        if attributes.is_key:
            return CHANGES_KEY
        if attributes.fills_rows:
            return f"the rows that are there get a value in {column.name}, which no event tells"
        added.append(column)
    return None
