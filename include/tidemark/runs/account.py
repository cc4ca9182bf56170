"""Every change of a run ends in exactly one bucket, or the run fails (ACC-1, ACC-4).

A change is what one row of a record does to one key; of folded tables each is counted. A record of
any other kind, or of a table that is not folded in this cut, is one unit (ACC-2).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum

from tidemark.errors import AccountingError
from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.survey import Group, Survey, count
from tidemark.model.target_mode import TargetMode
from tidemark.model.zone import Zone
from tidemark.runs.staging.stage import StagedTable


class Bucket(StrEnum):
    """Where a change ended (ACC-1)."""

    APPLIED = "applied"
    SUPERSEDED = "superseded"
    DUPLICATE = "duplicate"
    CONTROL = "control"
    FILTERED = "filtered"
    QUARANTINED = "quarantined"
    HELD = "held"


def account(
    survey: Survey,
    staged: Sequence[StagedTable],
    folded: Collection[TableName],
    standing: Collection[TableName],
    landed: int,
) -> Mapping[str, int]:
    """Units per bucket.

    survey: what the cut looked at. folded: tables that are kept up, also without rows in this
    cut. standing: tables whose changes wait. landed: records that came in since the last cut.
    `AccountingError` when the sums disagree.
    """
    known = (Zone.SETTLED, Zone.REPLAYED)
    fresh = [group for group in survey.groups if group.zone not in known]
    arrived = count(group for group in survey.groups if group.is_new)
    if arrived != landed:
        raise AccountingError(
            f"{landed} records were landed since the last cut, but the changelog shows {arrived}",
            state="every table is as it was; the attempt's branches are kept",
            next_step="run again; if this repeats, the changelog's files are not sound",
        )
    buckets = dict.fromkeys((bucket.value for bucket in Bucket), 0)
    names = {(table.schema, table.table): table for table in (*folded, *standing)}
    for group in fresh:
        bucket = _bucket(group, names, standing)
        if bucket is not None:
            buckets[bucket.value] += group.records
    for table in staged:
        _add_folded(buckets, table)
    units = count(fresh) + sum(table.changes - table.work.rows for table in staged)
    if sum(buckets.values()) != units or any(number < 0 for number in buckets.values()):
        raise AccountingError(
            f"the {count(fresh)} records of the cut hold {units} changes, but "
            f"{sum(buckets.values())} ended somewhere: {buckets}",
            state="every table is as it was; the attempt's branches are kept",
            next_step="run again; if this repeats, report the numbers above",
        )
    return buckets


def _bucket(
    group: Group, names: Mapping[tuple[str, str], TableName], standing: Collection[TableName]
) -> Bucket | None:
    """The bucket of a whole group; None for rows of folded tables, which are counted one by one."""
    table = names.get(group.table) if group.table else None
    if group.zone is Zone.HELD:
        return Bucket.HELD
    if group.kind is Kind.UNREADABLE or group.zone is Zone.SKIPPED:
        return Bucket.QUARANTINED
    if group.kind not in (Kind.ROW, Kind.TRUNCATE, Kind.DDL):
        return Bucket.CONTROL
    if table is not None and table in standing:
        return Bucket.HELD
    if group.zone is Zone.LATE:
        return Bucket.DUPLICATE
    if group.kind is Kind.DDL:
        return Bucket.APPLIED if table is not None else Bucket.CONTROL
    if table is None:
        return Bucket.FILTERED
    return Bucket.APPLIED if group.kind is Kind.TRUNCATE else None


def _add_folded(buckets: dict[str, int], table: StagedTable) -> None:
    """Rows of one table: winners are applied unless the target was newer; the rest lost to them.

    What is tried again is counted again. Of a table without a key the rest are also rows that came
    and went, and what took them away. A target of versions or changes takes all but repeats.
    """
    stale, mode = _stale(table), table.work.spec.mode
    keeps_all = mode in (TargetMode.HISTORY, TargetMode.APPEND)
    taken = table.changes - table.repeats if keeps_all else table.rows.rows
    buckets[Bucket.DUPLICATE] += stale + table.repeats
    buckets[Bucket.APPLIED] += taken - stale
    buckets[Bucket.QUARANTINED] += table.set_aside
    settled = taken + table.repeats + table.set_aside
    buckets[Bucket.SUPERSEDED] += table.changes - settled


def _stale(table: StagedTable) -> int:
    """How many of the staged changes the target knew, or found no row for."""
    rows, effect = table.rows, table.effect
    match table.work.spec.mode:
        case TargetMode.MIRROR:
            return max(0, rows.upserts - effect.inserted - effect.updated)
        case TargetMode.SOFT_DELETE:
            return rows.rows - effect.inserted - effect.updated
        case TargetMode.APPEND:
            return rows.rows - effect.inserted
        case TargetMode.HISTORY:
            return 0
