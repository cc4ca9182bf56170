"""A table whose columns change, in plain Python, and what each kind of source sends about it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.records import Record

Row = dict[str, Any]
NAMES = ("a", "b", "c", "odd `name", "e")
TYPES = {"int": 7, "varchar(20)": "it's"}


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
            shadow.put(number, **kept | {n: fill for n, (_, fill) in (added or {}).items()})
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
        fills = {name: fill for name, (_, fill) in added.items()}
        self.rows = {n: moved(row, renamed, dropped) | fills for n, row in self.rows.items()}

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


def change_at_random(table: AlteredTable, rng: random.Random) -> None:
    """One statement: mostly rows, now and then columns."""
    if rng.random() < 0.7:
        _change_rows(table, rng)
    elif table.shadow is not None:
        table.end_migration(as_parts=table.tell_ddl is not canal_ddl)
    elif rng.random() < 0.25:
        _begin_migration(table, rng)
    else:
        _change_columns(table, rng)


def _change_rows(table: AlteredTable, rng: random.Random) -> None:
    number = rng.randint(1, 8)
    if number in table.rows and rng.random() < 0.25:
        table.delete(number)
        return
    values = {
        name: None if rng.random() < 0.2 else _value(kind, rng)
        for name, kind in table.columns.items()
        if name != "id" and rng.random() < 0.7
    }
    table.put(number, **values)


def _value(kind: str, rng: random.Random) -> Any:
    return rng.randint(-99, 99) if kind == "int" else rng.choice("xyz") * rng.randint(0, 3)


def _change_columns(table: AlteredTable, rng: random.Random) -> None:
    others = [name for name in table.columns if name != "id"]
    free = [name for name in NAMES if name not in table.columns]
    action = rng.choice(("add", "add", "fill", "rename", "swap", "drop", "again", "move"))
    if action in ("add", "fill") and free:
        kind = rng.choice(list(TYPES))
        _add(table, rng.choice(free), kind, TYPES[kind] if action == "fill" else None)
    elif action == "rename" and others and free:
        old, new = rng.choice(others), rng.choice(free)
        if (old, new) in table.renames:
            return
        items = f"RENAME COLUMN {quoted(old)} TO {quoted(new)}"
        if rng.random() < 0.5:
            items = f"CHANGE {quoted(old)} {quoted(new)} {table.columns[old]}"
        table.alter(items, renamed={old: new})
    elif action == "swap" and len(others) > 1:
        one, two = rng.sample(others, 2)
        if {(one, two), (two, one)} & table.renames:
            return
        items = f"RENAME COLUMN {quoted(one)} TO {quoted(two)}"
        items += f", RENAME COLUMN {quoted(two)} TO {quoted(one)}"
        table.alter(items, renamed={one: two, two: one})
    elif action == "drop" and len(others) > 1:
        gone = rng.choice(others)
        table.alter(f"DROP COLUMN {quoted(gone)}", dropped=[gone])
    elif action == "again" and others:
        gone, kind = rng.choice(others), rng.choice(list(TYPES))
        items = f"DROP {quoted(gone)}, ADD {quoted(gone)} {kind}"
        table.alter(items, dropped=[gone], added={gone: (kind, None)})
    elif action == "move" and others:
        name = rng.choice(others)
        kind = table.columns[name]
        table.alter(f"MODIFY {quoted(name)} {kind} NULL DEFAULT NULL COMMENT 'x' FIRST")


def _begin_migration(table: AlteredTable, rng: random.Random) -> None:
    """By gh-ost or pt-online-schema-change; a column goes, if another one is left, one joins."""
    others = [name for name in table.columns if name != "id"]
    free = [name for name in NAMES if name not in table.columns]
    dropped = [rng.choice(others)] if len(others) > 1 else []
    kind = rng.choice(list(TYPES))
    fill = rng.choice((None, TYPES[kind]))
    added = dict.fromkeys(rng.sample(free, min(1, len(free))), (kind, fill))
    default = "" if fill is None else f" DEFAULT {_literal(fill)}"
    items = [f"DROP {quoted(name)}" for name in dropped]
    items += [f"ADD {quoted(name)} {kind}{default}" for name in added]
    text = ", ".join([*items, "ADD INDEX i (id)"])
    table.begin_migration(rng.choice(("gho", "new")), text, dropped=dropped, added=added)


def _add(table: AlteredTable, name: str, kind: str, fill: Any) -> None:
    default = "" if fill is None else f" NOT NULL DEFAULT {_literal(fill)}"
    table.alter(f"ADD COLUMN {quoted(name)} {kind}{default}", added={name: (kind, fill)})


def _literal(fill: Any) -> str:
    return "'" + fill.replace("'", "''") + "'" if isinstance(fill, str) else str(fill)


def canal(table: AlteredTable, kind: str, row: Row, before: Row | None) -> Sent:
    """Canal's record of one row."""
    return Sent(_canal_record(table, kind, row, before, None))


def canal_ddl(table: AlteredTable, statement: str) -> Sent:
    """Canal's record of a statement."""
    return Sent(_canal_statement(table.name, statement, None), is_ddl=True)


