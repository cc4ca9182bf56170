"""Names that come from outside: checked here, or they do not exist.

A source may call a table or column anything. What Tidemark would have to turn into a path, a
branch or an SQL identifier is refused when it could mean something else there (rule POISON-6).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NewType

from tidemark.errors import NameRefusedError

ColumnName = NewType("ColumnName", str)
TopicName = NewType("TopicName", str)
PipelineName = NewType("PipelineName", str)
AttemptId = NewType("AttemptId", str)
TagName = NewType("TagName", str)

SYSTEM_PREFIX = "_tidemark_"
MAX_NAME_BYTES = 128
_ESCAPE = "_x(002E|005F)_"
_TAG = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")
_INTERVAL_TAG = re.compile(r"asof_[0-9]{8}T[0-9]{4}([0-9]{2})?")
_OWN_REFS = ("main", "tidemark_")
FEW = 5


def refusal(name: str) -> str | None:
    """Why ``name`` may not be used, or None when it may."""
    if not name:
        return "it is empty"
    if len(name.encode(errors="surrogatepass")) > MAX_NAME_BYTES:
        return f"it is longer than {MAX_NAME_BYTES} bytes"
    if any(unicodedata.category(char).startswith("C") for char in name):
        return "it holds control characters"
    if ".." in name or any(char in name for char in "/\\*"):
        return "it holds one of .. / \\ *"
    if name.lower().startswith(SYSTEM_PREFIX):
        return f"the prefix {SYSTEM_PREFIX} is reserved for Tidemark's own columns"
    if name != name.strip():
        return "it begins or ends with blanks"
    return None


def column_name(name: str) -> ColumnName:
    """``name`` as a column name; `NameRefusedError` when it is invalid."""
    reason = refusal(name)
    if reason is not None:
        raise NameRefusedError("column", name, reason)
    return ColumnName(name)


def tag_name(name: str) -> TagName:
    """``name`` as that of a tag, which every engine takes unquoted; else `NameRefusedError`.

    >>> tag_name("month_end")
    'month_end'
    """
    if _TAG.fullmatch(name) is None:
        raise NameRefusedError("tag", name, "it is not a letter and up to 99 of A-Z a-z 0-9 _")
    if name.lower().startswith(_OWN_REFS):
        raise NameRefusedError("tag", name, "branches and tags of Tidemark's own begin so")
    return TagName(name)


def interval_tag(end: datetime) -> TagName:
    """The tag of an interval of a schedule: its end in UTC, so that no two have the same.

    >>> from datetime import timedelta, timezone
    >>> interval_tag(datetime(2026, 11, 24, 9, tzinfo=timezone(timedelta(hours=1))))
    'asof_20261124T0800'
    """
    at = end.astimezone(UTC)
    seconds = at.strftime("%S") if at.second else ""
    return TagName(f"asof_{at:%Y%m%dT%H%M}{seconds}")


def is_interval_tag(name: str) -> bool:
    """Whether `interval_tag` makes such a name; the later of two is the greater one.

    >>> is_interval_tag("asof_20261124T0800"), is_interval_tag("asof_easter")
    (True, False)
    """
    return _INTERVAL_TAG.fullmatch(name) is not None


def without_dots(name: str) -> str:
    """``name``, with each dot as ``_x002E_``, which `with_dots` takes back.

    As SQL/XML writes characters that a name may not have. An underscore that would look like the
    beginning of one is written so itself.

    >>> without_dots("a.b"), without_dots("_x002E_")
    ('a_x002E_b', '_x005F_x002E_')
    """
    return re.sub(
        rf"_(?={_ESCAPE[1:]})|\.", lambda match: "_x002E_" if match[0] == "." else "_x005F_", name
    )


def with_dots(text: str) -> str:
    """The reverse of `without_dots`.

    >>> with_dots("a_x002E_b"), with_dots("_x005F_x002E_")
    ('a.b', '_x002E_')
    """
    return re.sub(_ESCAPE, lambda match: chr(int(match[1], 16)), text)


def quote(*parts: str) -> str:
    """An identifier for Spark, in SQL and in `col`: parts in backticks, backticks doubled.

    >>> quote("lake", "odd`name")
    '`lake`.`odd``name`'
    """
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


@dataclass(frozen=True, order=True, slots=True)
class TableName:
    """A source table as its records name it: database (or schema) and table.

    >>> TableName.parse("shop.orders")
    TableName(schema='shop', table='orders')
    """

    schema: str
    table: str

    def __post_init__(self) -> None:
        for part in (self.schema, self.table):
            reason = refusal(part)
            if reason is not None:
                raise NameRefusedError("table", f"{self.schema}.{self.table}", reason)

    @classmethod
    def parse(cls, text: str) -> TableName:
        """The name in ``schema.table``; the first dot divides, and others are `without_dots`."""
        schema, _, table = text.partition(".")
        return cls(with_dots(schema), table)

    def __str__(self) -> str:
        return f"{without_dots(self.schema)}.{self.table}"


def few(names: Sequence[str], between: str = ", ") -> str:
    """Some of ``names`` for a sentence, and how many more there are.

    >>> few(["a", "b"]), few(list("abcdefg"))
    ('a, b', 'a, b, c, d, e and 2 more')
    """
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return between.join(names[:FEW]) + more
