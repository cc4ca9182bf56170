"""What maintenance of an Iceberg table is due, by its files; no engine.

Every cut leaves small files, rows that are deleted and not yet gone, and a snapshot. A reader pays
for the first two with each scan, the store for the third.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

DAY_MS = 86_400_000
SMALL_SHARE = 0.75
"""Of the target size: a file that is smaller is written together with others, as Iceberg does."""


@dataclass(frozen=True, slots=True)
class Policy:
    """When files are rewritten and snapshots expire.

    small_files: so many small files are written together. max_deleted: share of a file's rows that
    may be deleted, and max_delete_files: delete files that a reader may have to open beside it.
    max_manifests: that a reader may have to open. keep_days: of snapshots, and max_snapshots: the
    newest of them at most. orphan_days: of files that no snapshot names.
    """

    small_files: int
    max_deleted: float
    max_delete_files: int
    max_manifests: int
    keep_days: int
    max_snapshots: int
    orphan_days: int


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of rows: bytes, rows, and what takes rows away from it."""

    size: int
    rows: int
    deleted: int = 0
    delete_files: int = 0


@dataclass(frozen=True, slots=True)
class TableFiles:
    """An Iceberg table as its metadata tell.

    target_bytes: the size that its files are to have. files: of each partition. delete_files:
    that belong to more than one file of rows. snapshots: when each was made, in ms since 1970, but
    for those that branches and tags name.
    """

    target_bytes: int
    files: Mapping[str, Sequence[DataFile]]
    delete_files: int = 0
    manifests: int = 0
    snapshots: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class DueWork:
    """What is due of one table.

    rewrites: files of rows that are rewritten, with their bytes and rows. deletes: whether
    delete files are written together. manifests: that are. expires: snapshots, those made before
    ``expires_before`` (in ms since 1970).
    """

    rewrites: int = 0
    bytes: int = 0
    rows: int = 0
    deletes: bool = False
    manifests: int = 0
    expires: int = 0
    expires_before: int = 0


def due_work(table: TableFiles, policy: Policy, now_ms: int) -> DueWork:
    """What of ``table`` is due by ``policy``.

    >>> policy = Policy(2, 0.1, 10, 100, 5, 200, 3)
    >>> due = due_work(TableFiles(100, {"": [DataFile(10, 1), DataFile(20, 2)]}), policy, 0)
    >>> due.rewrites, due.bytes, due.rows
    (2, 30, 3)
    """
    chosen = [file for files in table.files.values() for file in _rewritten(table, files, policy)]
    before = _expires_before(table.snapshots, policy, now_ms)
    return DueWork(
        rewrites=len(chosen),
        bytes=sum(file.size for file in chosen),
        rows=sum(file.rows for file in chosen),
        deletes=table.delete_files >= policy.small_files,
        manifests=table.manifests if table.manifests > policy.max_manifests else 0,
        expires=sum(made < before for made in table.snapshots),
        expires_before=before,
    )


def _expires_before(snapshots: Sequence[int], policy: Policy, now_ms: int) -> int:
    newest = sorted(snapshots, reverse=True)[: policy.max_snapshots]
    too_old = now_ms - policy.keep_days * DAY_MS
    return max(too_old, newest[-1]) if len(snapshots) > policy.max_snapshots else too_old


def _rewritten(table: TableFiles, files: Sequence[DataFile], policy: Policy) -> Sequence[DataFile]:
    """The files of one partition that are rewritten."""
    limit = SMALL_SHARE * table.target_bytes
    are_many = sum(file.size < limit for file in files) >= policy.small_files
    return [file for file in files if _is_worn(file, policy) or (are_many and file.size < limit)]


def _is_worn(file: DataFile, policy: Policy) -> bool:
    many = file.delete_files >= policy.max_delete_files
    return many or (file.deleted > 0 and file.deleted >= policy.max_deleted * file.rows)


@dataclass(frozen=True, slots=True)
class TableMaintenance:
    """What a run of maintenance did to one table, or would do.

    rewritten: files of rows; bytes: in them. deletes: delete files that went. manifests: that were
    written together. expired: snapshots. orphans: files that no snapshot named. removed: records
    that the changelog needs no more (KEEP-1). skipped: why nothing was done, or not all of it,
    empty where all was.
    """

    table: str
    rewritten: int = 0
    bytes: int = 0
    rows: int = 0
    deletes: int = 0
    manifests: int = 0
    expired: int = 0
    orphans: int = 0
    removed: int = 0
    seconds: float = 0.0
    skipped: str = ""

    @property
    def is_due(self) -> bool:
        """Whether anything is done, or would be."""
        files = (self.rewritten, self.deletes, self.manifests)
        return any((*files, self.expired, self.orphans, self.removed))

    def counted(self, counts: Mapping[str, int]) -> TableMaintenance:
        """The same with ``counts`` (field -> number) added."""
        sums = {name: getattr(self, name) + number for name, number in counts.items()}
        return replace(self, **sums)


@dataclass(frozen=True, slots=True)
class MaintenanceResult:
    """What a run of maintenance leaves for whoever started it; error: empty where it ended well."""

    tables: tuple[TableMaintenance, ...] = ()
    error: str = ""
    retryable: bool = False

    def to_json(self) -> str:
        """One JSON object."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> MaintenanceResult:
        """The reverse of `to_json`."""
        stored = json.loads(text)
        tables = tuple(TableMaintenance(**table) for table in stored.pop("tables"))
        return cls(tables, **stored)