def ticdc(table: AlteredTable, kind: str, row: Row, before: Row | None) -> Sent:
    """TiCDC's record of one row."""
    return Sent(_canal_record(table, kind, row, before, table.place))


def ticdc_ddl(table: AlteredTable, statement: str) -> Sent:
    """TiCDC's record of a statement."""
    return Sent(_canal_statement(table.name, statement, table.place), is_ddl=True)


def commit_ts(place: int) -> int:
    """Of the change with that number."""
    return (1_700_000_000_000 + place) << 18


def _canal_record(
    table: AlteredTable, kind: str, row: Row, before: Row | None, place: int | None
) -> Record:
    types = table.columns
    if place is not None:
        types = {name: kind.partition("(")[0] for name, kind in types.items()}
    value = {
        "id": 0,
        "database": "shop",
        "table": table.name,
        "pkNames": list(table.key),
        "isDdl": False,
        "type": kind,
        "es": 1,
        "ts": 1,
        "sql": "",
        "sqlType": dict.fromkeys(row, 12),
        "mysqlType": types,
        "old": [_texts(before)] if before is not None and kind == "UPDATE" else None,
        "data": [_texts(row)],
    }
    if place is None:
        return Record(json.dumps(value).encode())
    value["_tidb"] = {"commitTs": commit_ts(place)}
    return Record(json.dumps(value).encode(), partition=table.partition_of(row))


def _texts(row: Row) -> dict[str, str | None]:
    return {name: None if value is None else str(value) for name, value in row.items()}


def _canal_statement(table: str, statement: str, place: int | None) -> Record:
    value = {
        "id": 0,
        "database": "shop",
        "table": table,
        "pkNames": None,
        "isDdl": True,
        "type": "ALTER",
        "es": 1,
        "ts": 1,
        "sql": statement,
        "sqlType": None,
        "mysqlType": None,
        "data": None,
        "old": None,
    }
    if place is not None:
        value["_tidb"] = {"commitTs": commit_ts(place)}
    return Record(json.dumps(value).encode())


def debezium(*, has_schema: bool) -> Tell:
    """The MySQL connector's record of one row, with or without its schema."""

    def tell(table: AlteredTable, kind: str, row: Row, before: Row | None) -> Sent:
        op = {"INSERT": "c", "UPDATE": "u", "DELETE": "d"}[kind]
        value: dict[str, Any] = {
            "before": before,
            "after": None if op == "d" else row,
            "source": _source(table, "false"),
            "transaction": None,
            "op": op,
            "ts_ms": 1,
        }
        key: dict[str, Any] = {name: row[name] for name in table.key}
        if has_schema:
            value = {"schema": _wrapper(table), "payload": value}
            id_field = {"type": "int64", "optional": False, "field": "id"}
            key = {"schema": {"type": "struct", "fields": [id_field]}, "payload": key}
        partition = table.partition_of(row)
        return Sent(Record(json.dumps(value).encode(), json.dumps(key).encode(), partition))

    return tell


def _source(table: AlteredTable, mark: str) -> dict[str, Any]:
    return {
        "connector": "mysql",
        "name": "db",
        "ts_ms": 1_700_000_000_000 + table.place,
        "snapshot": mark,
        "db": "shop",
        "table": table.name,
        "file": "bin.000009",
        "pos": 100 * table.place,
        "row": 0,
    }


def _wrapper(table: AlteredTable) -> dict[str, Any]:
    connect = {"bigint": "int64", "int": "int32", "varchar(20)": "string"}
    fields = [
        {"type": connect[kind], "optional": name != "id", "field": name}
        for name, kind in table.columns.items()
    ]
    images = [
        {"type": "struct", "fields": fields, "optional": True, "field": image}
        for image in ("before", "after")
    ]
    return {"type": "struct", "fields": images, "optional": False, "name": "db.shop.items.Envelope"}


def debezium_ddl(table: AlteredTable, statement: str) -> Sent:
    """The MySQL connector's record of a statement, with the table's state after it (MSG-22)."""
    columns = []
    for place, (name, kind) in enumerate(table.columns.items(), start=1):
        base, _, size = kind.rstrip(")").partition("(")
        columns.append(
            {
                "name": name,
                "jdbcType": 4,
                "typeName": base.upper(),
                "typeExpression": base.upper(),
                "charsetName": None,
                "length": int(size) if size else None,
                "scale": None,
                "position": place,
                "optional": name not in table.key,
                "autoIncremented": False,
                "generated": False,
                "enumValues": [],
            }
        )
    change = {
        "type": "ALTER",
        "id": f'"shop"."{table.name}"',
        "table": {
            "defaultCharsetName": "utf8mb4",
            "primaryKeyColumnNames": list(table.key),
            "columns": columns,
            "comment": None,
        },
    }
    value = {
        "source": _source(table, "false"),
        "ts_ms": 1,
        "databaseName": "shop",
        "schemaName": None,
        "ddl": statement,
        "tableChanges": [change],
    }
    key = json.dumps({"databaseName": "shop"}).encode()
    return Sent(Record(json.dumps(value).encode(), key), is_ddl=True)
