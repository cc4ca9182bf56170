"""DDL text as words: comments gone, execute-comments in the text, names without their quotes.

sqlglot reads the words; what they mean is judged by `schema.ddl`, because its parser falls back or
fails on much of what MySQL and TiDB write (SCHEMA-24).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import ParseError, TokenError

_COMMENTS = re.compile(
    r"""('(?:[^'\\]|\\.|'')*+'|"(?:[^"\\]|\\.|"")*+"|`[^`]*+`)"""
    r"|/\*(?:M?!\d*+|T!(?:\[[^\]]*\])?)(.*?)\*/"
    r"|/\*.*?\*/|--(?=\s|$)[^\n]*|#[^\n]*"
    r"""|(/\*|['"`])""",
    re.DOTALL,
)
"""Quoted text; the inside of ``/*!40101 ... */`` and ``/*T![feature] ... */``; plain comments; what
begins one of them and has no end."""


_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|\.[0-9]+")
_BIT = re.compile(r"[bB]'([01])'|0b([01])")
_INTRODUCERS = {"_UTF8MB4", "_UTF8MB3", "_UTF8"}
"""Character sets in which a text is what the statement has between its quotes."""
_TRUTH = {"TRUE": "1", "FALSE": "0"}
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "0": "\0",
    "b": "\b",
    "Z": "\x1a",
    "%": "\\%",
    "_": "\\_",
}


class _Tokenizer(MySQL.Tokenizer):
    """MySQL's words; sqlglot would take what follows RENAME as one text."""

    COMMANDS = set()


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text; keyword: in capitals, empty for what is quoted; name: unquoted."""

    keyword: str
    name: str
    start: int
    end: int


@dataclass(slots=True)
class Words:
    """A place in a sequence of words, from left to right."""

    text: str
    words: Sequence[Word]
    at: int = 0

    @classmethod
    def of(cls, sql: str) -> Words:
        """The words of ``sql``. Raises sqlglot's TokenError, for example for an open quote."""
        text = _COMMENTS.sub(_without_comment, sql)
        words: list[Word] = []
        for token in _Tokenizer(dialect="mysql").tokenize(text):
            words += _split(text, token.text, token.start, token.end + 1)
        return cls(text, words)

    @property
    def left(self) -> bool:
        """Whether any word is left."""
        return self.at < len(self.words)

    def keyword(self, ahead: int = 0) -> str:
        """The word ``ahead`` of this place; empty for a quoted one, and at the end."""
        place = self.at + ahead
        return self.words[place].keyword if place < len(self.words) else ""

    def accept(self, *keywords: str) -> bool:
        """Step over ``keywords`` if exactly they come next."""
        is_next = all(self.keyword(ahead) == keyword for ahead, keyword in enumerate(keywords))
        if is_next:
            self.at += len(keywords)
        return is_next

    def name(self) -> str:
        """Step over one name. Raises ParseError where none comes."""
        if not self.left or not self.words[self.at].name:
            raise ParseError("a name is missing")
        self.at += 1
        return self.words[self.at - 1].name

    def literal(self) -> str | None:
        """Step over a plain literal, and give its text; None where something else comes.

        A text may have its character set in front; the statement itself is Unicode.
        """
        sign = "-" if self.keyword() == "-" else ""
        at = self.at + (self.keyword() in {"-", "+", *_INTRODUCERS})
        raw = self.text[self.words[at].start : self.words[at].end] if at < len(self.words) else ""
        if raw[:1] in ("'", '"') and self.keyword() not in {"-", "+"}:
            text = _unescaped(raw)
        elif raw.upper() in _TRUTH:
            text = _TRUTH[raw.upper()]
        elif _NUMBER.fullmatch(raw):
            text = sign + raw
        else:
            return None
        self.at = at + 1
        return text

    @property
    def follows_quotes(self) -> bool:
        """Whether the word that was stepped over last is quoted."""
        return self.text[self.words[self.at - 1].start] in ("'", '"')

    def bit(self) -> str | None:
        """Step over a literal of one bit, and give its digit; None where something else comes."""
        raw = self.text[self.words[self.at].start : self.words[self.at].end] if self.left else ""
        bit = _BIT.fullmatch(raw)
        if bit is None:
            return None
        self.at += 1
        return bit[1] or bit[2]

    def group(self) -> Words:
        """Step over parentheses, and give what is inside. Raises ParseError where none come."""
        depth, first = 0, self.at + 1
        while self.left:
            depth += {"(": 1, ")": -1}.get(self.keyword(), 0)
            self.at += 1
            if depth <= 0:
                break
        if depth != 0 or self.at <= first:
            raise ParseError("parentheses are missing")
        return Words(self.text, self.words[first : self.at - 1])

    def split(self, separator: str) -> Iterator[Words]:
        """What is left, divided at each ``separator`` outside parentheses."""
        depth, part = 0, self.at
        for place in range(self.at, len(self.words)):
            keyword = self.words[place].keyword
            depth += {"(": 1, ")": -1}.get(keyword, 0)
            if keyword == separator and depth == 0:
                yield Words(self.text, self.words[part:place])
                part = place + 1
        yield Words(self.text, self.words[part:])

    def source(self, start: int = 0, end: int | None = None) -> str:
        """The text from the word at ``start`` to the one before ``end``."""
        words = self.words[start:end]
        return self.text[words[0].start : words[-1].end] if words else ""

    def outside_parentheses(self) -> list[str]:
        """The keywords that are left; of parentheses the opening one alone."""
        depth, keywords = 0, []
        for word in self.words[self.at :]:
            if depth == 0:
                keywords.append(word.keyword)
            depth += {"(": 1, ")": -1}.get(word.keyword, 0)
        return keywords


def _without_comment(match: re.Match[str]) -> str:
    if match[3]:
        raise TokenError(f"{match[3]} is never closed")
    return match[1] or f" {match[2] or ''} "


def _split(text: str, name: str, start: int, end: int) -> Iterator[Word]:
    """The words of one token: sqlglot joins some keywords, such as PRIMARY KEY."""
    raw = text[start:end]
    if raw[0] in '`"':
        yield Word("", name, start, end)
    elif raw[-1] == "'":
        yield Word("", "", start, end)
    else:
        for match in re.finditer(r"\S+", raw):
            named = match[0] if re.fullmatch(r"[\w$]+", match[0]) else ""
            yield Word(match[0].upper(), named, start + match.start(), start + match.end())


def _unescaped(raw: str) -> str:
    """The text between quotes."""
    quote = raw[0]
    return re.sub(
        rf"\\(.)|{quote}{quote}",
        lambda match: _ESCAPES.get(match[1], match[1]) if match[1] else quote,
        raw[1:-1],
        flags=re.DOTALL,
    )
