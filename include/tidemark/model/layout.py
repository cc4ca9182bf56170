"""How the files of a target are laid out: Iceberg's partition transforms and sort order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from tidemark.model.names import ColumnName, refusal


class Transform(StrEnum):
    """What of a column's value tells a row's partition; names as in Iceberg's specification."""

    IDENTITY = "identity"
    YEAR = "year"
    MONTH = "month"
    DAY = "day"
    HOUR = "hour"
    BUCKET = "bucket"
    TRUNCATE = "truncate"


_FIELD = re.compile(
    r"(?P<unit>year|month|day|hour)\((?P<dated>[^()]+)\)"
    r"|(?P<sized>bucket|truncate)\((?P<width>[1-9]\d{0,8}), *(?P<cut>[^()]+)\)"
    r"|(?P<whole>[^()]+)"
)


@dataclass(frozen=True, slots=True)
class PartitionField:
    """One partition transform; width: buckets of BUCKET, units of TRUNCATE, 0 of the others."""

    transform: Transform
    column: ColumnName
    width: int = 0

    def __str__(self) -> str:
        match self.transform:
            case Transform.IDENTITY:
                return self.column
            case Transform.BUCKET | Transform.TRUNCATE:
                return f"{self.transform}({self.width}, {self.column})"
            case _:
                return f"{self.transform}({self.column})"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The reverse of `str`; ValueError says what is expected.

        >>> PartitionField.parse("bucket(16, id)")
        PartitionField(transform=<Transform.BUCKET: 'bucket'>, column='id', width=16)
        """
        match = _FIELD.fullmatch(text.strip())
        if match is None:
            raise ValueError(
                "a column, or year(c), month(c), day(c), hour(c), bucket(16, c), truncate(10, c)"
            )
        name = match["dated"] or match["cut"] or match["whole"]
        reason = refusal(name)
        if reason is not None:
            raise ValueError(f"another column: {reason}")
        transform = Transform(match["unit"] or match["sized"] or Transform.IDENTITY)
        return cls(transform, ColumnName(name), int(match["width"] or 0))


@dataclass(frozen=True, slots=True)
class Layout:
    """How a target is partitioned, and by which columns its files are sorted."""

    partition: tuple[PartitionField, ...] = ()
    sort: tuple[ColumnName, ...] = ()

    @property
    def columns(self) -> tuple[ColumnName, ...]:
        """Every column that the layout names, once."""
        return tuple(dict.fromkeys((*(field.column for field in self.partition), *self.sort)))

    def __str__(self) -> str:
        by = ", ".join(map(str, self.partition)) or "nothing"
        return f"partitioned by {by}, sorted by {', '.join(self.sort) or 'nothing'}"

    def to_json(self) -> dict[str, Any]:
        """As kept in the target's properties."""
        return {"partition": [str(field) for field in self.partition], "sort": list(self.sort)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The reverse of `to_json`."""
        return cls(
            tuple(map(PartitionField.parse, stored["partition"])),
            tuple(map(ColumnName, stored["sort"])),
        )
