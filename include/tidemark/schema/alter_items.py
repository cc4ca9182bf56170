"""The items of an ALTER TABLE, each judged for itself (SCHEMA-22)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot.errors import ParseError

from tidemark.errors import NameRefusedError
from tidemark.model.names import ColumnName, column_name
from tidemark.schema.ddl_columns import (
    ColumnText,
    DefaultBackfill,
    column_definition,
    key_columns,
)
from tidemark.schema.sql_words import Words

CHANGES_KEY = "it changes the key"
UNTOLD_BACKFILL = "the rows that are there get a value in {}, which no event tells"
COMPUTED = "the rows that are there get a computed value in {}"
VERSIONED = "rows that are updated or deleted stay in the table, as their versions"
UNKNOWN_ITEM = "it is not among the known changes of a table"
ROWS_OF_OTHERS = "it has the rows of other tables"
ROWS_IGNORED = "rows may go without events, or get other values, by IGNORE"

_NO_EFFECT = """
    ADD INDEX, ADD KEY, ADD UNIQUE, ADD FULLTEXT, ADD SPATIAL, ADD FOREIGN, ADD CHECK,
    ADD VECTOR INDEX, ADD VECTOR KEY, ADD COLUMNAR INDEX, ADD COLUMNAR KEY, ADD PERIOD FOR,
    ADD PERIOD IF NOT EXISTS FOR,
    DROP INDEX, DROP KEY, DROP FOREIGN, DROP CHECK, DROP CONSTRAINT, RENAME INDEX, RENAME KEY,
    DROP PERIOD FOR, DROP PERIOD IF EXISTS FOR,
    ALTER INDEX, ALTER KEY, ALTER CHECK, ALTER CONSTRAINT, ENABLE KEYS, DISABLE KEYS,
    ADD PARTITION, REORGANIZE PARTITION, REBUILD PARTITION, COALESCE PARTITION,
    ANALYZE PARTITION, CHECK PARTITION, OPTIMIZE PARTITION, REPAIR PARTITION,
    PARTITION BY, REMOVE PARTITIONING, ORDER BY, FORCE, WITH VALIDATION, WITHOUT VALIDATION,
    DEFAULT CHARACTER, DEFAULT CHARSET, DEFAULT COLLATE, CHARACTER SET, CHARSET, COLLATE,
    ALGORITHM, LOCK, COMMENT, ENGINE, AUTO_INCREMENT, AVG_ROW_LENGTH, CHECKSUM, COMPRESSION,
    DELAY_KEY_WRITE, ENCRYPTION, INSERT_METHOD, KEY_BLOCK_SIZE, MAX_ROWS, MIN_ROWS, PACK_KEYS,
    ROW_FORMAT, STATS_AUTO_RECALC, STATS_PERSISTENT, STATS_SAMPLE_PAGES,
    AUTOEXTEND_SIZE, DATA DIRECTORY, INDEX DIRECTORY, ENGINE_ATTRIBUTE, SECONDARY_ENGINE,
    SECONDARY_ENGINE_ATTRIBUTE, SECONDARY_LOAD, SECONDARY_UNLOAD, STORAGE, TABLESPACE,
    ENCRYPTED, ENCRYPTION_KEY_ID, PAGE_CHECKSUM, PAGE_COMPRESSED, PAGE_COMPRESSION_LEVEL,
    TABLE_CHECKSUM, TRANSACTIONAL, UPGRADE PARTITIONING,
    SET TIFLASH, SET HYPO TIFLASH, PLACEMENT POLICY, ATTRIBUTES, AUTO_ID_CACHE, AUTO_RANDOM_BASE,
    CACHE, NOCACHE, COMPACT, AFFINITY, PRE_SPLIT_REGIONS, SHARD_ROW_ID_BITS, STATS_OPTIONS,
    TTL, TTL_ENABLE, TTL_JOB_INTERVAL, REMOVE TTL,
    LAST PARTITION, MERGE FIRST PARTITION, SPLIT MAXVALUE PARTITION,
    NODEGROUP, PASSWORD, IETF_QUOTES
