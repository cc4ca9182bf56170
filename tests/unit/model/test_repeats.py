"""A log of equal rows, a connector that dies and sends again, cuts anywhere: no row twice or lost.

Everything that decides is the engine's SQL, run by SQLite; what must come out is counted by walking
through the log.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.stepped import stepped
from tidemark.model.cut import GateMode
from tidemark.model.equal_rows import MATCHING, SNAPSHOT_PASS, STEP
from tidemark.model.position import Position
from tidemark.model.reduction import new_truncate
from tidemark.model.repeats import IDENTITY, REPEATS, eras

Row = dict[str, Any]
BINLOG, POSTGRES, UNTOLD = "binlog", "postgres", "postgres without transaction metadata"
RENUMBERED = "postgres, whose connector starts over inside transactions"


@dataclass(frozen=True)
class Record:
    """One change; event: which of the log's events it belongs to, and row: which change of it.

    begins: a transaction begins with it. others: changes of other tables just before it there.
    """

    event: int
    row: int
    op: str
    before: str | None = None
    after: str | None = None
    begins: bool = False
    others: int = 0


@dataclass(frozen=True)
class Sent:
    """A record in its partition; number: of the change in its transaction, as it was counted.

    table_order: likewise, of those of its table.
    """

    record: Record
    partition: int
    offset: int
    number: int
    table_order: int


@dataclass
class Consumer:
    """What cuts leave behind; merged by identity and guarded by position."""

    source: str
    sent: list[Sent] = field(default_factory=list)
    rows: dict[str, tuple[str, str]] = field(default_factory=dict)
    next: int = 0
    reached: dict[int, str] = field(default_factory=dict)
    truncated: Position | None = None
    doubted: bool = False

    def send(self, record: Record, partition: int, number: int, table_order: int) -> None:
        offset = sum(one.partition == partition for one in self.sent)
        self.sent.append(Sent(record, partition, offset, number, table_order))

    def cut(self) -> None:
        """Settle all that was sent."""
        settled, taken = self.sent[: self.next], self.sent[self.next :]
        fresh = [s for s in taken if self._place(s) >= self.reached.get(s.partition, "")]
        events = {s.record.event for s in fresh}
        before = [s for s in taken if s not in fresh]
        before += [s for s in settled if s.record.event in events]
        ended = new_truncate([self._at(s) for s in fresh if s.record.op == "t"], self.truncated)
        if ended is not None:
            self.truncated = ended
            self.rows = {row: (at, v) for row, (at, v) in self.rows.items() if at >= ended}
        self._merge(list(self._changes(fresh, before)))
        self.next = len(self.sent)
        for s in taken:
            self.reached[s.partition] = max(self.reached.get(s.partition, ""), self._place(s))

    def _changes(self, fresh: Sequence[Sent], before: Sequence[Sent]) -> Iterator[Row]:
        events = [
            {
                "topic": "t",
                "partition": s.partition,
                "offset": s.offset,
                "position": self._at(s),
                "snapshot": None,
                "event_order": None if self.source == UNTOLD else s.number,
                "occurrence": self._occurrence(s),
                "table_order": s.table_order if self.source in {POSTGRES, RENUMBERED} else None,
                "record_hash": None,
                "in_cut": in_cut,
                "record": self.sent.index(s),
            }
            for part, in_cut in ((fresh, 1), (before, 0))
            for s in part
            if s.record.op != "t"
        ]
        named = [
            {**dict(event), "part": part, "op": op, "image": image, "image_hash": image}
            for event in stepped(events, eras(GateMode.NONE))
            for part, (op, image) in enumerate(_halves(self.sent[event["record"]].record))
        ]
        for change in stepped(named, [{"row_id": IDENTITY}], REPEATS):
            if change["in_cut"] and change["position"] > (self.truncated or ""):
                self.doubted |= bool(change["is_uncertain"])
                if not change["is_repeat"]:
                    yield dict(change)

    def _merge(self, changes: Sequence[Row]) -> None:
        stored = [
            {"equal": value, "step": "stored", "position": at, "part": 0, "row_id": row}
            for row, (at, value) in self.rows.items()
        ]
        names = ("position", "part", "row_id", "scans", "op", "scan")
        steps = [
            {"equal": change["image"], "step": change["step"], **{n: change[n] for n in names[:3]}}
            for change in stepped(
                [{**c, "scans": 0} for c in changes], [{"scan": SNAPSHOT_PASS}], [{"step": STEP}]
            )
        ]
        together = [{**step, "equal_hash": 1, "scan": None} for step in [*stored, *steps]]
        for row in stepped(together, MATCHING):
            assert not row["is_unmatched"] or self.doubted, "a delete finds its row"
            if row["outcome"] == "D":
                assert row["newest_delete"] > self.rows.pop(row["born_as"])[0]
            elif row["outcome"] == "U":
                assert row["position"] > self.rows.get(row["born_as"], ("", ""))[0]
                self.rows[row["born_as"]] = (row["position"], row["equal"])

    def _occurrence(self, sent: Sent) -> str | None:
        if self.source == UNTOLD:
            return None
        return str(sent.record.row if self.source == BINLOG else sent.number)

    def _at(self, sent: Sent) -> Position:
        return Position(f"{self._place(sent)}{sent.offset:016X}")

    def _place(self, sent: Sent) -> str:
        event = sent.record.event
        if self.source == BINLOG:
            return f"0001{7:08X}{event:016X}1"
        return f"0001{event:016X}1{event:016X}"


def _halves(record: Record) -> list[tuple[str, str | None]]:
    ended, made = ("D", record.before), ("U", record.after)
    return {"c": [made], "d": [ended], "u": [ended, made]}[record.op]


def log_of(rng: random.Random, source: str) -> list[Record]:
    """Events of one to three rows of few values, and truncates; PostgreSQL's only inserts share.

    Each is a transaction, but with RENUMBERED, where one goes on for some events.
    """
    rows: list[str] = []
    log: list[Record] = []
    for event in range(1, rng.randint(5, 25)):
        op = rng.choice("cccddut" if rng.random() < 0.3 else "ccddu")
        if op == "t":
            rows.clear()
            log.append(Record(event, 0, "t", begins=True))
            continue
        count = rng.randint(1, 3) if source == BINLOG or op == "c" else 1
        for row in range(count if op == "c" else min(count, len(rows))):
            before = None if op == "c" else rows.pop(rng.randrange(len(rows)))
            after = None if op == "d" else rng.choice("xxy")
            if after:
                rows.append(after)
            begins = row == 0 and (source != RENUMBERED or rng.random() < 0.4 or not log)
            others = rng.randrange(3) if row == 0 and source == RENUMBERED else 0
            log.append(Record(event, row, op, before, after, begins=begins, others=others))
    return log


def rows_after(log: Sequence[Record]) -> Counter[str]:
    """What the source's table holds."""
    rows: Counter[str] = Counter()
    for record in log:
        if record.op == "t":
            rows.clear()
        if record.before:
            rows[record.before] -= 1
        if record.after:
            rows[record.after] += 1
    return +rows


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize("source", [BINLOG, POSTGRES, RENUMBERED, UNTOLD])
def test_what_is_sent_again_changes_nothing(source: str, partitions: int) -> None:
    """KEY-14, KEY-15, POS-5, POS-14, POS-20, TRUNC-2, DUP-2: by whichever partition it comes."""
    doubted = 0
    for seed in range(60):
        rng = random.Random(f"{source} {seed}")  # noqa: S311  repeatable, not secret
        log = log_of(rng, source)
        is_doubted = _is_doubted(source, partitions, rng, log)
        doubted += is_doubted
        if source == POSTGRES and is_doubted:
            inserts = Counter((r.event, r.after) for r in log if r.op == "c")
            assert partitions > 1
            assert max(inserts.values()) > 1, "equal rows of one LSN alone"
    is_told = source == BINLOG or (source == POSTGRES and partitions == 1)
    assert (doubted > 0) == (not is_told), "stopped where nothing tells, and only there"


