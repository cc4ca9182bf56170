"""Where a run is capped, from what a person wrote: a time, or a position as the source shows it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from tidemark.errors import UNCHANGED, ActionRefusedError
from tidemark.model.cut import GateMode
from tidemark.model.position import (
    BINLOG_RANK_AT,
    EPOCH_DIGITS,
    FILE_DIGITS,
    Position,
    commit_ts_at,
    place_of,
)
from tidemark.model.until import Coordinate, Until
from tidemark.spec.pipeline import PipelineSpec
from tidemark.spec.source import SourceFormat, SourceSpec

TIME_WORDS = "an ISO time such as 2026-01-31T12:00:00Z"


@dataclass(frozen=True, slots=True)
class PositionForm:
    """How a source shows a position: the pattern of the whole text, in words, and what it says.

    No text that fits stands for a number that positions have no room for. show: the text of a
    position of the changelog; None where no statement has one.
    """

    pattern: str
    words: str
    read: Callable[[str], Until]
    show: Callable[[Position], str] | None = None


def _commit(text: str) -> Until:
    return Until(Coordinate.COMMIT, int(text), text)


def _shown_commit(position: Position) -> str:
    return str(commit_ts_at(position))


def _binlog(text: str) -> Until:
    file, pos = text.rsplit(".", 1)[1].split(":")
    return Until.at_binlog(int(file), int(pos), text)


def _shown_binlog(position: Position) -> str:
    file = int(position[EPOCH_DIGITS : EPOCH_DIGITS + FILE_DIGITS], 16)
    return f"binlog.{file:06d}:{int(position[EPOCH_DIGITS + FILE_DIGITS : BINLOG_RANK_AT], 16)}"


def _lsn(text: str) -> Until:
    high, low = (int(half, 16) for half in text.split("/"))
    return Until(Coordinate.LSN, high << 32 | low, text)


# TiDB's clock counts in 18 digits from 1982 to 2090; what is shorter may be a date.
COMMIT_TS = PositionForm(
    "[1-9][0-9]{17,18}", "a commitTs such as 458911423758336001", _commit, _shown_commit
)
BINLOG = PositionForm(
    r"[A-Za-z0-9_.-]{1,200}\.[0-9]{1,9}:[0-9]{1,19}",
    "FILE:POS as SHOW BINARY LOG STATUS shows it, such as binlog.000003:1547",
    _binlog,
    _shown_binlog,
)
LSN = PositionForm(
    "[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}",
    "an LSN as pg_current_wal_lsn() shows it, such as 0/16B3748",
    _lsn,
)
POSITION_FORMS = (COMMIT_TS, BINLOG, LSN)


def position_form(source: SourceSpec) -> PositionForm | None:
    """How ``source`` shows its positions; None where the offset orders its changes (POS-11)."""
    match source.format:
        case SourceFormat.DEBEZIUM_MYSQL | SourceFormat.DEBEZIUM_MARIADB:
            return BINLOG
        case SourceFormat.DEBEZIUM_POSTGRES:
            return LSN
        case SourceFormat.TICDC_CANAL_JSON if source.gate is GateMode.WATERMARK:
            return COMMIT_TS
        case SourceFormat.TICDC_CANAL_JSON | SourceFormat.CANAL_JSON:
            return None


def cap_below(source: SourceSpec, position: Position) -> str:
    """What a person is to give as until so that the statement at ``position`` waits."""
    form = position_form(source)
    if form is None or form.show is None or place_of(position) is None:
        return "TIME, later than those changes and earlier than the statement"
    return form.show(position)


def until_of(pipeline: PipelineSpec, text: str | None) -> Until | None:
    """Where ``text`` caps a run of ``pipeline``; None when it is empty.

    A time without a zone is UTC. Raises `ActionRefusedError` for what its source does not show.
    """
    if not text:
        return None
    form = position_form(pipeline.source)
    if form is not None and re.fullmatch(form.pattern, text):
        return form.read(text)
    moment = time_of(text)
    if moment is None:
        raise _refused(pipeline, text, form)
    return Until.at_time(moment)


def cut_or_time(text: str) -> int | datetime | None:
    """A number of a cut, or what `time_of` reads; None if it is neither."""
    if re.fullmatch("[1-9][0-9]{0,17}", text):
        return int(text)
    return time_of(text)


def time_of(text: str) -> datetime | None:
    """The time that ``text`` writes in ISO 8601, of UTC unless it has a zone; else None."""
    # ISO has times without a separator; a number is rather a position that lost a digit.
    if text.isdecimal():
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _refused(pipeline: PipelineSpec, text: str, form: PositionForm | None) -> ActionRefusedError:
    source = pipeline.source
    takes = f"{TIME_WORDS}, or {form.words}" if form else f"{TIME_WORDS}; it has no positions"
    return ActionRefusedError(
        f"{text!r} cannot cap a run of pipeline {pipeline.name}: a source with format "
        f"{source.format} and gate {source.gate} takes {takes}",
        state=UNCHANGED,
        next_step="give one of these as until, or leave it out to go as far as the gate allows",
    )
