"""Every change of a run ends in exactly one bucket, or the run fails (ACC-1, ACC-4).

A change is what one row of a record does to one key; of folded tables each is counted. A record of
any other kind, or of a table that is not folded in this cut, is one unit (ACC-2).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tidemark.errors import AccountingError
from tidemark.model.bucket import Bucket
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.profile import BatchProfile, ProfileEntry, count
from tidemark.model.target_mode import TargetMode
from tidemark.runs.staging.stage import StagedTable


def account(
    profile: BatchProfile,
    staged: Sequence[StagedTable],
    folded: Collection[TableName],
    standing: Collection[TableName],
    landed: int,
) -> Mapping[str, int]:
    """Units per bucket.

    profile: what the cut looked at. folded: tables that are kept up, also without rows in this
    cut. standing: tables whose changes wait. landed: records that came in since the last cut.
    `AccountingError` when the sums disagree.
    """
    known = (CheckpointStatus.COMMITTED, CheckpointStatus.REPLAYED)
    fresh = [
        profile_entry
        for profile_entry in profile.profile_entries
        if profile_entry.status not in known
    ]
    arrived = count(
        profile_entry for profile_entry in profile.profile_entries if profile_entry.is_new
    )
    if arrived != landed:
        raise AccountingError(
            f"{landed} records were landed since the last cut, but the changelog shows {arrived}",
            state="every table is as it was; the attempt's branches are kept",
            next_step="run again; if this repeats, the changelog's files are not sound",
        )
    buckets = dict.fromkeys((bucket.value for bucket in Bucket), 0)
    names = {(table.schema, table.table): table for table in (*folded, *standing)}
    for profile_entry in fresh:
        bucket = _bucket(profile_entry, names, standing)
        if bucket is not None:
            buckets[bucket.value] += profile_entry.records
    for table in staged:
        for bucket, number in _folded(table).items():
            buckets[bucket.value] += number
    units = count(fresh) + sum(table.changes - table.work.rows for table in staged)
    if sum(buckets.values()) != units:
        raise AccountingError(
            f"the {count(fresh)} records of the cut hold {units} changes, but "
            f"{sum(buckets.values())} ended somewhere: {buckets}",
            state="every table is as it was; the attempt's branches are kept",
            next_step="run again; if this repeats, report the numbers above",
        )
    return buckets


def _bucket(
    profile_entry: ProfileEntry,
    names: Mapping[tuple[str, str], TableName],
    standing: Collection[TableName],
) -> Bucket | None:
    """The bucket of a whole group; None for rows of folded tables, which are counted one by one."""
    table = names.get(profile_entry.table) if profile_entry.table else None
    if profile_entry.status is CheckpointStatus.HELD:
        return Bucket.HELD
    if profile_entry.kind is Kind.UNREADABLE or profile_entry.status is CheckpointStatus.SKIPPED:
        return Bucket.QUARANTINED
    if profile_entry.kind not in (Kind.ROW, Kind.TRUNCATE, Kind.DDL):
        return Bucket.CONTROL
    if table is not None and table in standing:
        return Bucket.HELD
    if profile_entry.status is CheckpointStatus.DUPLICATE:
        return Bucket.DUPLICATE
    if profile_entry.kind is Kind.DDL:
        return Bucket.APPLIED if table is not None else Bucket.CONTROL
    if table is None:
        return Bucket.FILTERED
    return Bucket.APPLIED if profile_entry.kind is Kind.TRUNCATE else None


def _folded(table: StagedTable) -> Mapping[Bucket, int]:
    """Changes of one table, each counted where it ended; `AccountingError` if one is missing.

    What is tried again is counted again. A copy that takes its own place in an append target is a
    duplicate. Of a history target one change may begin a version and end another, so what it takes
    is counted before that.
    """
    effect, applied, known = table.effect, 0, table.effect.known
    match table.work.spec.mode:
        case TargetMode.HISTORY:
            applied = table.version_changes or 0
        case TargetMode.APPEND:
            applied, known = effect.inserted, known + effect.updated
        case TargetMode.MIRROR | TargetMode.SOFT_DELETE:
            applied = effect.inserted + effect.updated + effect.deleted + effect.missing
    ended = {
        Bucket.APPLIED: applied,
        Bucket.SUPERSEDED: table.superseded,
        Bucket.DUPLICATE: known + table.repeats,
        Bucket.QUARANTINED: table.quarantined,
    }
    if sum(ended.values()) != table.changes:
        raise AccountingError(
            f"the cut holds {table.changes} changes of {table.work.spec.source}, but "
            f"{sum(ended.values())} of them ended somewhere: "
            + ", ".join(f"{number} {bucket}" for bucket, number in ended.items()),
            state="every table is as it was; the attempt's branches are kept",
            next_step="run again; if this repeats, report the numbers above",
        )
    return ended
