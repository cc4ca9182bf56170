"""Source columns with random values: what each form of record says of them, what must come out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from functools import partial
from itertools import cycle
from random import Random
from typing import Any

from tests.spark.properties.canal import canal_sent, ticdc_sent
from tests.spark.properties.connect import DECIMAL, Connect
from tests.spark.properties.connectors import Sent, mysql_sent, postgres_sent
from tests.spark.properties.numerals import scaled
from tests.spark.properties.shown import Show, mysql_shown, postgres_shown, record_shown
from tidemark.formats.record_schema import RecordSchema
from tidemark.model.columns import SourceColumn
from tidemark.model.modes import ConnectorModes, TimeMode
from tidemark.schema.connect_types import connect_columns, refine
from tidemark.schema.postgres_types import postgres_column, postgres_record_columns
from tidemark.schema.source_types import canal_column, debezium_column

COUNT = int(os.environ.get("VALUES", "2000"))
"""Values of a family of types, shared by its cases."""
SEED = os.environ.get("VALUES_SEED", "1")
MYSQL, POSTGRES = ConnectorModes(), ConnectorModes(time=TimeMode.ADAPTIVE)
NULLS = 0.04


class Form(StrEnum):
    """Who wrote the records, and how.

    numbers: the JSON converter's ``decimal.format`` is numeric; mixed: it was in the meantime.
    """

    MYSQL = "debezium-mysql, json"
    MYSQL_SCHEMA = "debezium-mysql, json with schema"
    MYSQL_NUMBERS = "debezium-mysql, json with schema and numbers"
    MYSQL_MIXED = "debezium-mysql, json with mixed decimals"
    MYSQL_AVRO = "debezium-mysql, avro"
    POSTGRES = "debezium-postgres, json"
    POSTGRES_SCHEMA = "debezium-postgres, json with schema"
    POSTGRES_NUMBERS = "debezium-postgres, json with schema and numbers"
    POSTGRES_MIXED = "debezium-postgres, json with schema and mixed decimals"
    POSTGRES_AVRO = "debezium-postgres, avro"
    CANAL = "canal-json"
    TICDC = "ticdc-canal-json"
    CANAL_NUMBERS = "canal-json, with numbers"
    TICDC_NUMBERS = "ticdc-canal-json, with numbers"

    @property
    def is_postgres(self) -> bool:
        """Debezium's PostgreSQL connector wrote them; else its MySQL connector, if any did."""
        return self.value.startswith("debezium-postgres")

    @property
    def is_canal(self) -> bool:
        """They are no Debezium records."""
        return "canal" in self

    @property
    def has_schema(self) -> bool:
        """Each record tells what its columns are."""
        return "schema" in self or self.is_avro

    @property
    def is_avro(self) -> bool:
        """They are Avro; else they are JSON."""
        return self.endswith("avro")

    @property
    def has_numbers(self) -> bool:
        """Decimals are JSON numbers."""
        return self.endswith("numbers")

    @property
    def is_mixed(self) -> bool:
        """Some decimals are JSON numbers."""
        return self.endswith("mixed decimals")


DEBEZIUM = (
    *(Form.MYSQL, Form.MYSQL_SCHEMA, Form.MYSQL_AVRO),
    *(Form.POSTGRES, Form.POSTGRES_SCHEMA, Form.POSTGRES_AVRO),
)
ALL = (*DEBEZIUM, Form.CANAL, Form.TICDC)


@dataclass(frozen=True)
class Values:
    """Values of a column: some that are always tried, and how any other one is drawn."""

    edges: Sequence[Any]
    draw: Callable[[Random], Any]

    def take(self, count: int, rng: Random) -> list[Any]:
        """So many of them; None now and then."""
        drawn = (None if rng.random() < NULLS else self.draw(rng) for _ in range(count))
        return [*self.edges, *drawn][:count]


@dataclass(frozen=True)
class Canal:
    """A column in Canal-JSON: its ``mysqlType``, what DDL says of it, the zone of its values."""

    mysql_type: str
    text: Callable[[Any], str]
    shown: Show
    ddl_type: str | None = None
    zone: str | None = None


