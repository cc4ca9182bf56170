"""What leaves Tidemark as a metric: the one catalogue of names, units, labels and meanings.

Names follow OpenMetrics: a unit is the end of the name, and counters end in ``_total``. A value is
read from the lake when it is asked for, so that all but one are gauges.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class MetricType(StrEnum):
    """How a value moves: a counter only grows."""

    GAUGE = "gauge"
    COUNTER = "counter"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. name: of its samples. unit: what the name ends with, empty where it counts.

    labels: what distinguishes its samples, in order.
    """

    name: str
    help: str
    labels: tuple[str, ...]
    unit: str = ""
    type: MetricType = MetricType.GAUGE


@dataclass(frozen=True, slots=True)
class Sample:
    """A value of ``metric``. labels: one text for each of its labels."""

    metric: Metric
    labels: tuple[str, ...]
    value: float

    @property
    def tags(self) -> dict[str, str]:
        """Label -> text."""
        return dict(zip(self.metric.labels, self.labels, strict=True))


_PIPELINE = ("pipeline",)
_TABLE = ("pipeline", "table")

PIPELINE_UP = Metric(
    "tidemark_pipeline_up",
    "1 while the pipeline's own tables and its topics can be read, else 0.",
    _PIPELINE,
)
CUTS = Metric(
    "tidemark_cuts_total",
    "Cuts that were published, which is the number of the newest one.",
    _PIPELINE,
    type=MetricType.COUNTER,
)
CUT_PUBLISHED = Metric(
    "tidemark_cut_published_timestamp_seconds",
    "When the newest cut was published, since 1970.",
    _PIPELINE,
    "seconds",
)
CUT_PUBLISH_DELAY = Metric(
    "tidemark_cut_publish_delay_seconds",
    "From when the newest cut was staged and audited until it was published.",
    _PIPELINE,
    "seconds",
)
CUT_CHANGES = Metric(
    "tidemark_cut_changes",
    "Changes of the newest cut by the bucket in which each ended.",
    ("pipeline", "bucket"),
)
RECORDS_WAITING = Metric(
    "tidemark_records_waiting",
    "Records that no cut has published: unread offsets of the topics, those landed and in no cut, "
    "and those held above the newest cut.",
    ("pipeline", "stage"),
)
HOLD = Metric(
    "tidemark_hold",
    "1 for the code of the hold at which the newest cut ended, 0 for every other code.",
    ("pipeline", "code"),
)
STALLED = Metric(
    "tidemark_stalled_seconds",
    "For how long cuts have gone no further, once that is longer than limits.stalled-after; else "
    "0.",
    _PIPELINE,
    "seconds",
)
AUDIT_BLOCKED = Metric(
    "tidemark_audit_blocked",
    "1 while the newest attempt is blocked by its audit, else 0.",
    _PIPELINE,
)
FAILED_ATTEMPTS = Metric(
    "tidemark_failed_attempts",
    "Attempts that failed since the newest cut or the last run that went well.",
    _PIPELINE,
)
QUARANTINED = Metric(
    "tidemark_quarantined_changes",
    "Changes and unreadable records that wait in quarantine.",
    _PIPELINE,
)
QUARANTINED_BY_CODE = Metric(
    "tidemark_quarantined_changes_by_code",
    "The same by table, empty where it is unknown, and by code.",
    ("pipeline", "table", "code"),
)
PIPELINE_FRESHNESS = Metric(
    "tidemark_pipeline_freshness_seconds",
    "How long ago the oldest of the pipeline's tables was complete.",
    _PIPELINE,
    "seconds",
)
TABLE_FRESHNESS = Metric(
    "tidemark_table_freshness_seconds",
    "How long ago the table was complete; 0 while all that the topics hold is published. For how "
    "long landed records wait, where nothing of it is published.",
    _TABLE,
    "seconds",
)
TABLE_FRESHNESS_LIMIT = Metric(
    "tidemark_table_freshness_limit_seconds",
    "How old the table may be, where its pipeline file says so.",
    _TABLE,
    "seconds",
)
TABLE_COMPLETE = Metric(
    "tidemark_table_complete_timestamp_seconds",
    "Until when the table is complete, in source time since 1970; with gate none, when its cut "
    "was published.",
    _TABLE,
    "seconds",
)
TABLE_BLOCKED = Metric(
    "tidemark_table_blocked",
    "1 while the table is blocked and others go on, else 0.",
    _TABLE,
)
TABLE_FAILED_CHECKS = Metric(
    "tidemark_table_failed_checks",
    "Checks that failed in the newest audit of the table.",
    _TABLE,
)
TABLE_ROWS = Metric(
    "tidemark_table_rows",
    "Rows of the target, as the summary of its snapshot counts them.",
    _TABLE,
)
TABLE_DATA_FILES = Metric("tidemark_table_data_files", "Data files of the target.", _TABLE)
TABLE_DELETE_FILES = Metric("tidemark_table_delete_files", "Delete files of the target.", _TABLE)
TABLE_BYTES = Metric(
    "tidemark_table_size_bytes", "Size of data and delete files of the target.", _TABLE, "bytes"
)

CATALOGUE: tuple[Metric, ...] = (
    *(PIPELINE_UP, PIPELINE_FRESHNESS, CUTS, CUT_PUBLISHED, CUT_PUBLISH_DELAY, CUT_CHANGES),
    *(RECORDS_WAITING, HOLD, STALLED, AUDIT_BLOCKED, FAILED_ATTEMPTS),
    *(QUARANTINED, QUARANTINED_BY_CODE),
    *(TABLE_FRESHNESS, TABLE_FRESHNESS_LIMIT, TABLE_COMPLETE, TABLE_BLOCKED, TABLE_FAILED_CHECKS),
    *(TABLE_ROWS, TABLE_DATA_FILES, TABLE_DELETE_FILES, TABLE_BYTES),
)
"""Every metric, in the order in which pages and expositions show them."""
