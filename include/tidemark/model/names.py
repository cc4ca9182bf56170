"""Names that come from outside: checked here, or they do not exist.

A source may call a table or column anything. What Tidemark would have to turn into a path, a
branch or an SQL identifier is refused when it could mean something else there (rule POISON-6).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NewType

from tidemark.errors import NameRefusedError

ColumnName = NewType("ColumnName", str)
TopicName = NewType("TopicName", str)
PipelineName = NewType("PipelineName", str)
AttemptId = NewType("AttemptId", str)

SYSTEM_PREFIX = "_tidemark_"
MAX_NAME_BYTES = 128
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
    """``name`` as a column name; `NameRefusedError` when it is unfit."""
    reason = refusal(name)
    if reason is not None:
        raise NameRefusedError("column", name, reason)
    return ColumnName(name)


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
        """The name in ``schema.table``; the first dot divides."""
        schema, _, table = text.partition(".")
        return cls(schema, table)

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"


def few(names: Sequence[str], between: str = ", ") -> str:
    """Some of ``names`` for a sentence, and how many more there are.

    >>> few(["a", "b"]), few(list("abcdefg"))
    ('a, b', 'a, b, c, d, e and 2 more')
    """
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return between.join(names[:FEW]) + more
