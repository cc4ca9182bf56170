"""DDL text to a closed set of operations (SCHEMA-20 to 24): text is judged, never executed.

What is not recognised word for word is `Unsupported`, never "no effect": a statement that was
misunderstood would leave the target quietly different from its source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from sqlglot.errors import ParseError, TokenError

from tidemark.errors import NameRefusedError
from tidemark.model.names import ColumnName, TableName
from tidemark.schema.alter_items import (
    ROWS_IGNORED,
    ROWS_OF_OTHERS,
    VERSIONED,
    ColumnItems,
    judge_item,
    keeps_versions,
    may_ignore_rows,
    refusal,
    whole_items,
)
from tidemark.schema.ddl_columns import ColumnText, column_definition, key_columns
from tidemark.schema.ddl_operations import (
    RESTORED,
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
from tidemark.schema.sql_words import Words

_ROUTINES = {"PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "PACKAGE", "LIBRARY"}
"""Their bodies hold statements of their own, which do not run now."""
_WITHOUT_ROWS = _ROUTINES | {
    *("VIEW", "INDEX", "USER", "ROLE", "SERVER", "SEQUENCE", "TABLESPACE", "PLACEMENT"),
    *("RESOURCE", "BINDING", "STATISTICS", "LOGFILE", "UNDO", "INSTANCE", "REFERENCE"),
}
_HARMLESS = {
    *("SET", "USE", "GRANT", "REVOKE", "OPTIMIZE", "CHECK", "CHECKSUM", "FLUSH", "BACKUP"),
    *("BEGIN", "START", "STOP", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "XA", "LOCK"),
    *("UNLOCK", "INSTALL", "UNINSTALL", "RESET", "PURGE", "CHANGE", "KILL", "SHUTDOWN"),
    *("RESTART", "SHOW", "HELP"),
}
_HARMLESS_PAIRS = {
    *(("ANALYZE", word) for word in ("TABLE", "TABLES", "LOCAL", "NO_WRITE_TO_BINLOG")),
    *(("ADMIN", word) for word in ("CHECK", "CHECKSUM", "CLEANUP", "RECOVER", "SHOW", "RELOAD")),
    *(("SPLIT", word) for word in ("TABLE", "PARTITION", "REGION")),
    *(("CACHE", "INDEX"), ("LOAD", "INDEX"), ("LOAD", "STATS"), ("DROP", "STATS")),
    *(
        ("REFRESH", "STATS"),
        ("DROP", "PREPARE"),
        ("DISTRIBUTE", "TABLE"),
        ("ANALYZE", "INCREMENTAL"),
    ),
}
"""Two first words of a statement, where the first one begins others as well."""
_DATABASES = {"DATABASE", "SCHEMA"}
_NUMBER = re.compile(r"\d+")

NO_TARGET = NoEffect("a table whose name no target can have")


def parse_ddl(sql: str, default_schema: str) -> tuple[DdlOperation, ...]:
    """What the statements of ``sql`` do, in their order.

    A name without schema is in ``default_schema``, which the record tells (SCHEMA-23).
    """
    try:
        words = Words.of(sql)
    except TokenError:
        return (Unsupported(None, sql.strip(), "its text cannot be divided into words"),)
    operations: list[DdlOperation] = []
    for statement in _statements(words):
        operations += _judge(statement, default_schema)
    return tuple(operations)


def _statements(words: Words) -> list[Words]:
    """The statements of a text; a routine ends with the text, and so does what a client divides."""
    statements = [_governed(part) for part in words.split(";") if part.left]
    for place, statement in enumerate(statements):
        if _kind(statement) in _ROUTINES or statement.keyword() == "DELIMITER":
            rest = Words(words.text, [word for part in statements[place:] for word in part.words])
            return [*statements[:place], rest]
    return statements


def _governed(statement: Words) -> Words:
    """What MariaDB's SET STATEMENT .. FOR sets variables for; else ``statement`` as it is."""
    if (statement.keyword(), statement.keyword(1)) != ("SET", "STATEMENT"):
        return statement
    settings = next(statement.split("FOR"))
    return Words(statement.text, statement.words[len(settings.words) + 1 :])


