"""Iceberg's own procedures of maintenance, called for one table.

All of them commit by themselves, and only where nobody changed what they replace. None changes a
row, so that a cut beside them goes on (PUB-12): it leaves what they wrote, and the next run of
maintenance writes it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Row, SparkSession

from tidemark.lake import sql
from tidemark.lake.catalog import TableId
from tidemark.model.maintenance import DAY_MS, Policy


@dataclass(frozen=True, slots=True)
class Procedures:
    """The procedures of one table; each method returns what it did (`TableMaintenance`)."""

    session: SparkSession
    catalog: str
    table: TableId
    policy: Policy

    def expire(self, before_ms: int) -> Mapping[str, int]:
        """Remove snapshots that are older, with the files that only they name."""
        clean = {"retain_last": "1", "clean_expired_metadata": "true"}
        counts = self._call("expire_snapshots", {"older_than": sql.moment(before_ms), **clean})
        # Of each snapshot there is one manifest list.
        return {"expired": int(counts["deleted_manifest_lists_count"])}

    def rewrite(self, *, is_sorted: bool) -> Mapping[str, int]:
        """Rewrite small and worn files, in steps that are committed one by one.

        ``failed`` beside the counts: files of steps that failed, which Iceberg only logs.
        """
        options: Mapping[str, str | float] = {
            "min-input-files": self.policy.small_files,
            "delete-ratio-threshold": self.policy.max_deleted,
            "delete-file-threshold": self.policy.max_delete_files,
            "remove-dangling-deletes": "true",
            "partial-progress.enabled": "true",
        }
        strategy = sql.literal("sort" if is_sorted else "binpack")
        arguments = {"strategy": strategy, "options": sql.options(options)}
        counts = self._call("rewrite_data_files", arguments)
        return {
            "rewritten": int(counts["rewritten_data_files_count"]),
            "bytes": int(counts["rewritten_bytes_count"]),
            "deletes": int(counts["removed_delete_files_count"]),
            "failed": int(counts["failed_data_files_count"]),
        }

    def rewrite_deletes(self) -> Mapping[str, int]:
        """Write small files of position deletes together."""
        options = sql.options({"min-input-files": self.policy.small_files})
        counts = self._call("rewrite_position_delete_files", {"options": options})
        return {"deletes": int(counts["rewritten_delete_files_count"])}

    def rewrite_manifests(self) -> Mapping[str, int]:
        """Write manifests together."""
        counts = self._call("rewrite_manifests", {"use_caching": "false"})
        return {"manifests": int(counts["rewritten_manifests_count"])}

    def remove_orphans(self, now_ms: int) -> Mapping[str, int]:
        """Remove files in the table's folder that no snapshot names."""
        before = sql.moment(now_ms - self.policy.orphan_days * DAY_MS)
        arguments = {"older_than": before, "prefix_listing": "true"}
        return {"orphans": len(self._rows("remove_orphan_files", arguments))}

    def _call(self, procedure: str, arguments: Mapping[str, str]) -> Row:
        (row,) = self._rows(procedure, arguments)
        return row

    def _rows(self, procedure: str, arguments: Mapping[str, str]) -> list[Row]:
        statement = sql.call(self.catalog, procedure, self.table.parts, arguments)
        return self.session.sql(statement).collect()
