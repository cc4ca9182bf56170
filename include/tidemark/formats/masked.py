"""Payloads without the values that a target leaves out, hashes or redacts (MASK-1).

All else of a record stays, byte by byte. In place of a value that a target hashes stands its hash,
with what kind of value it is of: whether that is the target's hash, its type tells later. In place
of others stands that they were there: a null is one at the source.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tidemark.formats.json_spans import Edit, elements, fields, spliced, whole
from tidemark.formats.record_schema import key_names
from tidemark.formats.special import PLACEHOLDER
from tidemark.model.column_rules import ColumnRules, Mask
from tidemark.model.columns import TableSchema
from tidemark.model.names import ColumnName

_PREFIX = "tidemark:sha256:"
_HIDDEN = "tidemark:masked"
_ROWS = frozenset(("INSERT", "UPDATE", "DELETE"))
"""What Canal calls changes of rows."""
ANY_COLUMN = "*"
_OF_ROWS = frozenset(("INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "CALL", "WITH"))
"""With what a statement begins that may have values of rows."""
_FIRST_WORD = re.compile(r"(?:\s|/\*!\d*|/\*.*?\*/|--\s[^\n]*\n|#[^\n]*\n|\()*(\w+)", re.DOTALL)
_MOST_NAMES = 10_000
"""Of columns that are remembered."""
_NO_TEXT = '""'
_INTEGER = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS = 1_000
"""Of texts that are taken for integers, zeros in front and all."""
_LONGS = range(-(2**63), 2**63)
_BOOLEANS = {"true": 1, "false": 0}
_TRIMMED = "".join(map(chr, (*range(33), 127)))
"""What may stand around the digits of an integer, as Spark reads it."""


class Hashed(StrEnum):
    """What a hash was made of.

    INTEGER: digits of an integer. NUMBER: another text that an integer is read from (TYPE-9), whose
    own hash stands behind it. TEXT: any other. OTHER: a value of another form.
    """

    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    OTHER = "other"


_SHA256 = "([0-9a-f]{64})"
_KNOWN = f"({Hashed.INTEGER}|{Hashed.NUMBER}|{Hashed.TEXT})"
HASHES = f"^{_PREFIX}{_KNOWN}:{_SHA256}(:{_SHA256})?$"
"""As a regular expression: what was hashed, the hash of its text, and (4) that of its number."""
MASKED = f"^({_PREFIX}|{_HIDDEN}$)"
"""What stands in place of any value, as a regular expression."""


class UnmaskableError(ValueError):
    """A payload in which nobody can tell which values are of which columns."""


def hash_of(text: str) -> str:
    """What stands in a payload in place of ``text``.

    >>> hash_of("7")[:25]
    'tidemark:sha256:integer:7'
    """
    number = _number(text)
    if number is None:
        return f"{_PREFIX}{Hashed.TEXT}:{_sha256(text)}"
    if text == str(number):
        return f"{_PREFIX}{Hashed.INTEGER}:{_sha256(text)}"
    return f"{_PREFIX}{Hashed.NUMBER}:{_sha256(text)}:{_sha256(str(number))}"


def _number(text: str) -> int | None:
    """The integer that a column of integers has of ``text``; None where it has none."""
    digits = text.strip(_TRIMMED)
    if _INTEGER.fullmatch(digits) is None or len(digits) > _MOST_DIGITS:
        return _BOOLEANS.get(text)
    number = int(digits)
    return number if number in _LONGS else None


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def digest(payload: bytes | None) -> bytes | None:
    """What stands in place of a payload that cannot be read: a JSON text with its SHA-256."""
    if payload is None:
        return None
    return json.dumps(f"{_PREFIX}payload:{hashlib.sha256(payload).hexdigest()}").encode()


@dataclass(frozen=True, slots=True)
class PayloadMask:
    """What is masked in the JSON of the records of one table.

    Rules mean columns whatever the case of their names: no target has two that differ in it alone.
    is_canal: records are Canal-JSON. is_keyed: the file declares a key. table: as the file calls
    it. known: columns of the source that the target was made of. former: pairs of what such a
    column was called, and is now. Names of both are in lower case.
    """

    rules: ColumnRules
    is_canal: bool
    is_keyed: bool = False
    known: frozenset[str] = frozenset()
    former: tuple[tuple[str, str], ...] = ()
    table: str = ""
    _called: dict[str, ColumnName] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    @classmethod
    def of(
        cls,
        rules: ColumnRules,
        *,
        is_canal: bool,
        is_keyed: bool,
        published: TableSchema | None = None,
        table: str = "",
    ) -> PayloadMask | None:
        """None where the target shows every column; published: what the target was made of."""
        if not any(rules.hiding):
            return None
        if published is None:
            return cls(rules, is_canal, is_keyed, table=table)
        known = frozenset(name.lower() for name in published.names)
        former: dict[str, str] = {}
        for column_rename in reversed(published.column_renames):
            for old, new in column_rename.renamed:
                now = former.get(new.lower(), new.lower())
                if old.lower() not in known:
                    former[old.lower()] = now
        return cls(rules, is_canal, is_keyed, known, tuple(former.items()), table)

    @property
    def hidden(self) -> frozenset[str]:
        """The columns that are masked, in lower case; ANY_COLUMN where rules name what is shown."""
        rules = self.rules
        if rules.included:
            return frozenset({ANY_COLUMN})
        named = {name.lower() for name in (*rules.excluded, *rules.hashed, *rules.redacted)}
        return frozenset(named | {old for old, now in self.former if now in named})

    def masked(self, value: bytes) -> bytes:
        """``value`` without what is not to be kept; `UnmaskableError` where it is no record."""
        try:
            text = value.decode()
            return spliced(text, self._edits(text)).encode()
        except (ValueError, IndexError, TypeError, RecursionError) as error:
            raise UnmaskableError(str(error)) from error

    def why_refused(self, key: bytes | None, value: bytes) -> str:
        """Why records with the ``key`` cannot be kept masked; empty where they can."""
        try:
            names = self._key_in(value) if self.is_canal else key_names(key)
        except (ValueError, IndexError, TypeError, RecursionError):
            return ""  # Nobody will fold it.
        hidden = tuple(dict.fromkeys(name for name in names if not self._shows(name)))
        if hidden:
            return f"have {', '.join(hidden)} in their keys"
        has_key = bool(names) if self.is_canal else key is not None
        return "" if has_key or self.is_keyed else "have no key"

    def _key_in(self, value: bytes) -> list[str]:
        """The columns that Canal's record names as its key."""
        text = value.decode(errors="replace")
        return [
            column
            for name, at, end in fields(text, whole(text))
            if name == "pkNames"
            for column in json.loads(text[at:end]) or ()
        ]

    def _shows(self, name: str) -> bool:
        return self.rules.keeps_readable(self._in_rules(name))

    def _in_rules(self, name: str) -> ColumnName:
        """What rules call the column that a record calls ``name``."""
        column = self._called.get(name)
        if column is None:
            lower = dict(self.former).get(name.lower(), name.lower())
            named = {rule.lower(): rule for rule in self.rules.columns}
            column = named.get(lower, ColumnName(name))
            if len(self._called) < _MOST_NAMES:
                self._called[name] = column
        return column

    def unresolved(self, seen: Collection[str]) -> tuple[ColumnName, ...]:
        """Columns that rules hide, of which neither the target was made nor one is in ``seen``.

        seen: what rules call the columns of rows.
        """
        hiding = {*self.rules.excluded, *self.rules.hashed, *self.rules.redacted} - set(seen)
        return tuple(sorted(name for name in hiding if name.lower() not in self.known))

    def absent(self, seen: Collection[str]) -> tuple[ColumnName, ...]:
        """As `unresolved`; none where each column of the rows is known: no rule means it."""
        known = (name.lower() in self.known or not self._shows(name) for name in seen)
        return () if all(known) else self.unresolved(seen)

    def columns_of(self, value: bytes) -> frozenset[ColumnName]:
        """What rules call the columns of a record's new rows; none where it does not tell."""
        try:
            text = value.decode()
            return frozenset(map(self._in_rules, self._columns_in(text, whole(text))))
        except (ValueError, IndexError, RecursionError):
            return frozenset()

    def _columns_in(self, text: str, start: int) -> Iterator[str]:
        if text[start] != "{":
            return
        named = list(fields(text, start))
        if self.is_canal:
            if not any(name == "type" and text[at:end] == '"DELETE"' for name, at, end in named):
                for name, at, _ in named:
                    yield from _canal_columns(text, name, at)
            return
        for name, at, _ in named:
            if name == "payload":
                yield from self._columns_in(text, at)
            elif name == "after" and text[at] == "{":
                yield from (column for column, _, _ in fields(text, at))

    def _edits(self, text: str) -> Iterator[Edit]:
        """What of the text is to be replaced, in its order."""
        start = whole(text)
        if text[start] != "{":
            raise UnmaskableError("it is no object")
        if self.is_canal:
            yield from self._canal_edits(text, list(fields(text, start)))
            return
        for name, begin, end in fields(text, start):
            if name == "payload" and text[begin] == "{":
                for inner, at, until in fields(text, begin):
                    yield from self._debezium_edits(text, inner, at, until)
            else:
                yield from self._debezium_edits(text, name, begin, end)

    def _debezium_edits(self, text: str, name: str, begin: int, end: int) -> Iterator[Edit]:
        if name in ("before", "after"):
            yield from self._image(text, begin, end)
        elif name == "source" and text[begin] == "{":
            for inner, at, until in fields(text, begin):
                if inner == "query" and text[at:until] != "null":
                    yield at, until, _NO_TEXT  # What include.query adds has the values of rows.

    def _canal_edits(self, text: str, named: Sequence[tuple[str, int, int]]) -> Iterator[Edit]:
        types = {json.loads(text[begin:end]) for name, begin, end in named if name == "type"}
        is_ddl = any(name == "isDdl" and text[begin:end] == "true" for name, begin, end in named)
        for name, begin, end in named:
            if name in ("data", "old"):
                yield from self._images(text, begin, end)
            elif name == "sql" and types & _ROWS and not is_ddl and text[begin:end] != "null":
                yield begin, end, _NO_TEXT  # The statement that changed rows has their values.

    def _images(self, text: str, begin: int, end: int) -> Iterator[Edit]:
        if text[begin] != "[":
            yield from self._image(text, begin, end)
            return
        for at, until in elements(text, begin):
            yield from self._image(text, at, until)

    def _image(self, text: str, begin: int, end: int) -> Iterator[Edit]:
        if text[begin:end] == "null":
            return
        if text[begin] != "{":
            raise UnmaskableError("a row is no object")
        for name, at, until in fields(text, begin):
            column = self._in_rules(name)
            if self.rules.keeps_readable(column) or text[at:until] == "null":
                continue
            is_hashed = self.rules.mask(column) is Mask.HASH
            is_excluded = self.rules.target_name(column) is None
            shows_hash = is_hashed and not is_excluded
            yield at, until, _hashed(text[at:until]) if shows_hash else json.dumps(_HIDDEN)


