"""Faults that change-data consumers are known to have, one at a time planted into the product."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from tests.simulate import decode
from tests.simulate.history import Flavour
from tests.simulate.shapes import (
    Shape,
    begun,
    capped,
    emptied,
    ended,
    lagging,
    lost,
    moving,
    resnapshot,
    torn,
)
from tidemark.gate import (
    by_offset,
    by_transaction,
    by_watermark,
    ends,
    expansion,
    next_cut,
    reconcile,
    statistics,
    whole_snapshot,
    window_bound,
)
from tidemark.model import checkpoint_status, copies, reduction, until
from tidemark.model.cut import Cut, Frontier, GateMode
from tidemark.model.offsets import OffsetRange
from tidemark.model.reconcile import Snapshots
from tidemark.model.summary import Summary
from tidemark.topics import preflight

TRANSACTIONS = (Flavour.MYSQL, Flavour.MARIADB, Flavour.POSTGRES)
UNGATED = (Flavour.MYSQL_UNGATED, Flavour.POSTGRES_UNGATED)
Change = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault, the flavours in which it can show, and a shape in which it shows often.

    seed: where the search for it starts, of rare ones where they showed soon.
    """

    name: str
    plant: Change
    flavours: tuple[Flavour, ...]
    shape: Shape | None = None
    seed: int = 0


@contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """The product with ``fault`` in it."""
    with pytest.MonkeyPatch.context() as patch:
        fault.plant(patch)
        yield


def _wrapped(module: Any, name: str, change: Callable[..., Any]) -> Change:
    """Replace a function by ``change(original, *its arguments)``."""
    original = getattr(module, name)
    return lambda patch: patch.setattr(module, name, partial(change, original))


def _item(table: dict[GateMode, Any], mode: GateMode, value: Any) -> Change:
    return lambda patch: patch.setitem(table, mode, value)


def _attribute(module: Any, name: str, value: Any) -> Change:
    return lambda patch: patch.setattr(module, name, value)


def _figures(name: str, change: Mapping[str, str]) -> Change:
    def changed(original: Callable[..., Summary], *args: Any, **kwargs: Any) -> Summary:
        question = original(*args, **kwargs)
        return replace(question, figures={**question.figures, **change})

    return _wrapped(statistics, name, changed)


def _always(value: Any) -> Callable[..., Any]:
    return lambda _original, *_args, **_kwargs: value


def _without_silent(
    original: Callable[..., Any], progress: Any, newest: Any, *rest: Any, **notes: Any
) -> Any:
    places, until = rest
    heard = [place for place in places if place in newest]
    return original(progress, newest, heard, until, **notes)


def _fastest(_original: Callable[..., Any], newest: Any, places: Any) -> Any:
    return max(newest.values()) if places and all(p in newest for p in places) else None


def _inclusive(original: Callable[..., Any], *args: Any) -> Any:
    gate = original(*args)
    return None if gate is None else gate + 1


def _inclusive_cap(original: Callable[..., str]) -> Callable[..., str]:
    return lambda self, epoch: original(self, epoch).replace(">=", ">")


def _with(**changes: Any) -> Callable[..., Any]:
    return lambda original, *args, **kwargs: replace(original(*args, **kwargs), **changes)


def _forgets_held(original: Callable[..., Any], progress: Any, landing: int, *rest: Any) -> Any:
    return replace(original(progress, landing, *rest), oldest_held=landing + 1)


def _same_for_all(original: Callable[..., Any], *args: Any) -> Any:
    cut = original(*args)
    top = max(cut.frontier.reached.values(), default="")
    reached = dict.fromkeys(cut.frontier.offsets, top)
    return replace(cut, frontier=replace(cut.frontier, reached=reached, streamed=reached))


def _unchanged(_original: Callable[..., Any], cut: Any, *_rest: Any) -> Any:
    return cut


def _quiet(original: Callable[..., Any], progress: Any, seen: Any, until: Any) -> Any:
    return original(progress, replace(seen, is_quiet=True), until)


def _overwrites(original: Callable[..., Any], progress: Any, *rest: Any) -> Any:
    effects = rest[-1]
    truncated = {**progress.truncated, **effects.truncated}
    return replace(original(progress, *rest), truncated=truncated)


def _without_snapshot(
    original: Callable[..., Any], *args: Any, over: Any = None, **rest: Any
) -> Any:
    return original(*args, **rest)


def _behind_nothing(original: Callable[..., Any], truncates: Any, *rest: Any) -> Any:
    return original(dict.fromkeys(truncates, ""), *rest)


def _to_added(grown: Any, reach: Any) -> Any:
    topics = {place.topic for place in grown.before}
    return [(p, end) for p, end in reach.items() if p.topic in topics and p not in grown.before]


_COPIES = f" OR ({checkpoint_status._IS_SETTLED})"
_LATE_BELOW = {
    mode: condition.replace(_COPIES, "") for mode, condition in checkpoint_status._LATE.items()
}

