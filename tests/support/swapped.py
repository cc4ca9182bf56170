"""Two tables that exchange their names, in plain Python, and the pipeline that follows them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.support import tellers
from tests.support.altered import AlteredTable, Row, Sent, Tell
from tests.support.records import ticdc_watermark
from tests.support.stack import Stream
from tidemark.model.result import CutResult
from tidemark.runs.world import World

PARTS = ("{a} TO tmp", "{b} TO {a}", "tmp TO {b}")
"""Pairs of a statement that exchanges the names a and b."""


@dataclass
class Pair:
    """Tables of one source, their pipeline, and what the source sent; next: what was not read yet.

    The target of the first one is called items, that of the second one others.
    """

    stream: Stream
    parts: Sequence[str]
    one: AlteredTable
    two: AlteredTable
    next: int = 0

    @property
    def is_debezium(self) -> bool:
        return self.stream.format.startswith("debezium")

    def on(self, table: AlteredTable) -> AlteredTable:
        """``table``, which goes on where the source is."""
        table.place = max(self.one.place, self.two.place)
        return table

    def truncate(self, table: AlteredTable) -> None:
        """TRUNCATE TABLE: a statement, or a record among the rows (TRUNC-1)."""
        if not self.is_debezium:
            self.on(table).say(f"TRUNCATE TABLE {table.name}")
        else:
            number = next(iter(table.rows))
            self.on(table).delete(number)
            told = json.loads(table.sent[-1].record.value or b"")
            body = told | {"before": None, "op": "t"}
            table.sent[-1] = Sent(replace(table.sent[-1].record, value=json.dumps(body).encode()))
        table.rows.clear()

    def swap(self) -> None:
        """RENAME TABLE of both, as the source tells it: records at one place (MSG-23, MSG-54)."""
        at = self.on(self.one).place + 1
        names = {"a": self.one.name, "b": self.two.name}
        self.one.name, self.two.name = self.two.name, self.one.name
        for part in self.parts:
            statement = f"RENAME TABLE {part.format(**names)}"
            named = statement.rpartition(" ")[2]
            bearer = next((t for t in (self.one, self.two) if t.name == named), self.one)
            bearer = replace(bearer, name=named, place=at)
            told = bearer.tell_ddl(bearer, statement)
            if self.is_debezium and named == "tmp":
                body = json.loads(told.record.value or b"") | {"tableChanges": []}
                told = replace(told, record=replace(told.record, value=json.dumps(body).encode()))
            self.one.sent.append(told)
        self.one.place = at

    def declare(self, **was: str) -> None:
        """Have the file say what the tables are called; was: target -> the name before."""
        tables = [
            {
                "source": f"shop.{table.name}",
                "target": target,
                "expectations": "none",
                **({"was": f"shop.{was[target]}"} if target in was else {}),
            }
            for target, table in (("items", self.one), ("others", self.two))
        ]
        self.stream.options = {**self.stream.options, "tables": tables}

    def send(self, sent: Sequence[Sent] | None = None) -> None:
        """What is new, or ``sent``, to its topics; TiCDC promises that all of it was sent."""
        if sent is None:
            sent, self.next = self.one.sent[self.next :], len(self.one.sent)
        if not self.is_debezium:
            at = tellers.commit_ts(max(self.one.place, self.two.place) + 1)
            sent = [*sent, *(Sent(ticdc_watermark(at, partition)) for partition in range(3))]
        for one in sent:
            apart = one.is_ddl and self.is_debezium
            self.stream.send([one.record], self.stream.statements if apart else "")

    def cut(self) -> CutResult:
        """Read what is new, and compare."""
        self.send()
        result = self.stream.cut()
        self.compare()
        return result

    def compare(self) -> None:
        """Each target has the rows of its table."""
        assert self.rows("items") == self.one.expected
        assert self.rows("others") == self.two.expected

    def rows(self, target: str, snapshot: int | None = None) -> dict[int, Row]:
        """What a reader sees, without Tidemark's own columns."""
        loaded = self.stream.world.catalog.load_table((self.stream.name, target))
        return {
            row["id"]: {k: v for k, v in row.items() if not k.startswith("_tidemark_")}
            for row in loaded.scan(snapshot_id=snapshot).to_arrow().to_pylist()
        }


def opened(world: World, family: str, parts: Sequence[str] = PARTS, **options: Any) -> Pair:
    """Both tables with some rows, published under their first names."""
    tell: Tell
    if family == "ticdc":
        stream = Stream(world, 3, options=options).create()
        tell, tell_ddl = tellers.ticdc, tellers.ticdc_ddl
    else:
        stream = Stream(world, 3, "debezium-mysql", "none", options=options, has_statements=True)
        stream.create()
        tell, tell_ddl = tellers.debezium(has_schema=False), tellers.debezium_ddl
    one = AlteredTable(tell, tell_ddl)
    two = replace(one, name="others", columns={"id": "bigint", "z": "int"}, rows={})
    pair = Pair(stream, parts, one, two)
    for table in (one, two):
        pair.on(table).alter("COMMENT 'x'")
    for number in range(1, 5):
        pair.on(one).put(number, name=f"n{number}")
        pair.on(two).put(number, z=number)
    pair.declare()
    pair.cut()
    return pair


def go_on(pair: Pair, value: int) -> None:
    """Some rows of each."""
    pair.on(pair.one).put(value, name=f"n{value}")
    pair.on(pair.two).put(value, z=-value)
    pair.on(pair.one).put(1, name=f"at {value}")
    pair.on(pair.two).put(2, z=value)


def early(pair: Pair) -> None:
    """The file has the names that the tables will have."""
    pair.one.name, pair.two.name = pair.two.name, pair.one.name
    pair.declare(items="items", others="others")
    pair.one.name, pair.two.name = pair.two.name, pair.one.name