def _judge(statement: Words, schema: str) -> tuple[DdlOperation, ...]:
    text, verb = statement.source(), statement.keyword()
    if verb in _HARMLESS or (verb, statement.keyword(1)) in _HARMLESS_PAIRS:
        return (NoEffect(verb),)
    judge = _VERBS.get(verb)
    if judge is None:
        return (Unsupported(None, text, f"{verb or 'it'} is not among the known statements"),)
    try:
        return judge(statement, schema)
    except ParseError as error:
        return (Unsupported(None, text, f"{verb} could not be read to its end: {error}"),)


def _kind(statement: Words) -> str:
    """What CREATE, ALTER or DROP is about; options such as DEFINER may stand before it."""
    if statement.keyword() not in {"CREATE", "ALTER", "DROP"}:
        return ""
    kinds = {"TABLE", "TABLES", "TEMPORARY"} | _WITHOUT_ROWS | _DATABASES
    keywords = _without_definer(statement).outside_parentheses()
    kind = next((word for word in keywords if word in kinds), "")
    return "TABLE" if kind == "TABLES" else kind


def _without_definer(statement: Words) -> Words:
    """``statement`` without DEFINER = user@host, whose names may be any words."""
    words = list(statement.words)
    keywords = [word.keyword for word in words]
    at = keywords.index("DEFINER") if "DEFINER" in keywords else len(words)
    if keywords[at + 1 : at + 2] != ["="]:
        return statement
    end = at + (5 if keywords[at + 3 : at + 4] == ["@"] else 3)
    return Words(statement.text, words[:at] + words[end:])


def _create(statement: Words, schema: str) -> tuple[DdlOperation, ...]:
    text, kind = statement.source(), _kind(statement)
    if kind in _WITHOUT_ROWS or kind == "TEMPORARY":
        return (NoEffect(f"CREATE {kind}"),)
    statement.accept("CREATE")
    is_replaced = statement.accept("OR", "REPLACE")
    begins = statement.at
    if statement.accept(kind) and kind in _DATABASES:
        statement.accept("IF", "NOT", "EXISTS")
        database = statement.name()
        gone = [DropDatabase(database)] if is_replaced else []
        return (*gone, CreateDatabase(database))
    if kind != "TABLE" or statement.at != begins + 1:
        return (Unsupported(None, text, f"CREATE {statement.keyword()} is not known"),)
    if_absent = statement.accept("IF", "NOT", "EXISTS")
    table = _table(statement, schema)
    if table is None:
        return (NO_TARGET,)
    made = _made(statement, table, schema, text)
    if not isinstance(made, Unsupported):
        made = replace(made, if_absent=if_absent)
    return (DropTable(table), made) if is_replaced else (made,)


def _made(
    statement: Words, table: TableName, schema: str, text: str
) -> CreateTable | CopyTable | Unsupported:
    """What CREATE TABLE makes; ``statement`` stands behind the name."""
    if keeps_versions(statement):
        return Unsupported(table, text, VERSIONED)
    if statement.accept("LIKE"):
        return CopyTable(table, _table(statement, schema), text)
    items = list(statement.group().split(",")) if statement.keyword() == "(" else []
    rest = {word.keyword for word in statement.words[statement.at :]}
    if items and items[0].accept("LIKE"):
        return CopyTable(table, _table(items[0], schema), text)
    if "UNION" in statement.outside_parentheses() and not rest & {"SELECT", "AS", "TABLE"}:
        return Unsupported(table, text, ROWS_OF_OTHERS)
    if not items or rest & {"SELECT", "AS", "TABLE"}:
        return CopyTable(table, None, text)
    return _new_table(table, items, text)


def _new_table(table: TableName, items: list[Words], text: str) -> CreateTable | Unsupported:
    columns: list[ColumnText] = []
    key: tuple[ColumnName, ...] = ()
    try:
        for item in items:
            declared = key_columns(item)
            if declared is None:
                column, attributes = column_definition(item)
                columns.append(column)
                key = (column.name,) if attributes.is_key else key
            else:
                key = declared or key
    except (NameRefusedError, ParseError) as error:
        return Unsupported(table, text, str(error).partition("\n")[0])
    return CreateTable(table, tuple(columns), key)


