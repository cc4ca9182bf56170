"""Times in a table's metadata that never step back, whatever clocks say that wrote them.

pyiceberg stamps its own clock and compares it with nothing. Iceberg in Java reads no metadata whose
logs, or whose own time behind them, step back by more than a minute, so that a machine whose clock
is behind the last one's would take the table from every reader. Source of the rule: the
constructor of `org.apache.iceberg.TableMetadata`.
"""

from __future__ import annotations

from itertools import accumulate

from pyiceberg.table.metadata import TableMetadata


def in_time_order(metadata: TableMetadata, least_ms: int = 0) -> TableMetadata:
    """``metadata`` whose logs are sorted by time, and which is no older than any entry of them.

    A time that steps back becomes the one before it. least_ms: the time of the metadata before.
    """
    snapshot_times, file_times = (
        list(accumulate((entry.timestamp_ms for entry in log), max))
        for log in (metadata.snapshot_log, metadata.metadata_log)
    )
    update = {
        "snapshot_log": [
            entry.model_copy(update={"timestamp_ms": at_ms})
            for entry, at_ms in zip(metadata.snapshot_log, snapshot_times, strict=True)
        ],
        "metadata_log": [
            entry.model_copy(update={"timestamp_ms": at_ms})
            for entry, at_ms in zip(metadata.metadata_log, file_times, strict=True)
        ],
        "last_updated_ms": max(
            metadata.last_updated_ms, least_ms, *snapshot_times[-1:], *file_times[-1:]
        ),
    }
    return metadata.model_copy(update=update)
