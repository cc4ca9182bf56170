"""Values that updates leave out, against a source that is replayed with whole rows.

A history is a database of a few rows, its log, and a connector that may send stretches again. What
it sends is folded in cuts that end anywhere in each of two partitions. Every row that is published
must hold what the source's row held at its position (UNAV-3, UNAV-6, DUP-2).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tidemark.fold.unchanged import CHANGE, NEEDS, filled, former_needs
from tidemark.model.columns import CONVERSION_ERROR, UNAVAILABLE, UNRESOLVED
from tidemark.model.names import ColumnName

KEY = (ColumnName("history"), ColumnName("id"))
COLUMNS = (ColumnName("do`c"), ColumnName("position"))
KEY_TYPE = "STRUCT<history: INT, id: INT>"
CHANGES = (
    f"row_key {KEY_TYPE}, topic STRING, offset LONG, position STRING, part INT, partition INT, "
    f"op STRING, begins BOOLEAN, former_key {KEY_TYPE}, "
    f"image STRUCT<`do``c`: STRING, position: INT>, {UNAVAILABLE} ARRAY<STRING>, "
    f"{CONVERSION_ERROR} STRING"
)
PARTIAL = f"history INT, id INT, `do``c` STRING, position INT, {UNAVAILABLE} ARRAY<STRING>"

Doc = tuple[str | None, int]


@dataclass(frozen=True)
class Sent:
    """One record: what it does to the row ``id``, and what it says of it.

    commit, lsn: where the source has it. doc: the whole row as it is at the source, None of a
    delete. lacks: the record leaves out the text. header: the former key, where a header tells it.
    """

    op: str
    id: int
    commit: int
    lsn: int
    doc: Doc | None
    begins: bool = False
    lacks: bool = False
    header: int | None = None
    offset: int = 0

    @property
    def partition(self) -> int:
        return self.id % 2

    @property
    def position(self) -> str:
        return f"0001{self.commit:016X}1{self.lsn:016X}{self.offset:016X}"


@dataclass
class Source:
    """A table, its log of whole rows, and the number of the history that it is."""

    number: int
    chance: random.Random
    rows: dict[int, Doc] = field(default_factory=dict)
    log: list[Sent] = field(default_factory=list)
    truncated_at: int = 0

    def run(self, steps: int) -> Source:
        for step in range(1, steps + 1):
            self._change(self.number * 10_000 + step * 10)
        return self

    def _change(self, lsn: int) -> None:
        commit, free = lsn - 8, [n for n in range(1, 6) if n not in self.rows]
        what = self.chance.choice("ccuuuuuukkkdt" if self.rows else "c")
        if what == "c" and free:
            self._put(Sent("U", free[0], commit, lsn, (f"made {lsn}", lsn), begins=True))
        elif what == "u" and self.rows:
            number = self.chance.choice(sorted(self.rows))
            text, lacks = self.rows[number][0], True
            if self.chance.random() < 0.2:
                text, lacks = self.chance.choice([None, f"set {lsn}"]), False
            self._put(Sent("U", number, commit, lsn, (text, lsn), lacks=lacks))
        elif what == "k" and self.rows and free:
            old, new = self.chance.choice(sorted(self.rows)), self.chance.choice(free)
            doc = (self.rows.pop(old)[0], lsn)
            header = self.chance.choice([None, old])
            self.log.append(Sent("D", old, commit, lsn, None))
            self._put(Sent("U", new, commit, lsn, doc, begins=True, lacks=True, header=header))
        elif what == "d" and self.rows:
            number = self.chance.choice(sorted(self.rows))
            del self.rows[number]
            self.log.append(Sent("D", number, commit, lsn, None))
        elif what == "t" and self.chance.random() < 0.3:
            self.rows.clear()
            self.truncated_at = lsn

    def _put(self, sent: Sent) -> None:
        assert sent.doc is not None
        self.rows[sent.id] = sent.doc
        self.log.append(sent)

    def delivered(self) -> list[Sent]:
        """The log as it is sent: a connector that dies begins again a little before (POS-9)."""
        order: list[Sent] = []
        at = 0
        while at < len(self.log):
            order.append(self.log[at])
            at += 1
            if self.chance.random() < 0.1:
                at = max(0, at - self.chance.randrange(1, 6))
                again = self.log[at]
                commit = self.chance.choice([again.commit, again.commit - 10])
                order += [replace(s, commit=commit) for s in self.log if s.lsn == again.lsn]
                at = max(n for n, s in enumerate(self.log) if s.lsn == again.lsn) + 1
        return [replace(sent, offset=offset) for offset, sent in enumerate(order)]


@dataclass
class Target:
    """What is published of one history, and what waits."""

    source: Source
    rows: dict[int, tuple[str, Doc]] = field(default_factory=dict)
    waiting: list[Sent] = field(default_factory=list)
    landed: list[Sent] = field(default_factory=list)
    reached: dict[int, str] = field(default_factory=dict)

    @property
    def alive(self) -> list[Sent]:
        return [s for s in self.waiting if s.lsn > self.source.truncated_at]

    def land(self, records: Sequence[Sent]) -> None:
        self.landed += records
        self.waiting += [
            s for s in records if s.position[:-16] >= self.reached.get(s.partition, "")
        ]

    def winners(self) -> dict[int, Sent]:
        return {s.id: s for s in sorted(self.alive, key=lambda s: s.position)}

    def publish(self, docs: dict[int, Doc]) -> None:
        """Apply what is newer than what is there; check it against the source."""
        below = f"0001{self.source.truncated_at:016X}"
        self.rows = {n: row for n, row in self.rows.items() if row[0] > below}
        for number, winner in self.winners().items():
            if winner.position <= self.rows.get(number, ("",))[0]:
                continue
            if winner.op == "D":
                self.rows.pop(number, None)
                continue
            doc = docs.get(number, winner.doc)
            assert doc == winner.doc, f"history {self.source.number}: row {number} at {winner}"
            assert doc is not None
            self.rows[number] = (winner.position, doc)
        for sent in self.waiting:
            place = sent.position[:-16]
            self.reached[sent.partition] = max(self.reached.get(sent.partition, ""), place)
        self.waiting = []


@dataclass(frozen=True)
class Landed:
    """The past of all histories at once; keys and positions keep them apart."""

    cut: DataFrame
    all: DataFrame
    stored: DataFrame

    def of(self, needs: DataFrame) -> DataFrame:
        beside = self.cut.unionByName(self.stored).join(needs, "row_key")
        return beside.select(*NEEDS, *CHANGE, "image", UNAVAILABLE, CONVERSION_ERROR)

    def beside(self, rows: DataFrame) -> DataFrame:
        lsn = "substr(position, 1, 4) || substr(position, 22, 16)"
        order = ("op", "row_key", "position", "part", "partition")
        return self.all.selectExpr(f"{lsn} AS event_id", *order).join(rows, "event_id")

    def earlier(self) -> Landed:
        return replace(self, cut=self.all)


def changes(spark: SparkSession, targets: Sequence[Target], *, of_cut: bool) -> DataFrame:
    rows = [
        _change(target.source.number, sent)
        for target in targets
        for sent in (target.alive if of_cut else target.landed)
        if sent.lsn > target.source.truncated_at
    ]
    return spark.createDataFrame(rows, CHANGES)


def _change(history: int, sent: Sent) -> tuple[Any, ...]:
    former = None if sent.header is None else (history, sent.header)
    text, number = sent.doc or (None, None)
    image = ("a placeholder" if sent.lacks else text, number)
    lacks = [COLUMNS[0]] if sent.lacks else None
    place = ("topic", sent.offset, sent.position, 0, sent.partition)
    return ((history, sent.id), *place, sent.op, sent.begins, former, image, lacks, None)


def stored(spark: SparkSession, targets: Sequence[Target]) -> DataFrame:
    rows = [
        ((t.source.number, n), None, None, at, 0, 0, "U", True, None, doc, None, None)
        for t in targets
        for n, (at, doc) in t.rows.items()
        if at > f"0001{t.source.truncated_at:016X}"
    ]
    return spark.createDataFrame(rows, CHANGES)


def fill(spark: SparkSession, targets: Sequence[Target]) -> Iterator[tuple[int, int, Doc | None]]:
    """History, row, and all of it or None where nothing tells, for every row that was partial."""
    partial = [
        (t.source.number, n, "a placeholder", w.lsn, [COLUMNS[0]])
        for t in targets
        for n, w in t.winners().items()
        if w.lacks
    ]
    past = Landed(
        changes(spark, targets, of_cut=True),
        changes(spark, targets, of_cut=False),
        stored(spark, targets),
    )
    frame = spark.createDataFrame(partial, PARTIAL)
    for row in filled(frame, KEY, COLUMNS, past, {}).collect():
        assert (row[UNRESOLVED] is None) == (row[UNAVAILABLE] is None)
        assert row[CONVERSION_ERROR] is None
        doc = None if row[UNAVAILABLE] else (row["do`c"], row["position"])
        yield row["history"], row["id"], doc


@pytest.mark.parametrize("cuts", [1, 3])
def test_rows_are_whole_wherever_cuts_fall_and_whatever_comes_again(
    spark: SparkSession, cuts: int
) -> None:
    chance = random.Random(cuts)  # noqa: S311 a history, no secret
    targets = [Target(Source(n, chance).run(chance.randrange(5, 40))) for n in range(1, 61)]
    logs = {t.source.number: t.source.delivered() for t in targets}
    sought = waited = 0
    for left in range(cuts, 0, -1):
        for target in targets:
            log = logs[target.source.number]
            ends = {p: chance.randrange(len(log) + 1) if left > 1 else len(log) for p in (0, 1)}
            now = [s for n, s in enumerate(log) if n < ends[s.partition]]
            logs[target.source.number] = [s for n, s in enumerate(log) if n >= ends[s.partition]]
            target.land(now)
        found: dict[int, dict[int, Doc | None]] = {}
        for history, row, doc in fill(spark, targets):
            found.setdefault(history, {})[row] = doc
            sought += 1
        for target in targets:
            docs = found.get(target.source.number, {})
            whole = {row: doc for row, doc in docs.items() if doc is not None}
            if len(whole) < len(docs):
                waited += 1
                assert left > 1, f"history {target.source.number} is all there"
            else:
                target.publish(whole)
    for target in targets:
        assert {n: doc for n, (_, doc) in target.rows.items()} == target.source.rows
    assert sought > 40
    assert waited or cuts == 1, "some end of an old key was not read in time"


def place(lsn: int, offset: int, *, binlog: bool) -> str:
    """A position at ``lsn``, or at that offset of a binlog."""
    fields = f"{9:08X}{lsn:016X}1" if binlog else f"{lsn - 8:016X}1{lsn:016X}"
    return f"0001{fields}{offset:016X}"


@pytest.mark.parametrize("binlog", [True, False], ids=["binlog", "PostgreSQL"])
@pytest.mark.parametrize(
    ("part", "former", "others", "found"),
    [
        pytest.param(0, None, "D1", {True: None, False: 1}, id="the only one there"),
        pytest.param(0, None, "D1 D2", None, id="one of two"),
        pytest.param(0, None, "D1 U4", None, id="two that came"),
        pytest.param(0, 2, "D1 D2 U4", 2, id="a header tells"),
        pytest.param(0, 2, "D1 U4", None, id="the one that it tells has not come"),
        pytest.param(0, 2, "U2", None, id="nothing ended there yet"),
        pytest.param(1, None, "D1 h2 U4", 2, id="the other half of the record"),
    ],
)
def test_which_key_a_row_had_before(  # noqa: PLR0913  a row of the table each
    spark: SparkSession,
    part: int,
    former: int | None,
    others: str,
    found: dict[bool, int | None] | int | None,
    *,
    binlog: bool,
) -> None:
    """KEY-7, KEY-8: row 3 came at one place with ``others``; ``h``: of the same record."""
    own = place(70, 30, binlog=binlog)
    base = (own, part, 0, "U", (9, former))
    beside = [((9, 3), [COLUMNS[0]], base, "U", (9, 3), own, part, 0)]
    for offset, (op, key) in enumerate(map(tuple, others.split()), start=10):
        half = op == "h"
        at = own if half else place(70, offset, binlog=binlog)
        partition = 0 if half else 1
        op_of = "D" if half else op
        beside.append(((9, 3), [COLUMNS[0]], base, op_of, (9, int(key)), at, 0, partition))
    frame = spark.createDataFrame(
        beside,
        f"wanted {KEY_TYPE}, open ARRAY<STRING>, base STRUCT<position: STRING, part: INT, "
        f"partition: INT, op: STRING, former_key: {KEY_TYPE}>, op STRING, row_key {KEY_TYPE}, "
        "position STRING, part INT, partition INT",
    )
    rows = former_needs(frame).collect()
    expected = found[binlog] if isinstance(found, dict) else found
    assert [row["row_key"]["id"] for row in rows] == ([] if expected is None else [expected])
