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


@dataclass(frozen=True)
class Record:
    """One change; event: which of the log's events it belongs to, and row: which change of it.

    begins: a transaction begins with it.
    """

    event: int
    row: int
    op: str
    before: str | None = None
    after: str | None = None
    begins: bool = False


@dataclass
class Consumer:
    """What cuts of one partition leave behind; merged by identity and guarded by position."""

    source: str
    sent: list[Record] = field(default_factory=list)
    rows: dict[str, tuple[str, str]] = field(default_factory=dict)
    next: int = 0
    reached: str = ""
    truncated: Position | None = None
    doubted: bool = False

    def cut(self) -> None:
        """Settle all that was sent."""
        taken = [(o, r) for o, r in enumerate(self.sent) if o >= self.next]
        fresh = [(o, r) for o, r in taken if self._place(r) >= self.reached]
        before = [(o, r) for o, r in taken if self._place(r) < self.reached]
        before += [
            (o, r) for o, r in enumerate(self.sent[: self.next]) if self._place(r) == self.reached
        ]
        ended = new_truncate([self._at(o, r) for o, r in fresh if r.op == "t"], self.truncated)
        if ended is not None:
            self.truncated = ended
            self.rows = {row: (at, v) for row, (at, v) in self.rows.items() if at >= ended}
        self._merge(list(self._changes(fresh, before)))
        self.next = len(self.sent)
        self.reached = max([self.reached, *(self._place(r) for _, r in taken)])

    def _changes(self, fresh: Sequence[Any], before: Sequence[Any]) -> Iterator[Row]:
        events = [
            {
                "topic": "t",
                "partition": 0,
                "offset": offset,
                "position": self._at(offset, record),
                "snapshot": None,
                "occurrence": None if self.source == UNTOLD else str(record.row),
                "in_cut": in_cut,
                "record": offset,
            }
            for part, in_cut in ((fresh, 1), (before, 0))
            for offset, record in part
            if record.op != "t"
        ]
        named = [
            {**dict(event), "part": part, "op": op, "image": image, "image_hash": image}
            for event in stepped(events, eras(GateMode.NONE))
            for part, (op, image) in enumerate(_halves(self.sent[event["record"]]))
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

    def _at(self, offset: int, record: Record) -> Position:
        return Position(f"{self._place(record)}{offset:016X}")

    def _place(self, record: Record) -> str:
        if self.source == BINLOG:
            return f"0001{7:08X}{record.event:016X}1"
        return f"0001{record.event:016X}1{record.event:016X}"


def _halves(record: Record) -> list[tuple[str, str | None]]:
    ended, made = ("D", record.before), ("U", record.after)
    return {"c": [made], "d": [ended], "u": [ended, made]}[record.op]


def log_of(rng: random.Random, source: str) -> list[Record]:
    """Events of one to three rows of few values, and truncates; PostgreSQL's only inserts share."""
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
            log.append(Record(event, row, op, before, after, begins=row == 0))
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


@pytest.mark.parametrize("source", [BINLOG, POSTGRES, UNTOLD])
def test_what_is_sent_again_changes_nothing(source: str) -> None:
    """KEY-14, KEY-15, POS-14, POS-20, TRUNC-2, DUP-2."""
    doubted = 0
    for seed in range(60):
        rng = random.Random(f"{source} {seed}")  # noqa: S311  repeatable, not secret
        log = log_of(rng, source)
        consumer = Consumer(source)
        at = furthest = 0
        while furthest < len(log):
            step = rng.randint(1, 5)
            consumer.sent += log[at : at + step]
            at = min(at + step, len(log))
            furthest = max(furthest, at)
            if rng.random() < 0.3:  # the connector begins again, PostgreSQL's with a transaction
                fit = [n for n in range(at) if source == BINLOG or log[n].begins]
                at = rng.choice(fit[-8:]) if fit else 0
            if rng.random() < 0.4 or furthest == len(log):
                consumer.cut()
                if consumer.doubted:
                    doubted += 1
                    break
                found = Counter(value for _, value in consumer.rows.values())
                assert found == rows_after(log[:furthest]), (seed, log)
    assert (doubted > 0) == (source == UNTOLD), "stopped where nothing tells, and only there"


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
    ],
)
def test_copies_of_ticdc_are_told_by_watermarks(records: str, taken: str, doubted: bool) -> None:
    """POS-14, GATE-W3: ``x5`` is an insert of x at commitTs 5, ``w6`` a watermark."""
    events = [
        {
            "topic": "t",
            "partition": 0,
            "offset": offset,
            "watermark": int(text[1:]) if text[0] == "w" else None,
            "position": None if text[0] == "w" else f"0001{int(text[1:]):016X}10000{offset:016X}",
            "snapshot": None,
            "occurrence": None,
            "image_hash": text[0],
            "part": 0,
            "op": "U",
        }
        for offset, text in enumerate(records.split())
    ]
    placed = [dict(row) for row in stepped(events, eras(GateMode.WATERMARK)) if row["position"]]
    changes = stepped(placed, [{"row_id": IDENTITY}], REPEATS)
    first = sorted((c["offset"], c["image_hash"]) for c in changes if not c["is_repeat"])
    assert " ".join(image for _, image in first) == taken
    assert any(change["is_uncertain"] for change in changes) == doubted