@dataclass(frozen=True)
class Case:
    """One source column.

    shown: what must come out where its type is known. alone: where only the record's schema is.
    """

    text: str
    values: Values
    is_postgres: bool
    modes: ConnectorModes
    sent: Sent
    shown: Show
    alone: Show
    canal: Canal | None = None
    ticdc: Canal | None = None
    note: str = ""
    in_debezium: bool = True

    def __str__(self) -> str:
        own = POSTGRES if self.is_postgres else MYSQL
        changed = [
            f"{name}={getattr(self.modes, name)}"
            for name in self.modes.__slots__
            if getattr(self.modes, name) != getattr(own, name)
        ]
        return " ".join(filter(None, (self.text, *changed, self.note)))

    def inside(self, form: Form) -> tuple[Cell, ...]:
        """The columns that ``form`` makes of it; with a JSON schema one more, known by it alone."""
        if form.is_canal:
            canal = self.ticdc if form.startswith("ticdc") else self.canal
            return () if canal is None else (_canal_cell(self, canal),)
        if form.is_postgres != self.is_postgres or not self.in_debezium:
            return ()
        sent = self.sent
        if form.has_numbers or form.is_mixed:
            sent = _with_numbers(self.sent, is_mixed=form.is_mixed)
        known = Cell(self, sent, partial(_declared, self), self.shown)
        if not form.has_schema:
            return (known,)
        refined = replace(known, column=partial(_refined, self))
        if form.is_avro:  # its schema is read as the one that JSON would have had
            return (refined,)
        return refined, Cell(self, sent, partial(_recorded, self), self.alone, is_alone=True)


@dataclass(frozen=True)
class Cell:
    """A case as one form has it.

    column: its name, and an example of its records -> what the code under test knows of it.
    shown: value -> what must come out.
    """

    case: Case
    sent: Sent
    column: Callable[[str, RecordSchema], SourceColumn]
    shown: Show
    mysql_type: str = ""
    is_alone: bool = False

    def encoded(self, value: Any) -> Any:
        """What stands in a record; null stays null."""
        return None if value is None else self.sent.encode(value)

    def expected(self, value: Any) -> Any:
        """What a reader must find."""
        return None if value is None else self.shown(value)


def mysql(
    text: str,
    values: Values,
    *,
    modes: ConnectorModes = MYSQL,
    sent: Sent | None = None,
    shown: Show | None = None,
    **more: Any,
) -> Case:
    """A column of MySQL, also as Canal and TiCDC send it if the connector has its own modes."""
    sent, shown = sent or mysql_sent(text, modes), shown or mysql_shown(text)
    alone = record_shown(text, modes, sent, shown)
    if modes == MYSQL and "note" not in more:
        canal, ticdc = canal_sent(text), ticdc_sent(text)
        more.setdefault("canal", Canal(canal.mysql_type, canal.text, shown))
        more.setdefault("ticdc", Canal(ticdc.mysql_type, ticdc.text, shown, text))
    return Case(text, values, False, modes, sent, shown, alone, **more)


def postgres(
    text: str,
    values: Values,
    *,
    modes: ConnectorModes = POSTGRES,
    sent: Sent | None = None,
    note: str = "",
) -> Case:
    """A column of PostgreSQL."""
    sent, shown = sent or postgres_sent(text, modes), postgres_shown(text, modes)
    return Case(
        text, values, True, modes, sent, shown, record_shown(text, modes, sent, shown), note=note
    )


def _canal_cell(case: Case, canal: Canal) -> Cell:
    def column(name: str, record: RecordSchema) -> SourceColumn:
        return canal_column(name, record.types[name], canal.ddl_type, canal.zone)

    sent = Sent(Connect("string"), canal.text)
    return Cell(case, sent, column, canal.shown, mysql_type=canal.mysql_type)


def _declared(case: Case, name: str, _record: RecordSchema) -> SourceColumn:
    """A column by the source's own type."""
    return (postgres_column if case.is_postgres else debezium_column)(name, case.text, case.modes)


def _recorded(case: Case, name: str, record: RecordSchema) -> SourceColumn:
    """A column by what a record's schema says of it."""
    fields = [field for field in record.fields if field["field"] == name]
    columns = postgres_record_columns if case.is_postgres else connect_columns
    return columns(fields, case.modes)[0]


def _refined(case: Case, name: str, record: RecordSchema) -> SourceColumn:
    """A column by both."""
    return refine(_recorded(case, name, record), _declared(case, name, record))


def _with_numbers(sent: Sent, *, is_mixed: bool) -> Sent:
    """The same column where the converter writes decimals as numbers, or every other one."""
    turns = cycle((True, not is_mixed))

    def encode(value: Any) -> Any:
        encoded = sent.encode(value)
        return _as_number(sent.connect, encoded) if next(turns) else encoded

    return Sent(sent.connect, encode)


def _as_number(connect: Connect, encoded: Any) -> Any:
    if connect.items is not None and isinstance(encoded, list):
        return [_as_number(connect.items, one) for one in encoded]
    if connect.name != DECIMAL or encoded is None:
        return encoded
    unscaled = int.from_bytes(encoded, "big", signed=True)
    number: Decimal = scaled(unscaled, int(connect.parameters["scale"]))
    return number
