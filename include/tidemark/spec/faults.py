"""A fault in a file, as the person who has to fix it reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from tidemark.errors import SpecError

Loc = tuple[str | int, ...]
WHOLE_FILE: Loc = ()
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_CREDENTIALS = re.compile(r"//[^@\s]*@")
_SHOWN_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Fault:
    """``field`` at ``line`` holds what it should not."""

    line: int
    field: Loc
    got: str
    expected: str
    hint: str = ""

    def render(self, file: Path) -> str:
        """``file:line -> field path: got ...; expected ...; did you mean ...``."""
        hint = f"; did you mean {self.hint}" if self.hint else ""
        where = field_path(self.field)
        return f"{file}:{self.line} -> {where}: got {self.got}; expected {self.expected}{hint}"


def spec_error(faults: Mapping[Path, Iterable[Fault]]) -> SpecError:
    """All faults of all files in one error, in the order of files and lines."""
    lines = [
        fault.render(file)
        for file, file_faults in faults.items()
        for fault in sorted(file_faults, key=lambda fault: fault.line)
    ]
    return SpecError("\n".join(lines))


def field_path(loc: Loc) -> str:
    """``tables[0].source``; a key that holds dots stands in brackets."""
    path = ""
    for step in loc:
        if isinstance(step, int):
            path += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            path += f".{step}"
        else:
            path += f"[{step!r}]"
    return path.removeprefix(".") or "(file)"


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that ``name`` was probably meant to be, quoted; empty when none is near."""
    matches = get_close_matches(name.lower(), sorted(known), n=1)
    return repr(matches[0]) if matches else ""


def shown(value: object) -> str:
    """A YAML value in a message: named by its kind when large, without a URI's credentials."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "keys with values"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    text = _CREDENTIALS.sub("//...@", repr(value))
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