def _alter(statement: Words, schema: str) -> tuple[DdlOperation, ...]:
    text, kind = statement.source(), _kind(statement)
    if kind in _WITHOUT_ROWS | _DATABASES:
        return (NoEffect(f"ALTER {kind}"),)
    statement.accept("ALTER")
    statement.accept("ONLINE")
    ignores = statement.accept("IGNORE")
    if not statement.accept("TABLE"):
        return (Unsupported(None, text, f"ALTER {statement.keyword()} is not known"),)
    statement.accept("IF", "EXISTS")
    table = _table(statement, schema)
    _pass_wait(statement)
    is_of_partition = statement.keyword(1) == "PARTITION" and not ignores
    if is_of_partition and refusal(statement) is None:
        return (NoEffect(f"{statement.keyword()} PARTITION"),)
    return _altered(statement, table, schema, text, ignores=ignores)


def _altered(
    statement: Words, table: TableName | None, schema: str, text: str, *, ignores: bool
) -> tuple[DdlOperation, ...]:
    """What the items of an ALTER TABLE do; ``statement`` stands before the first of them.

    ignores: the source leaves out rows that do not fit, where it would fail.
    """
    items, renames = ColumnItems(), []
    refused: dict[TableName, Unsupported] = {}
    for item in whole_items(statement.split(",")):
        if item.keyword() == "RENAME" and item.keyword(1) not in {"COLUMN", "INDEX", "KEY"}:
            renames.append(_renamed_by_item(table, item, schema, text))
            continue
        why = ROWS_IGNORED if ignores and may_ignore_rows(item) else judge_item(item, items)
        if why is not None:
            for name in _named([table, _behind_table(item, schema)]):
                refused.setdefault(name, Unsupported(name, text, why))
    if refused or table is None:
        return (*refused.values(), *renames) or (NO_TARGET,)
    altered = [AlterColumns(table, items, text)] if items.has_changes else []
    return (*altered, *renames) or (NoEffect("ALTER TABLE"),)


def _behind_table(item: Words, schema: str) -> TableName | None:
    """The other table of which an item says that rows go to it or come from it."""
    keywords = [word.keyword for word in item.words]
    if "TABLE" not in keywords:
        return None
    item.at = keywords.index("TABLE") + 1
    return _table(item, schema)


def _renamed_by_item(table: TableName | None, item: Words, schema: str, text: str) -> DdlOperation:
    """RENAME among the items of an ALTER TABLE."""
    item.accept("RENAME")
    if not item.accept("TO") and not item.accept("AS"):
        item.accept("=")
    try:
        return _renamed(table, _table(item, schema), item, text)
    except ParseError as error:
        return Unsupported(table, text, f"RENAME could not be read to its end: {error}")


def _renamed(
    old: TableName | None,
    new: TableName | None,
    rest: Words,
    text: str,
    *,
    if_present: bool = False,
) -> DdlOperation:
    """The change of a name; ``rest``: what follows it."""
    if rest.left:
        raise ParseError("more follows than a name")
    if old is not None and old == new:
        return Unsupported(old, text, "it renames a table of another database to this name")
    if old is not None and new is not None:
        return RenameTable(old, new, text, if_present)
    named = old or new
    why = "it renames a table, and no target can have the other name"
    return NO_TARGET if named is None else Unsupported(named, text, why)


def _drop(statement: Words, schema: str) -> tuple[DdlOperation, ...]:
    text, kind = statement.source(), _kind(statement)
    if kind == "INDEX" and "primary" in {word.name.lower() for word in statement.words}:
        return _without_key(statement, schema)
    if kind in _WITHOUT_ROWS or kind == "TEMPORARY":
        return (NoEffect(f"DROP {kind}"),)
    statement.accept("DROP")
    if not statement.accept(kind):
        statement.accept("TABLES")
    statement.accept("IF", "EXISTS")
    if kind in _DATABASES:
        return (DropDatabase(statement.name()),)
    if kind != "TABLE":
        return (Unsupported(None, text, f"it drops {statement.source(statement.at) or 'what?'}"),)
    tables = [_table(part, schema) for part in statement.split(",")]
    return tuple(DropTable(table) for table in _named(tables)) or (NO_TARGET,)


def _without_key(statement: Words, schema: str) -> tuple[DdlOperation, ...]:
    """DROP INDEX `PRIMARY` ON a table."""
    text = statement.source()
    while statement.left and not statement.accept("ON"):
        statement.at += 1
    table = _table(statement, schema)
    items = ColumnItems(key=())
    return (NO_TARGET if table is None else AlterColumns(table, items, text),)


