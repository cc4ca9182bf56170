"""YAML text to plain values, each with the line it stands on.

Plain scalars follow YAML 1.2: only true and false are booleans, and dates stay text. Refused are
keys that come twice, tags, and lists or mappings by alias: each hides what a file really says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tidemark.spec.faults import WHOLE_FILE, Fault, Loc, spec_error

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C parser is ten times faster
_UNTAGGED = frozenset(
    f"tag:yaml.org,2002:{kind}"
    for kind in ("map", "seq", "str", "int", "float", "bool", "null", "timestamp", "merge", "value")
)
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


@dataclass(slots=True)
class Document:
    """What a file says, where it says it, and what was wrong with it as YAML."""

    content: object = None
    lines: dict[Loc, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def line_of(self, loc: Loc) -> int:
        """Line of the field, or of the nearest field around it that is there."""
        while loc not in self.lines and loc:
            loc = loc[:-1]
        return self.lines.get(loc, 1)

    def at(self, loc: Loc) -> object:
        """The value of a field, None when the file does not have it."""
        value = self.content
        for step in loc:
            if isinstance(value, dict):
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int):
                value = value[step]
            else:
                return None
        return value


def read_document(file: Path) -> Document:
    """The content of ``file``; `SpecError` when it is no YAML."""
    try:
        root = yaml.compose(file.read_text(encoding="utf-8"), Loader=_LOADER)
    except OSError as error:
        raise spec_error({file: [_unreadable(str(error.strerror))]}) from error
    except UnicodeDecodeError as error:
        raise spec_error({file: [_unreadable(f"bytes that are not UTF-8 at {error.start}")]}) from (
            error
        )
    except yaml.YAMLError as error:
        raise spec_error({file: [_not_yaml(error)]}) from error
    return _Reader().read(root)


def _unreadable(reason: str) -> Fault:
    return Fault(1, WHOLE_FILE, reason, "a readable UTF-8 file")


def _not_yaml(error: yaml.YAMLError) -> Fault:
    expected = "well-formed YAML"
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return Fault(1, WHOLE_FILE, str(getattr(error, "reason", error)), expected)
    got = ", ".join(text for text in (error.context, error.problem) if text)
    if "alias" in got:
        expected += " (text that begins with * needs quotes)"
    return Fault(error.problem_mark.line + 1, WHOLE_FILE, got, expected)


class _Reader:
    """Walks the nodes of one file."""

    def __init__(self) -> None:
        self._document = Document()
        self._seen: set[int] = set()

    def read(self, root: Node | None) -> Document:
        if root is None:
            self._document.content = {}
        else:
            self._document.lines[WHOLE_FILE] = root.start_mark.line + 1
            self._document.content = self._value(root, WHOLE_FILE)
        return self._document

    def _value(self, node: Node, loc: Loc) -> object:
        if node.tag not in _UNTAGGED:
            self._fault(node, loc, f"the tag {node.tag}", "a value without a tag")
        if isinstance(node, ScalarNode):
            return _scalar(node)
        if id(node) in self._seen:
            self._fault(node, loc, "an alias of a list or mapping", "it written out")
            return None
        self._seen.add(id(node))
        if isinstance(node, MappingNode):
            return self._mapping(node, loc)
        return self._sequence(node, loc) if isinstance(node, SequenceNode) else None

    def _sequence(self, node: SequenceNode, loc: Loc) -> list[object]:
        items = []
        for index, item in enumerate(node.value):
            self._document.lines[*loc, index] = item.start_mark.line + 1
            items.append(self._value(item, (*loc, index)))
        return items

    def _mapping(self, node: MappingNode, loc: Loc) -> dict[str, object]:
        fields: dict[str, object] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, ScalarNode) else None
            if not isinstance(name, str):
                self._fault(key, loc, "a key that is no text", "text as key")
                continue
            place = (*loc, name)
            if name in fields:
                first = self._document.lines[place]
                self._fault(key, place, f"the key again, after line {first}", "each key once")
                continue
            at = value if isinstance(value, ScalarNode) else key
            self._document.lines[place] = at.start_mark.line + 1
            fields[name] = self._value(value, place)
        return fields

    def _fault(self, node: Node, loc: Loc, got: str, expected: str) -> None:
        self._document.faults.append(Fault(node.start_mark.line + 1, loc, got, expected))


def _scalar(node: ScalarNode) -> str | int | float | bool | None:
    text: str = node.value
    if node.style:
        return text
    if text in _NULL:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