"""
_HARMLESS = frozenset(tuple(phrase.split()) for phrase in _NO_EFFECT.split(","))
_REFUSED: Mapping[tuple[str, ...], str] = {
    ("DROP", "PARTITION"): "rows go without events",
    ("TRUNCATE", "PARTITION"): "rows go without events",
    ("EXCHANGE", "PARTITION"): "rows change without events",
    ("CONVERT", "TO"): "the character set may not hold every value",
    ("FIRST", "PARTITION"): "rows go without events",
    ("DISCARD",): "rows go without events",
    ("IMPORT",): "rows come without events",
    ("ADD", "SYSTEM", "VERSIONING"): VERSIONED,
    ("DROP", "SYSTEM", "VERSIONING"): "rows go without events",
}
_WHOLE_CHARACTER_SETS = {"utf8mb4", "utf16", "utf16le", "utf32", "gb18030"}
_CORRELATIONS = {"CORRELATION", "DEPENDENCY", "CARDINALITY"}
_KEEPS_EACH_ROW = {
    *("DROP", "RENAME", "ALTER", "COMMENT", "AUTO_INCREMENT", "ALGORITHM", "LOCK"),
    *("ENABLE", "DISABLE", "DEFAULT"),
}


@dataclass(slots=True)
class ColumnItems:
    """What one ALTER TABLE does to columns.

    renamed: pairs of old and new; if_present: old ones of which nothing happens where they are not
    there. optional: those of ``added`` that join unless they are there. key: the columns that are
    the key now, empty for none; None where the statement leaves it. key_if_none: a table that has a
    key keeps that.
    """

    added: list[ColumnText] = field(default_factory=list)
    changed: list[ColumnText] = field(default_factory=list)
    renamed: list[tuple[ColumnName, ColumnName]] = field(default_factory=list)
    dropped: list[ColumnName] = field(default_factory=list)
    optional: set[ColumnName] = field(default_factory=set)
    if_present: set[ColumnName] = field(default_factory=set)
    key: tuple[ColumnName, ...] | None = None
    key_if_none: bool = False

    @property
    def has_unknown(self) -> bool:
        """Whether it does not show what rows get in a column that it adds."""
        return any(column.backfill and column.backfill.is_unknown for column in self.added)

    @property
    def has_changes(self) -> bool:
        """Whether it does anything to them."""
        columns = self.added or self.changed or self.renamed or self.dropped
        return bool(columns) or self.key is not None

    @property
    def fills_nulls(self) -> frozenset[ColumnName]:
        """The columns in which rows that had null may have got a value.

        A key has none. Where a table without one may get it, all its rows are in question anyway.
        """
        key = () if self.key_if_none else self.key or ()
        return frozenset(key) | {column.name for column in self.changed if column.fills_nulls}

    def take_key(self, key: tuple[ColumnName, ...], *, if_none: bool) -> None:
        """The table gets ``key``; one that the statement takes away leaves none."""
        self.key_if_none = if_none and self.key != ()
        self.key = key


def whole_items(parts: Iterable[Words]) -> Iterator[Words]:
    """The items of an ALTER TABLE; ORDER BY and SET TIFLASH may have commas of their own."""
    first = None
    for part in parts:
        if first is None or not _is_listed(part, first):
            first = part
            yield part


def _is_listed(part: Words, first: Words) -> bool:
    """Whether ``part`` is one more column of ORDER BY, or one more label of SET TIFLASH."""
    if (first.keyword(), first.keyword(1)) == ("ORDER", "BY"):
        names = [word for word in part.words if word.keyword != "."]
        column = names[:-1] if names and names[-1].keyword in {"ASC", "DESC"} else names
        return bool(column) and len(part.words) - len(names) == len(column) - 1
    is_text = len(part.words) == 1 and not part.words[0].keyword and not part.words[0].name
    return is_text and first.keyword() == "SET" and "TIFLASH" in first.outside_parentheses()


def judge_item(item: Words, items: ColumnItems) -> str | None:
    """Collect what one item of an ALTER TABLE does to columns.

    Out: why it cannot be followed; None when it can, as far as its text tells.
    """
    if keeps_versions(item):
        return VERSIONED
    if _drops_key(item):
        items.key, items.key_if_none = items.key or (), False  # A new one may stand before it.
        return None
    try:
        if item.keyword() == "ADD" and item.keyword(1) in {"CONSTRAINT", "PRIMARY"}:
            item.accept("ADD")
            if_none = "EXISTS" in item.outside_parentheses()
            key = key_columns(item)
            if key:
                items.take_key(key, if_none=if_none)
            return None
        if item.keyword() == "ADD" and refusal(item) == UNKNOWN_ITEM:
            return _added(item, items)
        if item.keyword() in {"MODIFY", "CHANGE"}:
            return _changed(item, items)
        if item.accept("RENAME", "COLUMN"):
            return _renamed(item, items)
        if item.keyword() == "DROP" and refusal(item) == UNKNOWN_ITEM:
            return _dropped(item, items)
    except (NameRefusedError, ParseError) as error:
        return str(error).partition("\n")[0]
    return refusal(item)


def keeps_versions(statement: Words) -> bool:
    """Whether a table of MariaDB, or a column, is WITH SYSTEM VERSIONING.

    An update then comes with an insert of the row of before, and a delete comes as an update.
    """
    keywords = [word.keyword for word in statement.words]
    return any(
        keywords[at : at + 3] == ["WITH", "SYSTEM", "VERSIONING"] for at in range(len(keywords))
    )


def may_ignore_rows(item: Words) -> bool:
    """Whether MariaDB's ALTER IGNORE TABLE may leave rows out, or cut values, for ``item``.

    It does with rows that a key or a CHECK refuses while it copies the table.
    """
    keywords = [word.keyword for word in item.words]
    if keywords[:1] != ["ADD"]:
        return not _KEEPS_EACH_ROW & set(keywords[:1])
    is_plain_key = bool({"FOREIGN", "FULLTEXT", "SPATIAL"} & set(keywords))
    has_key = "KEY" in keywords[2:] and not is_plain_key
    is_checked = bool({"UNIQUE", "PRIMARY", "CHECK"} & set(keywords))
    return has_key or is_checked or keywords[1:3] == ["PERIOD", "FOR"]


def _drops_key(item: Words) -> bool:
    """DROP PRIMARY KEY, and DROP INDEX or DROP CONSTRAINT with that name."""
    if item.keyword() != "DROP":
        return False
    is_named = item.keyword(1) in {"INDEX", "KEY", "CONSTRAINT"}
    return item.keyword(1) == "PRIMARY" or (is_named and item.words[-1].name.lower() == "primary")


def refusal(item: Words) -> str | None:
    """Why an item that adds no column cannot be followed; None when it has no effect."""
    keywords = item.outside_parentheses()
    if "UNION" in keywords:
        return UNKNOWN_ITEM  # Behind other options: a table of MERGE gets the rows of others.
    if _is_statistics(keywords) or _places_partition(keywords) or _keeps_characters(item):
        return None
    for length in (6, 5, 4, 3, 2, 1):
        words = tuple(item.keyword(ahead) for ahead in range(length))
        if item.keyword(1) == "=":  # MariaDB quotes the names of options of engines.
            words = (item.words[item.at].name.upper(), *words[1:])
        if words in _HARMLESS:
            return None
        if words in _REFUSED:
            return _REFUSED[words]
    keeps_type = {"DEFAULT", "VISIBLE", "INVISIBLE"} & set(keywords)
    return None if item.keyword() == "ALTER" and keeps_type else UNKNOWN_ITEM


def _places_partition(keywords: list[str]) -> bool:
    """TiDB's placement or attributes of one partition."""
    options = (["PLACEMENT"], ["ATTRIBUTES"])
    return keywords[:1] == ["PARTITION"] and keywords[2:3] in options


