"""Source columns: the Iceberg type each becomes, and how its value stands in a record."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from tidemark.model.column_rename import ColumnAlias, ColumnRename, column_alias
from tidemark.model.column_rules import ColumnRules, Mask
from tidemark.model.layout import Layout
from tidemark.model.names import SYSTEM_PREFIX, ColumnName
from tidemark.model.position import LAST, Place, Position
from tidemark.model.stored_state import Stored, from_stored, to_stored
from tidemark.model.target_mode import Operation, TargetMode

POSITION = f"{SYSTEM_PREFIX}position"
COMMIT_TIME = f"{SYSTEM_PREFIX}commit_time"
ROW = f"{SYSTEM_PREFIX}row"
"""Where rows have no key: the change that made a row, which tells equal rows apart (KEY-14)."""
DELETED = f"{SYSTEM_PREFIX}deleted"
DELETED_AT = f"{SYSTEM_PREFIX}deleted_at"
"""Of a soft-delete target: whether the source has the row no more, and since when."""
VALID_FROM = f"{SYSTEM_PREFIX}valid_from"
VALID_TO = f"{SYSTEM_PREFIX}valid_to"
END_POSITION = f"{SYSTEM_PREFIX}end_position"
"""Of a history target: when a version began, and when and where it ended; null while it is open."""
STAGED_OP = OPERATION = f"{SYSTEM_PREFIX}op"
"""What a staged change does, as an Op; of an append target what a row tells, as an Operation."""
STAGED_KEY_HASH = f"{SYSTEM_PREFIX}key_hash"
CONVERSION_ERROR = f"{SYSTEM_PREFIX}conversion_error"
UNAVAILABLE = f"{SYSTEM_PREFIX}left_out"
"""Names of columns of which a change does not tell the value; an append target keeps them."""
CHANGE = f"{SYSTEM_PREFIX}change"
UNRESOLVED = f"{SYSTEM_PREFIX}unresolved"
STAGED_UNAVAILABLE = "P"
"""The staged op of an upsert of which values are still to be found: no merge takes it."""
STAGED_CONVERSION_ERROR, STAGED_UNFILLED = "X", "N"
"""Likewise of a change with a value that does not fit, or that nothing tells (POISON-4)."""
WITHHELD = f"{SYSTEM_PREFIX}withheld_"
"""Before the name of a column of which the source has values that nothing shows (SCHEMA-38)."""
ARRAY = "array<"
MOST_DOC = 1024
"""Of characters: MySQL takes no longer comment."""
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def column_doc(comment: str) -> str:
    r"""A source's comment as what a column says of itself, without what not every store takes.

    >>> column_doc("its\0id\n")
    'its id'
    """
    shown = (" " if _is_control(char) else char for char in comment)
    return "".join(shown).strip()[:MOST_DOC]


def _is_control(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cs") and char not in "\t\n"


class ValueEncoding(StrEnum):
    """How a value is written in a record's JSON; `formats.values` reads each of them."""

    INTEGER = "integer"
    UNSIGNED_AS_SIGNED = "unsigned-as-signed"
    FLOAT = "float"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    TEXT = "text"
    BASE64 = "base64"
    BASE64_URL = "base64-url"
    HEX = "hex"
    LATIN1 = "latin1"
    BITS = "bits"
    BITS_NUMBER = "bits-number"
    ENUM_INDEX = "enum-index"
    SET_MASK = "set-mask"
    BITS_TEXT = "bits-text"
    BYTES_TEXT = "bytes-text"
    DECIMAL_TEXT = "decimal-text"
    DECIMAL_BASE64 = "decimal-base64"
    DECIMAL_SCALED = "decimal-scaled"
    DAYS = "days"
    TIMESTAMP_MILLIS = "timestamp-millis"
    TIMESTAMP_MICROS = "timestamp-micros"
    TIMESTAMP_NANOS = "timestamp-nanos"
    TIMESTAMP_TEXT = "timestamp-text"
    DATE_TEXT = "date-text"
    ZONED_TEXT = "zoned-text"
    LOCAL_TEXT = "local-text"
    TIME_MILLIS = "time-millis"
    TIME_MICROS = "time-micros"
    TIME_NANOS = "time-nanos"
    TIME_TEXT = "time-text"
    GEOMETRY = "geometry"
    GEOMETRY_LATIN1 = "geometry-latin1"
    MAP = "map"


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column of a source table.

    iceberg: type as Spark SQL writes it (``decimal(12,2)``); encoding: how records hold the value,
    of an array each of its elements; digits: scale of a decimal, fraction digits of a time, bits of
    a BIT; zone: of a local time. labels: of an ENUM or SET whose values records number (TYPE-32).
    has_infinity: dates of the source may be infinite, which is null in the target (TYPE-22).
    may_be_unavailable: where an update does not change the value, records may hold a placeholder
    for it (UNAV-1). former: how records at and below the position ``changed_at`` hold it, which may
    have a former of its own; None where they do not differ (SCHEMA-4). by_schema: how those hold it
    whose schema says something else, with the ids of such schemas. backfill: what rows hold that
    are older than the column, as text that can be cast to ``iceberg``; None is null (SCHEMA-14).
    unknown_below: the source gave values that nothing shows to rows at and below this position.
    is_withheld: the target may have such rows, and the column has another name there (SCHEMA-38).
    filled_below: the source may have given a value to rows at and below this position that had null
    (SCHEMA-13); numbered_below: or to such that had 0.
    read_at: the lowest place of rows with the column, as long as snapshots alone had it.
    most_chars: to which the connector truncates texts, 0 if it does not; is_masked_at_source: it
    hides them.
    mask: what the target has in place of values.
    """

    name: ColumnName
    iceberg: str
    encoding: ValueEncoding
    source_type: str
    digits: int = 0
    zone: str = ""
    labels: tuple[str, ...] = ()
    has_infinity: bool = False
    may_be_unavailable: bool = False
    former: SourceColumn | None = None
    changed_at: Position | None = None
    backfill: str | None = None
    mask: Mask | None = None
    by_schema: tuple[tuple[tuple[int, ...], SourceColumn], ...] = ()
    unknown_below: Position | None = None
    is_withheld: bool = False
    read_at: Place | None = None
    most_chars: int = 0
    is_masked_at_source: bool = False
    filled_below: Position | None = None
    numbered_below: Position | None = None

    @property
    def variants(self) -> tuple[SourceColumn, ...]:
        """The column in every way in which records hold it."""
        former = self.former.variants if self.former else ()
        return (self, *former, *(variant for _, variant in self.by_schema))

    @property
    def stored(self) -> str:
        """Type of the target's column, as Spark SQL writes it."""
        return "string" if self.mask is Mask.HASH else self.iceberg

    @property
    def element(self) -> SourceColumn | None:
        """What an array holds; None of any other type."""
        inner = self.iceberg.removeprefix(ARRAY).removesuffix(">")
        return replace(self, iceberg=inner) if self.iceberg.startswith(ARRAY) else None

    @property
    def decimal_sizes(self) -> tuple[int, int] | None:
        """Precision and scale of a decimal; None of any other type."""
        sizes = _DECIMAL.fullmatch(self.iceberg)
        return (int(sizes[1]), int(sizes[2])) if sizes else None

    @property
    def has_bits(self) -> bool:
        """Whether it is a BIT whose values the target holds as bytes."""
        return self.encoding in (ValueEncoding.BITS, ValueEncoding.BITS_NUMBER)

    @property
    def bits(self) -> int:
        """How many bits a BIT has; none of another type."""
        return self.digits if self.has_bits else 0

    @property
    def bit_bytes(self) -> int:
        """How many bytes a value of a BIT has in the target."""
        return (self.bits + 7) // 8

    @property
    def is_sized(self) -> bool:
        """Whether the source type says its length, precision or labels."""
        return "(" in self.source_type

    def to_json(self) -> dict[str, Any]:
        """As kept in the target's properties."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> SourceColumn:
        """The reverse of `to_json`."""
        former = fields["former"]
        read = {
            "encoding": ValueEncoding(fields["encoding"]),
            "labels": tuple(fields["labels"]),
            "former": cls.from_json(former) if former else None,
            "by_schema": tuple(
                (tuple(ids), cls.from_json(variant)) for ids, variant in fields["by_schema"]
            ),
        }
        return cls(**{**fields, **read})


@dataclass(frozen=True, slots=True)
class TableSchema:
    """Columns of a source table in source order, and its key (empty when it has none).

    changed_at: of the newest statement that changed columns and was followed. column_renames: what
    became of the columns' names, in position order. dropped_at: where the source dropped the table.
    layout: of the target's files. rules: what of it the target has, and under which names. mode:
    what the target keeps. key_changed_at: of the newest statement that gave the table another key
    and was followed; former_key: the one before.
    """

    columns: tuple[SourceColumn, ...]
    key: tuple[ColumnName, ...] = ()
    changed_at: Position | None = None
    column_renames: tuple[ColumnRename, ...] = ()
    dropped_at: Position | None = None
    layout: Layout = Layout()
    rules: ColumnRules = ColumnRules()
    mode: TargetMode = TargetMode.MIRROR
    key_changed_at: Position | None = None
    former_key: tuple[ColumnName, ...] = ()

    def __getitem__(self, name: str) -> SourceColumn:
        return next(column for column in self.columns if column.name == name)

    @property
    def names(self) -> tuple[ColumnName, ...]:
        """Column names in source order."""
        return tuple(column.name for column in self.columns)

    @property
    def row_key(self) -> tuple[ColumnName, ...]:
        """What tells rows of the target apart: the key; where changes or equal rows are kept, ROW.

        Versions of a row share its key.
        """
        is_keyed_by_row = self.mode is TargetMode.APPEND or not self.key
        return (ColumnName(ROW),) if is_keyed_by_row else self.key

    @property
    def identifier(self) -> tuple[ColumnName, ...]:
        """The columns of which Iceberg may say that they identify a row (KEY-17); else none.

        One row of a mirror has a key, and none has a null in it; Iceberg takes no floating numbers,
        and nothing that holds others: ``array<int>``.
        """
        is_unique = self.mode is TargetMode.MIRROR and self.row_key == self.key
        types = {self[name].stored for name in self.key}
        refused = any(kind in ("float", "double") or "<" in kind for kind in types)
        return self.key if is_unique and not refused else ()

    @property
    def holds_values(self) -> str:
        """Which rows of the target hold a row of the source, as SQL: deletes tell the key alone."""
        if self.mode is not TargetMode.APPEND:
            return "TRUE"
        wanted = f"= '{Operation.UPSERT}'" if self.key else f"<> '{Operation.TRUNCATE}'"
        return f"{OPERATION} {wanted}"

    @property
    def stands(self) -> str:
        """Which rows of the target the source still has, as SQL."""
        return {
            TargetMode.SOFT_DELETE: f"NOT {DELETED}",
            TargetMode.HISTORY: f"{END_POSITION} IS NULL",
        }.get(self.mode, "TRUE")

    @property
    def withheld(self) -> tuple[ColumnName, ...]:
        """Columns that have another name in the target as values of them are unknown."""
        return tuple(column.name for column in self.columns if column.is_withheld)

    def target_name(self, name: ColumnName) -> ColumnName | None:
        """What the source's column ``name`` is called in the target; None when it is excluded."""
        target = self.rules.target_name(name)
        return ColumnName(f"{WITHHELD}{target}") if target and name in self.withheld else target

    @property
    def in_target(self) -> TableSchema:
        """The target's columns, which records have under other names.

        What `rules` make of it, and what is withheld.
        """
        rules = self.rules
        if rules == ColumnRules() and not self.withheld:
            return self
        names = {name: self.target_name(name) for name in self.names}
        renamed = tuple((was, name) for was, name in names.items() if name and name != was)
        gone = tuple(was for was, name in names.items() if name is None)
        columns = ((column, names[column.name]) for column in self.columns)
        return replace(
            self,
            columns=tuple(
                replace(column, name=name, mask=rules.mask(column.name), is_withheld=False)
                for column, name in columns
                if name
            ),
            key=tuple(name for name in map(names.__getitem__, self.key) if name),
            column_renames=(*self.column_renames, ColumnRename(LAST, renamed, gone)),
            rules=ColumnRules(),
        )

    def column_alias(self, name: ColumnName) -> ColumnAlias:
        """How records name the column ``name``."""
        return column_alias(self.column_renames, name)

    def to_json(self) -> dict[str, Any]:
        """As kept in the target's properties."""
        return to_stored(
            {
                "columns": [column.to_json() for column in self.columns],
                "key": list(self.key),
                "changed_at": self.changed_at,
                "column_renames": [rename.to_json() for rename in self.column_renames],
                "dropped_at": self.dropped_at,
                "layout": self.layout.to_json(),
                "rules": self.rules.to_json(),
                "mode": self.mode,
                "key_changed_at": self.key_changed_at,
                "former_key": list(self.former_key),
            }
        )

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> TableSchema:
        """The reverse of `to_json`, of any version."""
        stored = from_stored(Stored.SCHEMA, document)
        return cls(
            tuple(map(SourceColumn.from_json, stored["columns"])),
            tuple(map(ColumnName, stored["key"])),
            stored["changed_at"],
            tuple(map(ColumnRename.from_json, stored["column_renames"])),
            stored["dropped_at"],
            Layout.from_json(stored["layout"]),
            ColumnRules.from_json(stored["rules"]),
            TargetMode(stored["mode"]),
            stored["key_changed_at"],
            tuple(map(ColumnName, stored["former_key"])),
        )
