"""A table that gets another primary key, by what Debezium, TiCDC and Canal send about it (KEY-16).

The published rows are compared with a table in plain Python, which keeps its rows whatever tells
them apart. Behind the statement rows share what was the key.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from confluent_kafka.cimpl import NewTopic

from tests.support import tellers
from tests.support.altered import AlteredTable, Row, Sent, Tell
from tests.support.records import Record, boundary, ticdc_watermark
from tests.support.stack import Stream
from tidemark.errors import TableStoppedError
from tidemark.lake.catalog import SystemTables, TableId
from tidemark.lake.evolve import read_source_schema
from tidemark.lake.ledger import read_progress
from tidemark.model.result import CutResult, CutStatus
from tidemark.runs.cut import stage_cut
from tidemark.runs.plan import plan_cut
from tidemark.runs.publish import publish_cut
from tidemark.runs.run import CutRequest
from tidemark.runs.world import World

FAMILIES = ("debezium", "debezium with gate", "ticdc", "canal")
KEYS = [("id",), ("code",), ("id", "code"), ("code", "id")]
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

    def rekey(self, *key: str) -> None:
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
            self.stream.send([one.record], f"{self.stream.name}.schemas" if apart else "")

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
        kept = read_source_schema(self.stream.world.catalog, TableId(self.stream.name, "items"))
        assert kept is not None
        return tuple(kept.key)


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
        stream = Stream(world, 3, format="debezium-mysql", gate=gate, options=options)
        schemas = f"{stream.name}.schemas"
        topics = {"data": [stream.topic], "schema-changes": [schemas]}
        if gate == "transaction":
            topics["transactions"] = [stream.transactions]
        stream.source = {"topics": topics}
        stream.create()
        made = stream.admin.create_topics(
            [NewTopic(schemas, num_partitions=1, replication_factor=1)]
        )
        made[schemas].result(timeout=30)
        tell, tell_ddl = tellers.debezium(has_schema=False), tellers.debezium_ddl
    keyed = Keyed(stream, AlteredTable(tell, tell_ddl, columns=dict(COLUMNS)))
    keyed.table.alter("COMMENT 'x'")
    for number in range(1, 7):
        keyed.put(number, id=number, code=100 - 7 * number, name=f"n{number}")
    return keyed


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_go_on_under_the_new_key(world: World, family: str) -> None:
    """KEY-16, SCHEMA-11, KEY-6, DUP-2: by the old key up to the statement, then by the new one."""
    keyed = opened(world, family)
    keyed.cut()
    before = keyed.published()
    first = world.catalog.load_table((keyed.stream.name, "items")).metadata.current_snapshot_id
    keyed.put(1, code=500)
    keyed.delete(2)
    keyed.put(7, id=2, code=93, name="old key, again")
    keyed.put(3, id=33)
    keyed.rekey("code")
    keyed.put(4, name="by the new key", id=5)
    keyed.put(8, id=5, code=1, name="the same id")
    keyed.put(5, code=2)
    keyed.put(1, code=51)
    keyed.delete(7)
    keyed.put(9, id=9, code=93, name="a code that was free again")
    keyed.delete(6)
    results = keyed.cut()
    assert "another key behind the statement" in results[0].hold
    assert keyed.key == ("code",)
    table = world.catalog.load_table((keyed.stream.name, "items"))
    assert not table.schema().find_field("id").required
    older = table.scan(snapshot_id=first).to_arrow().to_pylist()
    assert ordered(without_own(older)) == before
    keyed.put(4, id=None)
    keyed.put(8, name="later")
    keyed.delete(5)
    keyed.cut()
    if family == "canal":
        return  # What is sent again cannot be told there.
    keyed.send(keyed.table.sent)
    keyed.cut()
    keyed.put(9, code=94, name="after all came again")
    keyed.put(10, id=9, code=93)
    keyed.cut()


@pytest.mark.parametrize("family", ["canal"])
def test_without_positions_rows_of_the_old_key_stop_the_table(world: World, family: str) -> None:
    """POS-11, KEY-1: nothing tells whether they were sent again."""
    keyed = opened(world, family)
    keyed.rekey("code")
    keyed.put(1, name="behind")
    keyed.cut()
    keyed.send(keyed.table.sent)
    with pytest.raises(TableStoppedError, match=r"KEY_MISMATCH"):
        keyed.stream.cut()
    keyed.compare()


@pytest.mark.parametrize("family", ["debezium", "ticdc"])
def test_random_histories(world: World, family: str) -> None:
    """KEY-16, DUP-2: keys that grow, change and come back; at times all is sent again."""
    rng = random.Random(family)  # noqa: S311  repeatable, not secret
    keyed = opened(world, family)
    number = 1000
    for _ in range(6):
        for _ in range(rng.randint(1, 8)):
            number += 1
            known, action = rng.choice(list(keyed.rows)), rng.random()
            column = rng.choice(("id", "code"))
            if action < 0.25 and len(keyed.rows) > 3:
                keyed.delete(known)
            elif action < 0.5:
                own = dict.fromkeys(keyed.table.key, number)
                keyed.put(number, **{"id": rng.randint(1, 4), "code": rng.randint(1, 4), **own})
            elif action < 0.7:
                value = number if column in keyed.table.key else rng.randint(1, 4)
                keyed.put(known, **{column: value})
            else:
                keyed.put(known, name=f"at {number}")
        for key in rng.sample(KEYS, rng.choice((0, 1, 1, 2))):
            told = Counter(tuple(row[name] for name in key) for row in keyed.rows.values())
            if max(told.values()) == 1:
                keyed.rekey(*key)
                keyed.put(rng.choice(list(keyed.rows)), name="behind")
        if rng.random() < 0.4:
            keyed.send(keyed.table.sent)
        keyed.cut()


@pytest.mark.parametrize("family", ["debezium", "ticdc"])
def test_a_new_target_begins_below_the_statement(world: World, family: str) -> None:
    """KEY-16, SCHEMA-25: also where the first attempt made it and died, and nothing else."""
    keyed = opened(world, family)
    keyed.put(2, name="second")
    keyed.rekey("code")
    keyed.put(2, name="third", id=1)
    keyed.put(7, id=1, code=7)
    keyed.send()
    dead = stage_cut(keyed.stream.pipeline, world, CutRequest(keyed.stream.attempt()))
    assert dead.status is CutStatus.STAGED
    keyed.cut()
    assert keyed.key == ("code",)


def test_an_attempt_that_died_leaves_no_key_behind(world: World) -> None:
    """SCHEMA-10: the key shows with the rows of its cut, and publishing twice changes nothing."""
    keyed = opened(world, "ticdc")
    keyed.cut()
    keyed.rekey("code")
    keyed.put(2, id=1, name="behind")
    keyed.send()
    stage_cut(keyed.stream.pipeline, world, CutRequest(keyed.stream.attempt()))
    assert keyed.key == ("id",)
    attempt = keyed.stream.attempt()
    stage_cut(keyed.stream.pipeline, world, CutRequest(attempt))
    publish_cut(keyed.stream.pipeline, world, attempt)
    publish_cut(keyed.stream.pipeline, world, attempt)
    assert keyed.key == ("code",)
    keyed.cut()


@pytest.mark.parametrize("family", ["debezium", "debezium with gate", "ticdc"])
def test_the_key_goes_and_comes_by_two_statements(world: World, family: str) -> None:
    """KEY-16: as TiDB makes it; a row between them stops the table."""
    keyed = opened(world, family)
    keyed.cut()
    keyed.put(2, name="below")
    keyed.table.say("ALTER TABLE items DROP PRIMARY KEY")
    keyed.send()
    with pytest.raises(TableStoppedError, match="it has none any more: ALTER TABLE items DROP P"):
        keyed.cut()
    keyed.table.key = ("code",)
    keyed.table.say("ALTER TABLE items ADD PRIMARY KEY (code)")
    keyed.put(3, id=2)
    keyed.cut()
    keyed.table.say("ALTER TABLE items DROP PRIMARY KEY")
    keyed.put(3, name="between")
    keyed.table.key = ("id", "code")
    keyed.table.say("ALTER TABLE items ADD PRIMARY KEY (id, code)")
    keyed.put(4, name="behind")
    keyed.send()
    with pytest.raises(TableStoppedError, match="rows came between the loss of the old one and"):
        keyed.stream.cut()


@pytest.mark.parametrize("family", ["debezium", "debezium with gate", "ticdc"])
def test_a_table_that_stood_lower_gets_its_key_alone(world: World, family: str) -> None:
    """KEY-16, SCHEMA-11: the statement stands below what the others have published."""
    tables: list[dict[str, Any]] = [
        {"source": "shop.items", "expectations": "none", "column-changes": "freeze"},
        {
            "source": "shop.others",
            "expectations": "none",
            "key": ["id"],
            "columns": {"id": "bigint", "z": "int"},
        },
    ]
    keyed = opened(world, family, tables=tables, publish={"consistency": "table"})
    other = replace(
        keyed.table, name="others", columns={"id": "bigint", "z": "int"}, rows={}, key=("id",)
    )

    def put_other(number: int) -> None:
        other.place = keyed.table.place
        other.put(number, z=number)
        keyed.table.place = other.place

    put_other(1)
    keyed.cut()
    keyed.put(2, name="below")
    keyed.rekey("code")
    keyed.put(3, id=2, name="behind")
    put_other(2)
    keyed.send()
    stopped = [keyed.stream.cut() for _ in range(3)]
    assert "(key code), and its policy is freeze" in stopped[0].stopped["shop.items"]
    others = world.catalog.load_table((keyed.stream.name, "others")).scan().to_arrow()
    assert others.num_rows == 2
    put_other(3)
    keyed.put(4, id=2)
    keyed.put(5, code=4)
    keyed.send()
    keyed.stream.cut()
    tables[0]["column-changes"] = "evolve"
    keyed.put(6, name="last")
    keyed.cut()
    assert keyed.key == ("code",)
    progress = read_progress(world.catalog, SystemTables.of(keyed.stream.pipeline.name))
    assert progress.behind == {}
    assert world.catalog.load_table((keyed.stream.name, "others")).scan().to_arrow().num_rows == 3


def test_a_key_that_does_not_tell_rows_apart_is_not_published(world: World) -> None:
    """KEY-16: then rows are missing or too many, and the audit blocks the cut."""
    keyed = opened(world, "ticdc")
    keyed.cut()
    before = keyed.published()
    keyed.put(2, code=keyed.rows[1]["code"])
    keyed.rekey("code")
    keyed.send()
    blocked = keyed.stream.cut()
    assert blocked.status is CutStatus.BLOCKED
    assert (keyed.key, keyed.published()) == (("id",), before)


@pytest.mark.parametrize("mode", ["soft-delete", "history", "append"])
def test_targets_that_keep_what_ended(world: World, mode: str) -> None:
    """KEY-16, KEY-11: a key with all columns of the old one is followed, and ends what it ends."""
    tables = [{"source": "shop.items", "expectations": "none", "mode": mode}]
    keyed = opened(world, "ticdc", tables=tables)
    keyed.send()
    keyed.stream.cut()
    keyed.delete(2)
    keyed.rekey("id", "code")
    keyed.put(3, name="behind")
    keyed.put(7, id=3, code=1, name="the same id")
    keyed.delete(4)
    keyed.put(5, code=2)
    keyed.send()
    for _ in range(2):
        keyed.stream.cut()
    assert keyed.key == ("id", "code")
    rows = world.catalog.load_table((keyed.stream.name, "items")).scan().to_arrow().to_pylist()
    if mode == "append":
        told = Counter((row["_tidemark_op"], row["id"], row["code"]) for row in rows)
        first = Counter(("upsert", number, 100 - 7 * number) for number in range(1, 7))
        assert told - first == Counter(
            [
                *(("delete", 2, None), ("upsert", 3, 79), ("upsert", 3, 1)),
                *(("delete", 4, 72), ("delete", 5, 65), ("upsert", 5, 2)),
            ]
        )
        return
    ended = "_tidemark_deleted" if mode == "soft-delete" else "_tidemark_end_position"
    standing = [row for row in rows if not row[ended]]
    assert ordered(without_own(standing)) == ordered(keyed.rows.values())
    gone = {(row["id"], row["code"]) for row in rows if row[ended]}
    assert gone - {(3, 79)} == {(2, 86), (4, 72), (5, 65)}