def _is_statistics(keywords: list[str]) -> bool:
    """TiDB's STATS_EXTENDED, which may be the name of a column as well."""
    if keywords[1:2] != ["STATS_EXTENDED"]:
        return False
    added = keywords[:1] == ["ADD"] and bool(_CORRELATIONS & set(keywords[3:]))
    return added or (
        keywords[:1] == ["DROP"] and keywords[2:] not in ([], ["RESTRICT"], ["CASCADE"])
    )


def _keeps_characters(item: Words) -> bool:
    """CONVERT TO a character set that holds every character."""
    at = Words(item.text, item.words, item.at)
    if not at.accept("CONVERT", "TO"):
        return False
    if not at.accept("CHARSET") and not at.accept("CHARACTER", "SET"):
        at.accept("CHAR", "SET")
    name = at.words[at.at].name if at.left else ""
    return (name or at.literal() or "").lower() in _WHOLE_CHARACTER_SETS


def _changed(item: Words, items: ColumnItems) -> str | None:
    """MODIFY or CHANGE; whether the new type fits, the old one decides."""
    names_twice = item.accept("CHANGE")
    item.accept("MODIFY")
    item.accept("COLUMN")
    if_present = item.accept("IF", "EXISTS")
    old_name = column_name(item.name()) if names_twice else None
    column, attributes = column_definition(item)
    if attributes.is_key:
        items.take_key((column.name,), if_none=if_present)
    if attributes.is_computed and not attributes.is_virtual:
        return COMPUTED.format(column.name)
    if attributes.is_bytes:
        return f"the character set of {column.name} makes bytes of it"
    if old_name not in (None, column.name):
        items.renamed.append((old_name, column.name))
        items.if_present |= {old_name} if if_present else set()
    items.changed.append(column)
    return None


def _renamed(item: Words, items: ColumnItems) -> str | None:
    if_present = item.accept("IF", "EXISTS")
    old = column_name(item.name())
    if not item.accept("TO"):
        return UNKNOWN_ITEM
    new = column_name(item.name())
    if item.left:
        return UNKNOWN_ITEM
    if old != new:
        items.renamed.append((old, new))
        items.if_present |= {old} if if_present else set()
    return None


def _dropped(item: Words, items: ColumnItems) -> str | None:
    item.accept("DROP")
    item.accept("COLUMN")
    item.accept("IF", "EXISTS")
    name = column_name(item.name())
    if item.left and item.outside_parentheses() not in (["RESTRICT"], ["CASCADE"]):
        return UNKNOWN_ITEM
    items.dropped.append(name)
    return None


def _added(item: Words, items: ColumnItems) -> str | None:
    item.accept("ADD")
    item.accept("COLUMN")
    is_optional = item.accept("IF", "NOT", "EXISTS")
    definitions = item.group().split(",") if item.keyword() == "(" else (item,)
    for definition in definitions:
        declared = key_columns(definition)
        if declared is not None:
            items.key = declared or items.key
            continue
        column, attributes = column_definition(definition)
        if attributes.is_key:
            items.take_key((column.name,), if_none=is_optional)
        if attributes.unknown_backfills and attributes.is_key:
            return UNTOLD_BACKFILL.format(column.name)
        unknown = DefaultBackfill(None, is_unknown=True) if attributes.unknown_backfills else None
        items.added.append(column._replace(backfill=unknown or attributes.backfill))
        if is_optional:
            items.optional.add(column.name)
    return None
