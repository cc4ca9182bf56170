"""A table whose columns change, in plain Python; `tests.support.tellers` says what sources send."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.records import Record

Row = dict[str, Any]


@dataclass(frozen=True)
class Sent:
    """One record, and whether it is a statement."""

    record: Record
    is_ddl: bool = False


Tell = Callable[["AlteredTable", str, Row, Row | None], Sent]
TellDdl = Callable[["AlteredTable", str], Sent]


@dataclass
class AlteredTable:
    """shop.items as its database has it: columns with their types, rows by id.

    Every change is told by ``tell`` or ``tell_ddl`` as it happens; place: its number. renames: that
    were made; without positions another one of the same names is refused. shadow: that an online
    schema change fills, and what will have become of the columns once it takes this one's place.
    key: the columns, numbers all of them, by which records name their rows.
    """

    tell: Tell
    tell_ddl: TellDdl
    name: str = "items"
    columns: dict[str, str] = field(default_factory=lambda: {"id": "bigint", "name": "varchar(20)"})
    rows: dict[int, Row] = field(default_factory=dict)
    place: int = 0
    sent: list[Sent] = field(default_factory=list)
    renames: set[tuple[str, str]] = field(default_factory=set)
    shadow: tuple[AlteredTable, Sequence[str], dict[str, tuple[str, Any]]] | None = None
    key: Sequence[str] = ("id",)

    def partition_of(self, row: Row) -> int:
        """Records of one key have one partition."""
        return int(sum(row[name] for name in self.key) % 3)

    def put(self, number: int, **values: Any) -> None:
        """INSERT, or UPDATE of what is there."""
        before = self.rows.get(number)
        row = dict.fromkeys(self.columns) | (before or {}) | {"id": number} | values
        self._tell("INSERT" if before is None else "UPDATE", row, before)
        self.rows[number] = row

    def delete(self, number: int) -> None:
        """DELETE of one row."""
        row = self.rows.pop(number)
        self._tell("DELETE", row, row)

    def alter(
        self,
        items: str,
        *,
        renamed: dict[str, str] | None = None,
        dropped: Sequence[str] = (),
        added: dict[str, tuple[str, Any]] | None = None,
    ) -> None:
        """ALTER TABLE; added: name -> type, and what the rows that are there get."""
        self._become(renamed or {}, dropped, added or {})
        self.renames |= (renamed or {}).items()
        self.place += 1
        self.sent.append(self.tell_ddl(self, f"ALTER TABLE {self.name} {items}"))

    def begin_migration(
        self,
        tool: str,
        items: str,
        *,
        dropped: Sequence[str] = (),
        added: dict[str, tuple[str, Any]] | None = None,
    ) -> None:
        """Make a shadow, alter it, and copy the rows; tool: suffix of its name."""
        shadow = replace(self, name=f"_{self.name}_{tool}", columns=dict(self.columns), rows={})
        columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in self.columns.items())
        like = f"LIKE {self.name}" if tool == "gho" else f"({columns}, PRIMARY KEY (id))"
        shadow.say(f"CREATE TABLE {shadow.name} {like}")
        shadow.alter(items, dropped=dropped, added=added)
        for number, row in self.rows.items():
            kept = {name: row[name] for name in shadow.columns if name in row}
            shadow.put(number, **kept | {n: backfill for n, (_, backfill) in (added or {}).items()})
        self.place = shadow.place
        self.shadow = (shadow, dropped, added or {})

    def end_migration(self, *, as_parts: bool) -> None:
        """The shadow takes this table's place. as_parts: each pair is told for itself."""
        assert self.shadow is not None
        shadow, dropped, added = self.shadow
        aside = f"_{self.name}_del"
        pairs = [(self.name, aside), (shadow.name, self.name)]
        self.place += 1
        gone = replace(self, name=aside)
        self._become({}, dropped, added)
        if as_parts:
            for table, (old, new) in zip((gone, self), pairs, strict=True):
                self.sent.append(self.tell_ddl(table, f"RENAME TABLE {old} TO {new}"))
        else:
            listed = ", ".join(f"{old} TO {new}" for old, new in pairs)
            self.sent.append(self.tell_ddl(self, f"RENAME TABLE {listed}"))
        self.shadow = None
        gone.place = self.place
        gone.say(f"DROP TABLE {aside}")
        self.place = gone.place

    def rename(self, name: str) -> None:
        """RENAME TABLE; nothing else changes."""
        self.place += 1
        statement = f"RENAME TABLE {self.name} TO {name}"
        self.name = name
        self.sent.append(self.tell_ddl(self, statement))

    def drop(self) -> None:
        """DROP TABLE."""
        self.say(f"DROP TABLE {self.name}")

    def make_anew(self, columns: dict[str, str]) -> None:
        """CREATE TABLE of the name of the one that was dropped."""
        self.columns, self.rows = dict(columns), {}
        listed = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns.items())
        self.say(
            f"CREATE TABLE {self.name} ({listed}, PRIMARY KEY ({', '.join(map(quoted, self.key))}))"
        )

    def say(self, statement: str) -> None:
        """A statement that changes no column."""
        self.place += 1
        self.sent.append(self.tell_ddl(self, statement))

    def _become(
        self,
        renamed: dict[str, str],
        dropped: Sequence[str],
        added: dict[str, tuple[str, Any]],
    ) -> None:
        self.columns = moved(self.columns, renamed, dropped)
        self.columns |= {name: kind for name, (kind, _) in added.items()}
        backfills = {name: backfill for name, (_, backfill) in added.items()}
        self.rows = {n: moved(row, renamed, dropped) | backfills for n, row in self.rows.items()}

    def _tell(self, kind: str, row: Row, before: Row | None) -> None:
        self.place += 1
        self.sent.append(self.tell(self, kind, row, before))

    @property
    def expected(self) -> dict[int, Row]:
        """The rows as a reader is to see them."""
        return {number: dict(row) for number, row in self.rows.items()}


def moved(row: Row, renamed: dict[str, str], dropped: Sequence[str]) -> Row:
    """``row`` after names changed, all at once."""
    return {renamed.get(name, name): v for name, v in row.items() if name not in dropped}


def quoted(name: str) -> str:
    """A name as MySQL writes it."""
    return "`" + name.replace("`", "``") + "`"
