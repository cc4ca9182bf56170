"""Verdicts as rows: one per check, bound to the snapshot id that was audited (PUB-7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.expressions import EqualTo

from tidemark.errors import UNCHANGED, SupersededError
from tidemark.lake.catalog import SystemTables, catalog_errors, commit_errors
from tidemark.lake.ledger import PROPERTIES, ensure_table
from tidemark.model.names import AttemptId
from tidemark.model.verdict import CheckResult, Severity, Verdict

APPEND_TRIES = 5

SCHEMA = pa.schema(
    [
        pa.field("attempt", pa.string(), nullable=False),
        pa.field("cut", pa.int64(), nullable=False),
        pa.field("table", pa.string(), nullable=False),
        pa.field("snapshot_id", pa.int64(), nullable=False),
        pa.field("suite", pa.string(), nullable=False),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("check", pa.string(), nullable=False),
        pa.field("success", pa.bool_(), nullable=False),
        pa.field("severity", pa.string(), nullable=False),
        pa.field("observed", pa.string(), nullable=False),
        pa.field("audited_at", pa.timestamp("us", tz="UTC"), nullable=False),
    ]
)


def write_verdicts(
    catalog: Catalog,
    tables: SystemTables,
    attempt: AttemptId,
    cut: int,
    verdicts: Sequence[Verdict],
) -> None:
    """Append one row per check of ``verdicts``; readers of main see them at once."""
    rows = [row for verdict in verdicts for row in _rows(attempt, cut, verdict)]
    for _ in range(APPEND_TRIES):
        table = ensure_table(catalog, tables.verdicts, SCHEMA, PROPERTIES)
        try:
            with commit_errors("the writing of verdicts"):
                table.append(pa.Table.from_pylist(rows, schema=SCHEMA))
        except SupersededError:
            continue
        return
    raise SupersededError(
        f"the verdicts of attempt {attempt} lost {APPEND_TRIES} races for {tables.verdicts}",
        state=UNCHANGED,
        next_step="run again",
    )


def _rows(attempt: AttemptId, cut: int, verdict: Verdict) -> Iterable[dict[str, object]]:
    now = datetime.now(UTC)
    for check in verdict.checks:
        yield {
            "attempt": attempt,
            "cut": cut,
            "table": verdict.table,
            "snapshot_id": verdict.snapshot_id,
            "suite": verdict.suite,
            "outcome": verdict.outcome.value,
            "check": check.name,
            "success": check.success,
            "severity": check.severity.value,
            "observed": check.observed,
            "audited_at": now,
        }


def read_verdicts(
    catalog: Catalog, tables: SystemTables, attempt: AttemptId
) -> tuple[Verdict, ...]:
    """The verdicts of ``attempt``, in the order of their tables."""
    with catalog_errors("the reading of verdicts"):
        try:
            table = catalog.load_table(tables.verdicts.parts)
        except NoSuchTableError:
            return ()
        rows = table.scan(row_filter=EqualTo(term="attempt", value=attempt)).to_arrow().to_pylist()
    checks: dict[tuple[str, int, str], list[CheckResult]] = {}
    for row in rows:
        check = CheckResult(
            row["check"], row["success"], Severity(row["severity"]), row["observed"]
        )
        checks.setdefault((row["table"], row["snapshot_id"], row["suite"]), []).append(check)
    return tuple(
        Verdict(table_name, snapshot_id, suite, tuple(found))
        for (table_name, snapshot_id, suite), found in sorted(checks.items())
    )
