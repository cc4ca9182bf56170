"""What the event triggers of postgres_ddl.sql write into PostgreSQL's log (SCHEMA-36).

A message tells of one statement which tables it made others, each as it was and as it is. Columns
are known by their numbers, which stay what they are, whatever the columns are called.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidemark.errors import NameRefusedError
from tidemark.model.names import ColumnName, TableName, column_name
from tidemark.schema.alter_items import ColumnItems
from tidemark.schema.ddl_columns import ColumnText, DefaultBackfill
from tidemark.schema.ddl_operations import (
    AlterColumns,
    CreateTable,
    DdlOperation,
    DropTable,
    RenameTable,
    Unsupported,
)
from tidemark.schema.postgres_widening import keeps_every_value

TRIGGERS = Path(__file__).with_name("postgres_ddl.sql")
_VERSION = 1
_OF_INDEXES = {"CREATE INDEX", "DROP INDEX", "REINDEX"}
"""Where one of these commits in its midst, older triggers wrote that every table was made by it."""
_OBJECT_IN_HEX = b"{".hex()
_URL_SAFE = str.maketrans("-_", "+/")
_USING = re.compile(r"\busing\b", re.IGNORECASE)
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_SHOWS_ALL = re.compile(
    r"(alter|create|drop|comment|grant|revoke|begin|start|commit|end|savepoint|release|set|reset|"
    r"lock|analyze|reindex|refresh)\b",
    re.IGNORECASE,
)
"""How statements begin that run no function of somebody's, in which another one may stand."""
_MOST_CHARACTERS = 10_000
"""Of a text; the triggers leave out what comes behind them."""
_DEFAULT = re.compile(r"\bdefault\b", re.IGNORECASE)
_TableState = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Text:
    """What the text of a statement adds to the states of its tables.

    statement: as messages repeat it. has_expression: it may compute values of a column anew.
    hides_some: a function may have run another statement, of which it shows nothing.
    may_have_default: it may give rows a default that the states do not show.
    """

    statement: str
    has_expression: bool
    hides_some: bool
    may_have_default: bool


def message_operations(written: object) -> tuple[DdlOperation, ...]:
    """What a statement did, by the content of its message as a record has it ``written``.

    The connector writes it as its ``binary.handling.mode`` has it. The content is an object of
    JSON, by the first characters of which each of the modes can be told from the others.
    """
    try:
        content = _content_of(written)
    except ValueError as error:
        return (_unreadable(error),)
    return postgres_operations(content)


def message_statement(written: object) -> str:
    """The text of a statement, without what was sent beside it; empty where it is unreadable.

    written: as `message_operations` takes it.
    """
    try:
        message = json.loads(_content_of(written))
        return _text_alone(str(message["statement"]).strip(), str(message["tag"]))
    except (ValueError, TypeError, KeyError):
        return ""


def _content_of(written: object) -> str:
    text = str(written)
    raw = (
        bytes.fromhex(text)
        if text.lower().startswith(_OBJECT_IN_HEX)
        else base64.b64decode(text.translate(_URL_SAFE), validate=True)
    )
    return raw.decode()


def _text_alone(sent: str, tag: str) -> str:
    """A client may send more than a statement in one piece, values among it (MSG-7)."""
    return sent if _is_alone(sent, tag) else tag


def _is_alone(sent: str, tag: str) -> bool:
    return sent.upper().startswith(tag) and ";" not in sent.rstrip(";")


def postgres_operations(content: str) -> tuple[DdlOperation, ...]:
    """What a statement did, by the ``content`` of its message."""
    try:
        message = json.loads(content)
        if message["version"] != _VERSION:
            why = f"its message has version {message['version']}, and only {_VERSION} is known"
            return (Unsupported(None, "", why),)
        sent, tag = str(message["statement"]).strip(), str(message["tag"])
        if tag in _OF_INDEXES:
            return ()
        text = _Text(
            _text_alone(sent, tag),
            has_expression=bool(_USING.search(sent)),
            hides_some=_hides_some(message["statement"]),
            may_have_default=not _is_alone(sent, tag) or bool(_DEFAULT.search(sent)),
        )
        changes = tuple(
            operation
            for change in message["tables"]
            for operation in _operations_of(change["before"], change["after"], text)
        )
        # Older triggers list neither of them.
        return (
            *changes,
            *_relabeled(message.get("relabeled", ()), text.statement),
            *_of_partitions(message["tables"], message.get("roots", {}), text),
        )
    except (ValueError, TypeError, KeyError) as error:
        return (_unreadable(error),)


def _unreadable(error: Exception) -> Unsupported:
    return Unsupported(None, "", f"a message of its trigger cannot be read: {error}")


def _hides_some(text: str) -> bool:
    """Whether a statement may not stand in the ``text`` that a client sent, as a function ran it.

    What has a semicolon between quotes may seem so, too.
    """
    parts = map(str.strip, _COMMENT.sub(" ", text).split(";"))
    is_cut_off = len(text) >= _MOST_CHARACTERS
    return is_cut_off or any(part and not _SHOWS_ALL.match(part) for part in parts)