def _canal_columns(text: str, name: str, begin: int) -> Iterator[str]:
    """The columns that a field of Canal's record names, whose rows may lack some."""
    if name == "data" and text[begin] == "[":
        for at, _ in elements(text, begin):
            if text[at] == "{":
                yield from (column for column, _, _ in fields(text, at))
    elif name == "mysqlType" and text[begin] == "{":
        yield from (column for column, _, _ in fields(text, begin))


def without_values(value: bytes) -> bytes:
    """Canal's record of a statement, of which the first word is left where it changes rows.

    That word alone tells that nobody can follow it.
    """
    text = value.decode()
    return spliced(text, _statement_edits(text)).encode()


def _statement_edits(text: str) -> Iterator[Edit]:
    for name, begin, end in fields(text, whole(text)):
        if name == "sql" and text[begin] == '"':
            first = _FIRST_WORD.match(json.loads(text[begin:end], strict=False))
            if first is not None and first[1].upper() in _OF_ROWS:
                yield begin, end, json.dumps(first[1])


def _hashed(token: str) -> str:
    """What stands in place of a value, which is JSON as well."""
    value = token
    if token.startswith('"'):
        value = json.loads(token, strict=False)
        if value == PLACEHOLDER:
            return token
    elif token not in _BOOLEANS and str(_number(token)) != token:
        return json.dumps(f"{_PREFIX}{Hashed.OTHER}")
    try:
        return json.dumps(hash_of(value))
    except UnicodeEncodeError:  # Half of a character, which is no text.
        return json.dumps(f"{_PREFIX}{Hashed.OTHER}")