def _is_doubted(source: str, partitions: int, rng: random.Random, log: Sequence[Record]) -> bool:
    """Whether a history stopped; each of its cuts ends as the source."""
    consumer = Consumer(source)
    at = furthest = number = table_order = 0
    has_begun = False
    while furthest < len(log):
        for record in log[at : at + rng.randint(1, 5)]:
            if record.begins and not has_begun:
                number = table_order = 0
            has_begun = False
            number, table_order = number + record.others + 1, table_order + 1
            consumer.send(record, rng.randrange(partitions), number, table_order)
            at += 1
        furthest = max(furthest, at)
        if rng.random() < 0.3:  # the connector starts over
            fit = [n for n in range(at) if _may_begin(source, log[n])]
            at = rng.choice(fit[-8:]) if fit else 0
            skipped = log[at].others and rng.randint(0, log[at].others)
            number, table_order, has_begun = -skipped, 0, True
        if rng.random() < 0.4 or furthest == len(log):
            consumer.cut()
            if consumer.doubted:
                return True
            found = Counter(value for _, value in consumer.rows.values())
            assert found == rows_after(log[:furthest]), log
    return False


def _may_begin(source: str, record: Record) -> bool:
    return source == BINLOG or record.begins or (source == RENUMBERED and record.row == 0)


