"""A table that gets another primary key, in plain Python, and the pipeline that follows it.

Its rows are kept whatever tells them apart.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.support import tellers
from tests.support.altered import AlteredTable, Row, Sent, Tell
from tests.support.records import Record, boundary, ticdc_watermark
from tests.support.stack import Stream
from tidemark.lake.catalog import TableId
from tidemark.lake.evolve import read_target
from tidemark.model.result import CutResult
from tidemark.runs.plan import plan_cut
from tidemark.runs.world import World

FAMILIES = ("debezium", "debezium with gate", "ticdc", "canal")
COLUMNS = {"id": "bigint", "code": "int", "name": "varchar(20)"}


@dataclass
class Keyed:
    """The source's table, its pipeline, and what was sent; next: what was not read yet.

    rows: by a number of their own, which no record tells.
    """

    stream: Stream
    table: AlteredTable
    rows: dict[int, Row] = field(default_factory=dict)
    next: int = 0

    @property
    def is_debezium(self) -> bool:
        return self.stream.format.startswith("debezium")

    def put(self, number: int, **values: Any) -> None:
        """INSERT, or UPDATE of what is there; one that changes the key is told as it is told."""
        before = self.rows.get(number)
        row = dict.fromkeys(self.table.columns) | (before or {}) | values
        self.rows[number] = row
        if before is None or not self.is_debezium or self._key(before) == self._key(row):
            self._tell("INSERT" if before is None else "UPDATE", row, before)
            return
        # KEY-6: a delete, its tombstone and an insert, at one place of the log.
        self.table.place += 1
        self._add("DELETE", before, before, ("__debezium.newkey", self._key(row)))
        ended = self.table.sent[-1].record
        self.table.sent.append(Sent(Record(None, ended.key, ended.partition)))
        self._add("INSERT", row, None, ("__debezium.oldkey", self._key(before)))

    def delete(self, number: int) -> None:
        row = self.rows.pop(number)
        self._tell("DELETE", row, row)
        if self.is_debezium:
            ended = self.table.sent[-1].record
            self.table.sent.append(Sent(Record(None, ended.key, ended.partition)))

    def key_change(self, *key: str) -> None:
        """Other columns are the key, by one statement."""
        self.table.key = key
        self.table.say(f"ALTER TABLE items DROP PRIMARY KEY, ADD PRIMARY KEY ({', '.join(key)})")

    def _key(self, row: Row) -> list[Any]:
        return [row[name] for name in self.table.key]

    def _tell(self, kind: str, row: Row, before: Row | None) -> None:
        self.table.place += 1
        self._add(kind, row, before)

    def _add(
        self, kind: str, row: Row, before: Row | None, *headers: tuple[str, list[Any]]
    ) -> None:
        told = self.table.tell(self.table, kind, row, before)
        own = tuple(
            (name, json.dumps(dict(zip(self.table.key, key, strict=True))).encode())
            for name, key in headers
        )
        self.table.sent.append(replace(told, record=replace(told.record, headers=own)))

    def send(self, sent: Sequence[Sent] | None = None) -> None:
        """What is new, or ``sent``; gates are told that all of it was sent."""
        if sent is None:
            sent, self.next = self.table.sent[self.next :], len(self.table.sent)
        if self.stream.gate == "watermark":
            at = tellers.commit_ts(self.table.place + 1)
            sent = [*sent, *(Sent(ticdc_watermark(at, partition)) for partition in range(3))]
        if self.stream.gate == "transaction":
            sent = list(self._in_transactions(sent))
        for one in sent:
            apart = one.is_ddl and self.is_debezium
            self.stream.send([one.record], self.stream.statements if apart else "")

    def _in_transactions(self, sent: Sequence[Sent]) -> Iterator[Sent]:
        """What stands at one place of the log is a transaction."""
        rows = [one for one in sent if one.record.value and not one.is_ddl]
        bodies = {id(one): json.loads(one.record.value or b"") for one in rows}
        counts = Counter(body["source"]["pos"] for body in bodies.values())
        done: Counter[int] = Counter()
        for one in sent:
            body = bodies.get(id(one))
            if body is None:
                yield one
                continue
            source = body["source"]
            place, name = source["pos"], f"file={source['file']},pos={source['pos']}"
            ends = [boundary("BEGIN", name), boundary("END", name, counts[place])]
            done[place] += 1
            body["transaction"] = {"id": name, "total_order": done[place]}
            yield replace(one, record=replace(one.record, value=json.dumps(body).encode()))
            if done[place] == counts[place]:
                table = source["table"].encode()
                told = (replace(b, value=(b.value or b"").replace(b"items", table)) for b in ends)
                self.stream.send(told, self.stream.transactions)

    def cut(self) -> list[CutResult]:
        """Read what is new until nothing waits, and compare."""
        self.send()
        results = [self.stream.cut()]
        while plan_cut(self.stream.pipeline, self.stream.world).has_work:
            assert len(results) < 9
            results.append(self.stream.cut())
        self.compare()
        return results

    def compare(self) -> None:
        assert self.published() == ordered(self.rows.values())

    def published(self) -> list[Any]:
        """What a reader of main sees, without Tidemark's own columns."""
        loaded = self.stream.world.catalog.load_table((self.stream.name, "items"))
        return ordered(without_own(loaded.scan().to_arrow().to_pylist()))

    @property
    def key(self) -> tuple[str, ...]:
        """Of the target, as it is kept with it."""
        target = read_target(self.stream.world.catalog, TableId(self.stream.name, "items"))
        assert target is not None
        return tuple(target.source_schema.key)


def ordered(rows: Iterable[Row]) -> list[Any]:
    return sorted((tuple(sorted(row.items())) for row in rows), key=str)


def without_own(rows: Iterable[Row]) -> list[Row]:
    """Rows of a target without Tidemark's own columns."""
    return [{k: v for k, v in row.items() if not k.startswith("_tidemark_")} for row in rows]


def opened(world: World, family: str, **options: Any) -> Keyed:
    """Some rows, published under the first key; codes differ as the new key will have to."""
    tell: Tell
    if family == "canal":
        stream = Stream(world, format="canal-json", gate="none", options=options).create()
        tell, tell_ddl = tellers.canal, tellers.canal_ddl
    elif family == "ticdc":
        stream = Stream(world, 3, options=options).create()
        tell, tell_ddl = tellers.ticdc, tellers.ticdc_ddl
    else:
        gate = "transaction" if family.endswith("gate") else "none"
        stream = Stream(world, 3, "debezium-mysql", gate, options=options, has_statements=True)
        stream.create()
        tell, tell_ddl = tellers.debezium(has_schema=False), tellers.debezium_ddl
    keyed = Keyed(stream, AlteredTable(tell, tell_ddl, columns=dict(COLUMNS)))
    keyed.table.alter("COMMENT 'x'")
    for number in range(1, 7):
        keyed.put(number, id=number, code=100 - 7 * number, name=f"n{number}")
    return keyed