def _operations_of(
    before: _TableState | None, after: _TableState | None, text: _Text
) -> Sequence[DdlOperation]:
    """What became of one table; a name that is invalid for a target concerns no other one."""
    try:
        return tuple(_changed(before, after, text))
    except NameRefusedError as error:
        why = str(error).partition("\n")[0]
    for state in (before, after):
        with suppress(NameRefusedError):
            if state is not None:
                return (Unsupported(_name(state), text.statement, why),)
    return ()  # It has no target under either name.


def _changed(
    before: _TableState | None, after: _TableState | None, text: _Text
) -> Iterator[DdlOperation]:
    if after is None:
        if before is not None:
            yield DropTable(_name(before))
        return
    table = _name(after)
    if before is None:
        columns = tuple(
            ColumnText(column_name(column["name"]), column["type"]) for column in after["columns"]
        )
        yield CreateTable(table, columns, _key(after))
        return
    if _name(before) != table:
        yield RenameTable(_name(before), table, text.statement)
    why = _other_values(before, after, text)
    if why is not None:
        yield Unsupported(table, text.statement, why)
    items = _items(before, after, text)
    if items.has_changes:
        yield AlterColumns(table, items, text.statement)


def _other_values(before: _TableState, after: _TableState, text: _Text) -> str | None:
    """Why rows may have other values in columns that were there; None where they have not."""
    old = {column["number"]: column["type"] for column in before["columns"]}
    types = [
        (column["name"], old[column["number"]], column["type"])
        for column in after["columns"]
        if column["number"] in old and column["type"] != old[column["number"]]
    ]
    is_rewritten = _is_rewritten(before, after)
    if (types or is_rewritten) and _may_compute(before, after, text):
        names = ", ".join(name for name, _, _ in types) or "some column"
        return f"values of {names} may be others now, by an expression"
    if not is_rewritten and not after.get("is_partitioned", False):
        return None
    unsafe = [(name, was, now) for name, was, now in types if not keeps_every_value(now, was)]
    names = ", ".join(name for name, _, _ in unsafe)
    kinds = ", ".join(f"{was} became {now}" for _, was, now in unsafe)
    return f"values of {names} may be others now, as {kinds}" if unsafe else None


def _relabeled(tables: Sequence[Mapping[str, Any]], statement: str) -> Iterator[Unsupported]:
    """Tables of which rows have other values since a label of an enum was renamed."""
    for table in tables:
        why = f"values of {', '.join(table['columns'])} have another label now"
        with suppress(NameRefusedError):  # Such a table has no target.
            yield Unsupported(_name(table), statement, why)


def _of_partitions(
    changes: Sequence[Mapping[str, _TableState | None]],
    roots: Mapping[str, _TableState],
    text: _Text,
) -> Iterator[Unsupported]:
    """What became of rows that are published as those of another table, by its number."""
    for change in changes:
        before, after = change["before"], change["after"]
        if before is None or before.get("is_partitioned"):
            continue  # It has no rows.
        was, now = before.get("root"), after.get("root") if after is not None else None
        partition = f"{before['schema']}.{before['name']}"
        why = f"rows came or went with the partition {partition}"
        if was == now:
            why = f"values of the partition {partition} may be others now, by an expression"
            if after is None or not _is_rewritten(before, after):
                continue
            if not _may_compute(before, after, text):
                continue
        for root in (roots[number] for number in roots if number in (was, now)):
            with suppress(NameRefusedError):  # Such a table has no target.
                yield Unsupported(_name(root), text.statement, why)


def _is_rewritten(before: _TableState, after: _TableState) -> bool:
    return bool(before["file"] != after["file"])


def _may_compute(before: _TableState, after: _TableState, text: _Text) -> bool:
    """Whether rows that were rewritten may have got values by an expression.

    Where the text does not show that, a column that joined is taken for why they were.
    """
    old, new = ({c["number"] for c in state["columns"]} for state in (before, after))
    return text.has_expression or (text.hides_some and new <= old)


def _items(before: _TableState, after: _TableState, text: _Text) -> ColumnItems:
    # The rows of a partitioned table are in others, which alone show whether they were rewritten.
    is_rewritten = before["file"] != after["file"] or after.get("is_partitioned", False)
    generated = set(before.get("generated", ()))  # Older triggers do not list them.
    old = {column["number"]: column_name(column["name"]) for column in before["columns"]}
    new = {column["number"]: column for column in after["columns"]}
    items = ColumnItems(dropped=[name for number, name in old.items() if number not in new])
    for number, column in new.items():
        name = column_name(column["name"])
        if number not in old:
            fill = column["fill"]
            backfill = None if fill is None else DefaultBackfill(fill, is_output=True)
            # A default that went again with the same statement was written into the rows.
            has_values = column["is_computed"] or text.may_have_default
            if number in generated or (fill is None and is_rewritten and has_values):
                backfill = DefaultBackfill(None, is_unknown=True)
            items.added.append(ColumnText(name, column["type"], backfill))
        elif old[number] != name:
            items.renamed.append((old[number], name))
    names = dict(items.renamed)
    if _key(after) != tuple(names.get(name, name) for name in _key(before)):
        items.key = _key(after)
    return items


def _name(state: _TableState) -> TableName:
    return TableName(state["schema"], state["name"])


def _key(state: _TableState) -> tuple[ColumnName, ...]:
    return tuple(map(column_name, state["key"]))