@pytest.mark.parametrize(
    ("records", "taken", "doubted"),
    [
        pytest.param("x5 y5", "x y", False, id="two rows of one commit"),
        pytest.param("x5 w6 x5", "x", False, id="the watermark promised that all had come"),
        pytest.param("x5 w6 x5 w6 x5", "x", False, id="a changefeed that starts over twice"),
        pytest.param("x5 w5 x5", "x", True, id="a watermark at the commit promises nothing of it"),
        pytest.param("x5 x5", "x", True, id="a repeat, or two equal rows"),
        pytest.param("w6 x5", "x", False, id="late, and never sent before"),
        pytest.param("x5 x6", "x x", False, id="two commits"),
        pytest.param("x5 y5 x5/1 y5/1", "x y", False, id="sent again to another partition"),
        pytest.param("x5/1 y5 x5 x5/2", "y x", False, id="a partition of a smaller number"),
        pytest.param("x5/1 w6/1 x5", "x", False, id="where no watermark has come"),
        pytest.param("x5 x5/1 w6/1 x5/1", "x", False, id="and again, behind a watermark"),
        pytest.param("x5 y5/1", "x y", False, id="another row of the commit there"),
        pytest.param("x5 x6/1", "x x", False, id="another commit there"),
        pytest.param("x5 x5/1 x5/1", "x", True, id="of two equal rows one came before"),
        pytest.param("x5 x5 x5/1 x5/1", "x", True, id="two equal rows, both sent again"),
        pytest.param("x5 X5/1", "x", True, id="whose record differs in what the target lacks"),
    ],
)
def test_copies_of_ticdc_are_told_by_watermarks(records: str, taken: str, doubted: bool) -> None:
    """POS-14, GATE-W3, GATE-W8: ``x5`` is an insert of x at commitTs 5, ``w6`` a watermark.

    ``x5/1`` came by partition 1; of ``X5`` the target has the row of ``x5``.
    """
    events = []
    for offset, text in enumerate(records.split()):
        what, _, partition = text.partition("/")
        place = f"0001{int(what[1:]):016X}1{int(partition or 0):04X}"
        events.append(
            {
                "topic": "t",
                "partition": int(partition or 0),
                "offset": offset,
                "watermark": int(what[1:]) if what[0] == "w" else None,
                "position": None if what[0] == "w" else f"{place}{offset:016X}",
                "snapshot": None,
                "event_order": None,
                "occurrence": None,
                "table_order": None,
                "in_cut": 1,
                "image_hash": what[0].lower(),
                "record_hash": what[0],
                "part": 0,
                "op": "U",
            }
        )
    placed = [dict(row) for row in stepped(events, eras(GateMode.WATERMARK)) if row["position"]]
    changes = stepped(placed, [{"row_id": IDENTITY}], REPEATS)
    first = sorted((c["offset"], c["image_hash"]) for c in changes if not c["is_repeat"])
    assert " ".join(image for _, image in first) == taken
    assert any(change["is_uncertain"] for change in changes) == doubted