def _truncate(statement: Words, schema: str) -> tuple[DdlOperation, ...]:
    statement.accept("TRUNCATE")
    statement.accept("TABLE")
    table = _table(statement, schema)
    _pass_wait(statement)
    if statement.left:
        raise ParseError("more follows than a name")
    return (NO_TARGET if table is None else TruncateTable(table),)


def _rename(statement: Words, schema: str) -> tuple[DdlOperation, ...]:
    text = statement.source()
    if statement.accept("RENAME", "USER"):
        return (NoEffect("RENAME USER"),)
    if not statement.accept("RENAME", "TABLE") and not statement.accept("RENAME", "TABLES"):
        return (Unsupported(None, text, f"RENAME {statement.keyword(1)} is not known"),)
    if_present = statement.accept("IF", "EXISTS")
    renames: list[DdlOperation] = []
    for pair in statement.split(","):
        old = _table(pair, schema)
        _pass_wait(pair)
        if not pair.accept("TO"):
            raise ParseError("it does not say to what name")
        new = _table(pair, schema)
        renames.append(_renamed(old, new, pair, text, if_present=if_present))
    return tuple(renames)


def _recover(statement: Words, schema: str) -> tuple[DdlOperation, ...]:
    """FLASHBACK TABLE or RECOVER TABLE of TiDB: to another name in the database of the table."""
    text, verb = statement.source(), statement.keyword()
    if not statement.accept(verb, "TABLE") or statement.accept("BY"):
        return (Unsupported(None, text, f"{verb} of something else than a named table"),)
    schema, bare = _qualified(statement, schema)
    table = name = _known(schema, bare)
    if statement.accept("TO"):
        name = _known(schema, statement.name())
    if statement.left and table == name and _NUMBER.fullmatch(statement.source(statement.at)):
        return (NO_TARGET if table is None else Unsupported(table, text, RESTORED),)
    if statement.left:
        raise ParseError("more follows than a name")
    if name is None:
        return (NO_TARGET,)
    if table is None:
        return (Unsupported(name, text, RESTORED),)
    return (RestoreTable(table, name, text),)


def _repair(statement: Words, schema: str) -> tuple[DdlOperation, ...]:
    """REPAIR TABLE, which with USE_FRM may lose rows of MyISAM."""
    text = statement.source()
    statement.accept("REPAIR")
    if not statement.accept("LOCAL"):
        statement.accept("NO_WRITE_TO_BINLOG")
    if not statement.accept("TABLE") and not statement.accept("TABLES"):
        why = "REPAIR of something else than tables and views"
        is_view = statement.keyword() == "VIEW"
        return (NoEffect("REPAIR VIEW") if is_view else Unsupported(None, text, why),)
    if "USE_FRM" not in statement.outside_parentheses():
        return (NoEffect("REPAIR TABLE"),)
    tables = _named([_table(part, schema) for part in statement.split(",")])
    why = "rows may go without events, as the index is rebuilt"
    return tuple(Unsupported(table, text, why) for table in tables) or (NO_TARGET,)


def _named(tables: list[TableName | None]) -> list[TableName]:
    """Each table that can have a target, once."""
    return list(dict.fromkeys(table for table in tables if table is not None))


def _pass_wait(statement: Words) -> None:
    """Step over how long MariaDB waits for the table."""
    if not statement.accept("NOWAIT") and statement.accept("WAIT"):
        statement.name()


def _table(words: Words, schema: str) -> TableName | None:
    """The name of a table; None when it is invalid, so that no target can have it."""
    return _known(*_qualified(words, schema))


def _qualified(words: Words, schema: str) -> tuple[str, str]:
    """The database and the name of a table."""
    first = words.name()
    return (first, words.name()) if words.accept(".") else (schema, first)


def _known(schema: str, name: str) -> TableName | None:
    try:
        return TableName(schema, name)
    except NameRefusedError:
        return None


_VERBS: Mapping[str, Callable[[Words, str], tuple[DdlOperation, ...]]] = {
    "CREATE": _create,
    "ALTER": _alter,
    "DROP": _drop,
    "TRUNCATE": _truncate,
    "RENAME": _rename,
    "REPAIR": _repair,
    "FLASHBACK": _recover,
    "RECOVER": _recover,
}
