"""How long records are kept once no cut needs them any more."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from tidemark.spec.base import SpecModel

ALL = "all"
_DAYS = re.compile(r"(?P<days>[1-9][0-9]{0,4})d")
LEAST_DAYS = 7
"""Sources redeliver records, and a duplicate is recognised by the first copy."""


def _keep(text: str) -> str:
    match = _DAYS.fullmatch(text)
    if text != ALL and (match is None or int(match["days"]) < LEAST_DAYS):
        raise ValueError(f"all, or days, {LEAST_DAYS}d at least, such as 30d")
    return text


class Payload(StrEnum):
    """What the changelog holds of columns that a target does not show."""

    RAW = "raw"
    MASKED = "masked"


class ChangelogSpec(SpecModel):
    """What becomes of records that are folded."""

    keep: Annotated[
        str,
        AfterValidator(_keep),
        Field(json_schema_extra={"pattern": f"^({ALL}|{_DAYS.pattern.replace('?P<days>', '')})$"}),
    ] = Field(
        default=ALL,
        description="how long maintenance keeps records of the changelog: all of them, or days, "
        f"such as 30d, at least {LEAST_DAYS}d; older ones go once a base of their table stands "
        "for them",
    )

    payload: Payload = Field(
        default=Payload.RAW,
        description="raw: records as they came; masked: without the values of columns that "
        "target-columns leaves out, hashes or redacts, for good",
    )

    @property
    def is_masked(self) -> bool:
        """Whether records are kept without what targets do not show (MASK-1)."""
        return self.payload is Payload.MASKED

    @property
    def keep_days(self) -> int | None:
        """The days; None where all records are kept."""
        match = _DAYS.fullmatch(self.keep)
        return int(match["days"]) if match else None
