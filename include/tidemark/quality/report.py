"""Data Docs: what every audit found, as static HTML that opens from a folder.

Great Expectations renders the results; the pages around them are our own. They hold what
`SuiteRun` holds: counts, and no cell of a table.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tidemark.errors import StorageError
from tidemark.model.verdict import outcome_of
from tidemark.quality.audit import SuiteRun, great_expectations
from tidemark.quality.pages import CUTS, AuditedCut, AuditedTable, index_page, page_of, table_page

MAX_AUDITS = 50
_RECORD = "audit.json"


def write_data_docs(folder: Path, runs: Mapping[str, SuiteRun], *, cut: str, at: datetime) -> Path:
    """Add the suites of one cut to the Data Docs in ``folder``; returns their index page.

    runs: table name -> run of its suite. cut: names the audit; a second one of that name replaces
    the first. at: when it was audited. The newest 50 audits are kept. One writer per folder.

    Raises `StorageError` when the folder cannot be written; earlier pages stay then.
    """
    audited = _audited(runs, cut, at)
    try:
        _write_cut(folder, audited, runs)
        newest = sorted(_records(folder), key=lambda record: record.at, reverse=True)[:MAX_AUDITS]
        index = _write(folder / "index.html", index_page(f"Audits of {folder.name}", newest))
        _forget_others(folder, newest)
    except OSError as error:
        raise StorageError(
            f"Data Docs could not be written to {folder}: {error.strerror}",
            state="the audit is complete and its verdicts are not affected",
            next_step="make room or fix the permissions of the folder, then run the cut again",
        ) from error
    return index


def _audited(runs: Mapping[str, SuiteRun], cut: str, at: datetime) -> AuditedCut:
    tables = tuple(
        AuditedTable(
            table=table,
            suite=run.suite,
            outcome=outcome_of(run.checks),
            checks=len(run.checks),
            failed=sum(not check.success for check in run.checks),
            page=page_of(cut, table),
        )
        for table, run in sorted(runs.items())
    )
    return AuditedCut(cut, at.astimezone(UTC).isoformat(timespec="seconds"), tables)


def _write_cut(folder: Path, audited: AuditedCut, runs: Mapping[str, SuiteRun]) -> None:
    (folder / CUTS / audited.name).mkdir(parents=True, exist_ok=True)
    for table in audited.tables:
        run = runs[table.table]
        page = table_page(table, audited, run.checks, _rendered(run.document))
        _write(folder / table.page, page)
    _write(folder / CUTS / audited.name / _RECORD, audited.to_json())


def _rendered(document: str) -> str:
    """The sections that Great Expectations renders of a result, but its overview."""
    with great_expectations():
        from great_expectations.core.expectation_validation_result import (
            expectationSuiteValidationResultSchema,
        )
        from great_expectations.render.renderer.page_renderer import ValidationResultsPageRenderer
        from great_expectations.render.view.view import DefaultJinjaSectionView

        result = expectationSuiteValidationResultSchema.load(json.loads(document))
        sections = ValidationResultsPageRenderer().render(result).to_json_dict()["sections"]
        view: Any = DefaultJinjaSectionView()
        return "".join(
            view.render({"section": section, "section_loop": {"index": number}})
            for number, section in enumerate(sections)
            if number > 0
        )


def _records(folder: Path) -> Iterator[AuditedCut]:
    """The audits that are there; one that was not written to its end has no record."""
    for file in (folder / CUTS).glob(f"*/{_RECORD}"):
        yield AuditedCut.from_json(file.read_text("utf-8"))


def _forget_others(folder: Path, newest: list[AuditedCut]) -> None:
    names = {cut.name for cut in newest}
    for directory in (folder / CUTS).iterdir():
        if directory.name not in names:
            shutil.rmtree(directory)


def _write(file: Path, text: str) -> Path:
    """Replace ``file`` at once, so that nobody reads half a page."""
    draft = file.with_name(f".{file.name}.draft")
    draft.write_text(text, "utf-8")
    os.replace(draft, file)
    return file
