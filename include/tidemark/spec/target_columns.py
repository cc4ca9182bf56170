"""Which columns of a source table its target has, under which names, and which nobody may read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import Field

from tidemark.model.column_rules import ColumnRules
from tidemark.spec.base import BrokenRule, SourceColumnName, SpecModel


class TargetColumnsSpec(SpecModel):
    """Rules for the columns of one target, by the names of the source."""

    include: tuple[SourceColumnName, ...] = Field(
        default=(), description="columns that the target has; default: all"
    )
    exclude: tuple[SourceColumnName, ...] = Field(
        default=(), description="columns that the target does not have"
    )
    rename: Mapping[SourceColumnName, SourceColumnName] = Field(
        default={}, description="column -> its name in the target"
    )
    hash: tuple[SourceColumnName, ...] = Field(
        default=(),
        description="columns of which the target has the SHA-256 of each value as text, without "
        "salt, in hexadecimal digits",
    )
    redact: tuple[SourceColumnName, ...] = Field(
        default=(), description="columns that are null in every row of the target"
    )

    @property
    def rules(self) -> ColumnRules:
        """The same as a value."""
        renamed = tuple(self.rename.items())
        return ColumnRules(self.include, self.exclude, renamed, self.hash, self.redact)

    def broken_rules(self) -> Iterator[BrokenRule]:
        """Nothing is said twice, and no two rules contradict one another."""
        if self.include and self.exclude:
            yield BrokenRule(("exclude",), "include as well", "one of the two")
        masked = (*self.hash, *self.redact)
        yield from duplicates("include", self.include)
        yield from duplicates("exclude", self.exclude)
        yield from duplicates("hash", self.hash)
        yield from duplicates("redact", masked, first=len(self.hash))
        yield from duplicates("rename", tuple(self.rename.values()), at=tuple(self.rename))
        for rule, names in (("rename", self.rename), ("hash", self.hash), ("redact", self.redact)):
            for at, name in enumerate(names):
                if self.rules.target_name(name) is None:
                    place = name if rule == "rename" else at
                    yield BrokenRule((rule, place), repr(name), "a column that the target has")


def duplicates(
    field: str, parts: tuple[object, ...], *, first: int = 0, at: tuple[str, ...] = ()
) -> Iterator[BrokenRule]:
    """Parts that stand before in the list ``field``, which begins at ``first`` of ``parts``.

    at: the keys of ``parts``, where the field is a mapping.
    """
    for index, part in enumerate(parts):
        if index >= first and part in parts[:index]:
            place = at[index] if at else index - first
            yield BrokenRule((field, place), repr(str(part)), "each one once")
