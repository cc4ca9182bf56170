"""Changes of equal rows against a list that is walked from its end, over random histories."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from tests.support.stepped import stepped
from tidemark.model.equal_rows import MATCHING, SNAPSHOT_PASS, Step


@dataclass(frozen=True)
class Given:
    """One step of a group; scan: the snapshot that read the row, or of which a row stands."""

    step: Step
    position: int
    row: str
    snapshot_pass: str | None = None


def decided(steps: Sequence[Given]) -> tuple[dict[str, tuple[str, int]], bool]:
    """By the rule under test: identity -> (op, position), and whether a delete found no row."""
    fields = ("equal_hash", "equal", "step", "position", "part", "row_id", "scan")
    rows = [(1, "x", s.step.value, f"{s.position:04}", 0, s.row, s.snapshot_pass) for s in steps]
    found = stepped([dict(zip(fields, row, strict=True)) for row in rows], MATCHING)
    merged = {
        row["born_as"]: (
            row["outcome"],
            int(row["newest_delete"] if row["outcome"] == "D" else row["position"]),
        )
        for row in found
        if row["outcome"] is not None
    }
    assert len(merged) == sum(row["outcome"] is not None for row in found), "one per identity"
    return merged, any(row["is_unmatched"] for row in found)


def walked(steps: Sequence[Given]) -> tuple[list[tuple[str, int]], bool]:
    """Rows that are left, as (identity, position), and whether a delete found no row."""
    rows: list[tuple[str, int, str | None]] = []
    for step in sorted(steps, key=lambda step: step.position):
        if step.step is Step.DELETE:
            if not rows:
                return [], True
            rows.pop()
            continue
        row = (step.row, step.position, step.snapshot_pass)
        if step.step is Step.READ:
            older = [at for at, known in enumerate(rows) if known[2] != step.snapshot_pass]
            if older:
                rows[older[-1]] = (rows[older[-1]][0], step.position, step.snapshot_pass)
                continue
        rows.append(row)
    return [(row, position) for row, position, _ in rows], False


def applied(steps: Sequence[Given]) -> tuple[list[tuple[str, int]], bool]:
    """Rows that are left once what was decided is merged into those that stood."""
    merged, is_unmatched = decided(steps)
    if is_unmatched:
        return [], True
    rows = {step.row: step.position for step in steps if step.step is Step.STORED}
    for row, (op, position) in merged.items():
        if op == "D":
            assert position > rows.pop(row), "the merge is guarded by position"
        else:
            assert position > rows.get(row, -1), "the merge is guarded by position"
            rows[row] = position
    return sorted(rows.items()), False


def test_the_newest_row_below_a_delete_goes() -> None:
    """KEY-15: a truncate between the two that is read later then ends the other."""
    stored = [Given(Step.STORED, 10, "a"), Given(Step.STORED, 30, "b")]
    assert decided([*stored, Given(Step.DELETE, 40, "d")]) == ({"b": ("D", 40)}, False)
    assert decided([*stored, Given(Step.DELETE, 20, "d")]) == ({"a": ("D", 20)}, False)


def test_a_row_that_comes_and_goes_in_one_cut_is_never_written() -> None:
    steps = [Given(Step.INSERT, 1, "a"), Given(Step.INSERT, 2, "b"), Given(Step.DELETE, 3, "d")]
    assert decided(steps) == ({"a": ("U", 1)}, False)


def test_a_delete_that_comes_before_every_row_finds_none() -> None:
    """NO_MATCH: also where a row is inserted behind it."""
    assert decided([Given(Step.DELETE, 1, "d"), Given(Step.INSERT, 2, "a")])[1]


def test_a_snapshot_takes_over_what_it_finds() -> None:
    """SNAP-6: what stood keeps its identity, and stands above what is to be removed."""
    stored = [Given(Step.STORED, n, name) for n, name in ((1, "a"), (2, "b"))]
    reads = [Given(Step.READ, 10 + n, f"r{n}", "s") for n in range(3)]
    assert decided([*stored, *reads[:1]])[0] == {"b": ("U", 10)}
    assert decided([*stored, *reads])[0] == {"b": ("U", 10), "a": ("U", 11), "r2": ("U", 12)}
    gone = [*stored, *reads[:1], Given(Step.DELETE, 20, "d")]
    assert decided(gone)[0] == {"b": ("D", 20)}


def test_a_snapshot_pass_that_goes_on_adds_rows_and_one_that_begins_anew_does_not() -> None:
    """TOP-7: the rows of the first one stand already."""
    stood = [Given(Step.STORED, 1, "a", "first"), Given(Step.STORED, 2, "b", "first")]
    assert decided([*stood, Given(Step.READ, 3, "r", "first")])[0] == {"r": ("U", 3)}
    assert decided([*stood, Given(Step.READ, 3, "r", "second")])[0] == {"b": ("U", 3)}


@pytest.mark.parametrize("seed", range(100))
def test_random_histories_end_as_a_list_does(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311  repeatable, not secret
    steps = list(history(rng))
    got, want = applied(steps), walked(steps)
    assert got[1] == want[1], steps
    assert Counter(position for _, position in got[0]) == Counter(at for _, at in want[0]), steps
    assert got[0] == sorted(want[0]), steps


def history(rng: random.Random) -> Iterator[Given]:
    """Rows that stand, then inserts, deletes and stretches of reads; deletes are mostly fit."""
    position = 0
    rows = 0
    stood = rng.randint(0, 3)
    for _ in range(stood):
        position += 1
        rows += 1
        yield Given(Step.STORED, position, f"s{position}")
    scanned = 0
    if rng.random() < 0.3:
        scanned = rng.randint(1, 2)
        for _ in range(scanned):
            position += 1
            rows += 1
            yield Given(Step.STORED, position, f"s{position}", "scan 0")
    if scanned and rng.random() < 0.7:
        below = rows - scanned
        for nth in range(rng.randint(1, 3)):
            position += 1
            rows += nth >= below
            yield Given(Step.READ, position, f"r{position}", "scan 0")
    for number in range(1, rng.randint(1, 8)):
        kind = rng.choice([Step.INSERT, Step.DELETE, Step.DELETE, Step.READ])
        if kind is Step.READ:
            count = rng.randint(1, 4)
            for _ in range(count):
                position += 1
                yield Given(Step.READ, position, f"r{position}", f"scan {number}")
            rows = max(rows, count)
        elif kind is Step.INSERT or rows > 0 or rng.random() < 0.1:
            position += 1
            rows += 1 if kind is Step.INSERT else -1
            yield Given(kind, position, f"c{position}")


def test_a_snapshot_pass_is_told_by_its_place_and_by_how_many_came_before_it() -> None:
    binlog, lsn, offset = "0001" + "0" * 24, "0001" + "0" * 16, "0" * 16
    positions = {
        f"{binlog}0{offset}": f"{binlog}0/2",
        f"{binlog}1{offset}": None,
        f"{lsn}0{'0' * 16}{offset}": f"{lsn}0{'0' * 16}/2",
        f"{lsn}1{'0' * 16}{offset}": None,
        f"0001{'0' * 16}1{'0' * 4}{offset}": None,
        f"0001{offset}": None,
    }
    rows = [{"position": position, "scans": 2} for position in positions]
    found = stepped(rows, [{"scan": SNAPSHOT_PASS}])
    assert {row["position"]: row["scan"] for row in found} == positions
