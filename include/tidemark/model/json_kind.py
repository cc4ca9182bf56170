"""What a value in JSON shows of itself, where nothing else tells the type of its column."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

LEAST, MOST = -(2**63), 2**63 - 1


class JsonKind(StrEnum):
    """Kinds of values; objects and lists are texts, as targets have them as such."""

    NULL = "null"
    BOOLEAN = "true or false"
    INTEGER = "an integer"
    LARGE = "an integer of more than 64 bits"
    NUMBER = "a number with a fraction"
    TEXT = "a text"

    @classmethod
    def of(cls, value: Any) -> JsonKind:
        """The kind of a value that `json.loads` has read.

        >>> [JsonKind.of(value).name for value in (None, True, 7, 2**64, 0.5, [1])]
        ['NULL', 'BOOLEAN', 'INTEGER', 'LARGE', 'NUMBER', 'TEXT']
        """
        match value:
            case None:
                return cls.NULL
            case bool():
                return cls.BOOLEAN
            case int():
                return cls.INTEGER if LEAST <= value <= MOST else cls.LARGE
            case float():
                return cls.NUMBER
            case _:
                return cls.TEXT
