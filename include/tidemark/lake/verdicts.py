"""Verdicts as rows: one per check, bound to the snapshot id that was audited (PUB-7).

What an operator accepts is one row more of the snapshot that the verdict is of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.expressions import And, EqualTo

from tidemark.errors import UNCHANGED, SupersededError
from tidemark.lake.catalog import SystemTables, catalog_errors, commit_errors
from tidemark.lake.ledger import PROPERTIES, ensure_table
from tidemark.lake.refs import attempt_ref
from tidemark.model.names import AttemptId
from tidemark.model.verdict import CheckResult, Severity, Verdict

APPEND_TRIES = 5
ACCEPTED = "accepted"


class Author(StrEnum):
    """Who says what a row says."""

    ENGINE = "engine"
    SUITE = "suite"
    OPERATOR = "operator"


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
        pa.field("said_by", pa.string()),
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
    _append(catalog, tables, attempt, rows)


def write_accepted(
    catalog: Catalog,
    tables: SystemTables,
    attempt: AttemptId,
    cut: int,
    verdicts: Sequence[Verdict],
) -> None:
    """Append why ``verdicts`` are accepted, each with the snapshot that it is of."""
    rows = [
        _row(
            (attempt, cut, verdict),
            CheckResult(
                ACCEPTED, success=True, severity=Severity.WARNING, observed=verdict.accepted
            ),
            Author.OPERATOR,
        )
        for verdict in verdicts
    ]
    _append(catalog, tables, attempt, rows)


def _append(
    catalog: Catalog,
    tables: SystemTables,
    attempt: AttemptId,
    rows: Sequence[Mapping[str, object]],
) -> None:
    for _ in range(APPEND_TRIES):
        table = ensure_table(catalog, tables.verdicts, SCHEMA, PROPERTIES)
        try:
            with commit_errors("the writing of verdicts"):
                table.append(pa.Table.from_pylist(list(rows), schema=SCHEMA))
        except SupersededError:
            continue
        return
    raise SupersededError(
        f"the verdicts of attempt {attempt} lost {APPEND_TRIES} races for {tables.verdicts}",
        state=UNCHANGED,
        next_step="run again",
    )


def _rows(attempt: AttemptId, cut: int, verdict: Verdict) -> Iterable[dict[str, object]]:
    for check in verdict.checks:
        author = Author.SUITE if check.of_suite else Author.ENGINE
        yield _row((attempt, cut, verdict), check, author)


def _row(
    of: tuple[AttemptId, int, Verdict], check: CheckResult, author: Author
) -> dict[str, object]:
    attempt, cut, verdict = of
    return {
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
        "audited_at": datetime.now(UTC),
        "said_by": author.value,
    }


def read_verdicts(
    catalog: Catalog, tables: SystemTables, attempt: AttemptId, cut: int
) -> tuple[Verdict, ...]:
    """The verdicts of ``attempt`` at ``cut``, in the order of their tables.

    The cut prunes files: names of attempts begin alike, and Iceberg truncates bounds of texts.
    """
    with catalog_errors("the reading of verdicts"):
        try:
            table = catalog.load_table(tables.verdicts.parts)
        except NoSuchTableError:
            return ()
        wanted = And(EqualTo(term="cut", value=cut), EqualTo(term="attempt", value=attempt))
        rows = table.scan(row_filter=wanted).to_arrow().to_pylist()
    return tuple(sorted(verdicts_of(rows), key=lambda verdict: verdict.table))


def verdicts_of(rows: Iterable[Mapping[str, Any]]) -> tuple[Verdict, ...]:
    """The verdicts that ``rows`` of the table make up, in the order in which they begin.

    Of one snapshot each attempt has its own: where columns alone change, none of them makes one.
    """
    checks: dict[tuple[str, str, int, str], list[CheckResult]] = {}
    accepted: dict[tuple[str, str, int, str], str] = {}
    for row in rows:
        audit = attempt_ref(row["cut"], row["attempt"])  # as `run_cut` calls it in Data Docs
        of = (audit, row["table"], row["snapshot_id"], row["suite"])
        findings = checks.setdefault(of, [])
        # Older versions wrote no said_by: such findings count as the engine's own.
        author = Author(row.get("said_by") or Author.ENGINE)
        if author is Author.OPERATOR:
            accepted[of] = row["observed"]
            continue
        severity, of_suite = Severity(row["severity"]), author is Author.SUITE
        findings.append(
            CheckResult(row["check"], row["success"], severity, row["observed"], of_suite=of_suite)
        )
    return tuple(
        Verdict(*of[1:], tuple(findings), accepted=accepted.get(of, ""), audit=of[0])
        for of, findings in checks.items()
    )
