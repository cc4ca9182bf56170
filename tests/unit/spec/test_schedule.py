"""Cron schedules that are taken, and slips that are not."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from tidemark.spec.schedule import Cron

CRON: TypeAdapter[str] = TypeAdapter(Cron)


@pytest.mark.parametrize(
    "cron",
    ["* * * * *", "*/10 * * * *", "0 3 * * 1-5", "0,30 8-18/2 1 jan,JUL sun", "59 23 31 12 7"],
)
def test_taken(cron: str) -> None:
    assert CRON.validate_python(cron) == cron


@pytest.mark.parametrize(
    "cron",
    [
        "@daily",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "*/0 * * * *",
        "5-1 * * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 8",
        "a * * * *",
        "1, * * * *",
        "- * * * *",
    ],
)
def test_refused(cron: str) -> None:
    with pytest.raises(ValidationError):
        CRON.validate_python(cron)