FAULTS = (
    Fault(
        "a commit equal to the watermark is published",
        _wrapped(by_watermark, "watermark_gate", _inclusive),
        (Flavour.TICDC,),
        shape=lagging,
        seed=1,
    ),
    Fault(
        "the greatest watermark of all partitions rules",
        _wrapped(by_watermark, "watermark_gate", _fastest),
        (Flavour.TICDC,),
        shape=lagging,
        seed=3,
    ),
    Fault(
        "a partition without a watermark does not count",
        _wrapped(next_cut, "watermark_cut", _without_silent),
        (Flavour.TICDC,),
        shape=lagging,
    ),
    Fault(
        "a watermark that falls back takes the frontier with it",
        lambda patch: patch.setattr(
            by_watermark,
            "_cut",
            lambda progress, commit_ts, hold: Cut(
                progress.cut + 1,
                GateMode.WATERMARK,
                Frontier(commit_ts=min(commit_ts, *progress.watermarks.values(), 0)),
                hold,
            ),
        ),
        (Flavour.TICDC,),
    ),
    Fault(
        "what comes behind the frontier is new",
        _item(checkpoint_status._LATE, GateMode.WATERMARK, "FALSE"),
        (Flavour.TICDC,),
    ),
    Fault(
        "held records are not read again",
        _wrapped(next_cut, "advance", _forgets_held),
        (*TRANSACTIONS, Flavour.TICDC),
    ),
    Fault(
        "a transaction is complete when its END is there",
        _attribute(ends, "_followed", lambda *_: {}),
        TRANSACTIONS,
        seed=5,
    ),
    Fault(
        "records are counted, and not different events",
        _figures("shares", {"events": "count(*)"}),
        TRANSACTIONS,
        shape=torn,
        seed=16,
    ),
    Fault(
        "an open snapshot is published as far as it came",
        _wrapped(by_transaction, "is_read", _always(True)),  # noqa: FBT003
        TRANSACTIONS,
        shape=begun,
        seed=4,
    ),
    Fault(
        "rows of a snapshot that broke off stay",
        _wrapped(by_transaction, "_void", _always(())),
        TRANSACTIONS,
        shape=begun,
        seed=1,
    ),
    Fault(
        "a transaction waits for what its connector never sends",
        _wrapped(ends, "snapshot_over", _always(None)),
        TRANSACTIONS,
        shape=begun,
        seed=44,
    ),
    Fault(
        "a snapshot stands for transactions behind it",
        _wrapped(whole_snapshot, "_is_below", _always(True)),  # noqa: FBT003
        TRANSACTIONS,
        shape=begun,
        seed=3,
    ),
    Fault(
        "what a snapshot stands for is published without it",
        _wrapped(ends, "Settled", _without_snapshot),
        TRANSACTIONS,
        shape=lost,
    ),
    Fault(
        "one silence proves everything",
        _wrapped(next_cut, "transaction_cut", _quiet),
        TRANSACTIONS,
        seed=4,
    ),
    Fault(
        "BEGIN and END are settled once they were seen",
        _attribute(checkpoint_status, "BOUNDARIES", ("nothing",)),
        TRANSACTIONS,
    ),
    Fault(
        "what is below the greatest place of any partition was sent again",
        _wrapped(next_cut, "with_reached", _same_for_all),
        UNGATED,
        seed=6,
    ),
    Fault(
        "no partition remembers what it had settled",
        _wrapped(next_cut, "with_reached", _unchanged),
        (*UNGATED, *TRANSACTIONS),
    ),
    Fault(
        "a copy of a partition's last change is new",
        _attribute(checkpoint_status, "_LATE", _LATE_BELOW),
        TRANSACTIONS,
        shape=moving,
        seed=3,
    ),
    Fault(
        "a truncate ends what was there when it arrived",
        _attribute(reduction, "above_truncate", lambda *_: "TRUE"),
        (*UNGATED, Flavour.TICDC),
    ),
    Fault(
        "truncates of earlier cuts are forgotten",
        _wrapped(next_cut, "advance", _with(truncated={})),
        UNGATED,
        shape=begun,
    ),
    Fault(
        "a second truncate is the first one",
        lambda patch: patch.setattr(
            reduction,
            "new_truncate",
            lambda found, before: max(found, default=None) if before is None else None,
        ),
        (*UNGATED, *TRANSACTIONS, Flavour.TICDC),
        seed=1,
    ),
    Fault(
        "names of binlog files are compared as text",
        _attribute(
            decode,
            "binlog_place",
            lambda file, pos, rank: f"{decode.EPOCH}{file.lstrip('0'):<08}{pos:016X}{rank}",
        ),
        (Flavour.MYSQL, Flavour.MYSQL_UNGATED),
    ),
    Fault(
        "a change of PostgreSQL stands at its own LSN",
        _attribute(
            decode, "lsn_place", lambda _, rank, lsn: f"{decode.EPOCH}{lsn:016X}{rank}{lsn:016X}"
        ),
        (Flavour.POSTGRES, Flavour.POSTGRES_UNGATED),
    ),
    Fault(
        "a change without a commit stands above every snapshot",
        _attribute(decode.Reads, "before", lambda self, *_: max(self.first, default=0)),
        (Flavour.POSTGRES, Flavour.POSTGRES_UNGATED),
        shape=begun,
        seed=13,
    ),
    Fault(
        "a row of a snapshot beats the change beside it",
        _attribute(
            decode,
            "lsn_place",
            lambda commit, rank, lsn: f"{decode.EPOCH}{commit:016X}{1 - int(rank)}{lsn:016X}",
        ),
        (Flavour.POSTGRES, Flavour.POSTGRES_UNGATED),
    ),
    Fault(
        "rows that a new snapshot does not contain stay",
        _wrapped(reconcile, "watch_snapshots", _always(Snapshots())),
        (*TRANSACTIONS, *UNGATED),
        seed=11,
    ),
    Fault(
        "a snapshot takes the place of a newer truncate",
        _wrapped(next_cut, "advance", _overwrites),
        UNGATED,
        shape=emptied,
        seed=15,
    ),
    Fault(
        "rows that an incremental snapshot read before a truncate come back",
        _wrapped(window_bound, "next_window_bounds", _always({})),
        (*TRANSACTIONS, *UNGATED),
    ),
    Fault(
        "a row of an incremental snapshot is chosen, and falls afterwards",
        _attribute(reduction, "newest_first", lambda _counts: reduction.NEWEST_FIRST),
        (*TRANSACTIONS, *UNGATED),
        shape=resnapshot,
        seed=24,
    ),
    Fault(
        "a window is sound that opened before the truncate",
        _wrapped(window_bound, "_first_windows", _behind_nothing),
        (*TRANSACTIONS, *UNGATED),
        shape=resnapshot,
        seed=1,
    ),
    Fault(
        "the first chunk of a cut is the first one behind the truncate",
        _wrapped(window_bound, "_behind_first_chunks", _behind_nothing),
        (*TRANSACTIONS, *UNGATED),
        shape=resnapshot,
        seed=4,
    ),
    Fault(
        "the mark of a record tells whether it was streamed",
        _attribute(decode, "is_streamed", lambda told: told["source"]["snapshot"] == "false"),
        (Flavour.MARIADB,),
    ),
    Fault(
        "the oldest event of a key wins",
        _attribute(reduction, "NEWEST_FIRST", "position ASC, part DESC, partition DESC"),
        tuple(Flavour),
    ),
    Fault(
        "the last to arrive wins",
        _attribute(reduction, "NEWEST_FIRST", "landing DESC, offset DESC, partition DESC"),
        (Flavour.TICDC, *UNGATED),
    ),
    Fault(
        "the number in the transaction orders events",
        _attribute(reduction, "NEWEST_FIRST", "event_order DESC, position DESC"),
        TRANSACTIONS,
    ),
    Fault(
        "keys that moved to another partition do not wait",
        _attribute(by_offset, "held_back", lambda _expansions, reach, _read: (dict(reach), [])),
        UNGATED,
        shape=moving,
        seed=12,
    ),
    Fault(
        "the last change of a partition is none that came before",
        _attribute(copies, "COPIES", ({"is_copy": "FALSE"},)),
        UNGATED,
        shape=moving,
    ),
    Fault(
        "keys move to added partitions alone",
        _attribute(expansion, "_taking_keys", _to_added),
        UNGATED,
        shape=moving,
        seed=12,
    ),
    Fault(
        "what retention has deleted is jumped over",
        _attribute(
            preflight,
            "unread_range",
            lambda _place, reach, after: OffsetRange(max(reach.start, after), reach.end),
        ),
        tuple(Flavour),
        seed=3,
    ),
    Fault(
        "a cap cuts through a transaction",
        _wrapped(by_transaction, "_before_whole", lambda _original, place, _statistics: place),
        TRANSACTIONS,
        shape=capped,
    ),
    Fault(
        "what is left of a transaction is counted as all of it",
        _attribute(by_transaction, "_split", lambda *_: {}),
        TRANSACTIONS,
        shape=ended,
        seed=2,
    ),
    Fault(
        "a cap takes what stands at it",
        lambda patch: patch.setattr(until.Until, "waits", _inclusive_cap(until.Until.waits)),
        TRANSACTIONS,
        shape=capped,
        seed=1,
    ),
    Fault(
        "a cap of PostgreSQL asks for the commit before a change",
        _attribute(until, "_LSN_FIELD", "substr(position, 5, 16)"),
        (Flavour.POSTGRES,),
        shape=capped,
        seed=1,
    ),
)
