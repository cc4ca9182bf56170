"""pydantic's findings in the words of the file: which field, what it holds, what belongs there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tidemark.spec.base import BROKEN_RULE, SpecModel, kebab_case
from tidemark.spec.document import Document
from tidemark.spec.faults import Fault, Loc, nearest, shown

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "greater_than": "a number above {gt}",
    "greater_than_equal": "a number of at least {ge}",
    "tuple_type": "a list",
    "mapping_type": "keys with values",
    "model_type": "keys with values",
    "too_short": "at least {min_length} entry",
    "date_type": "a date such as 2026-01-01",
    "date_parsing": "a date such as 2026-01-01",
    "date_from_datetime_parsing": "a date such as 2026-01-01",
    "date_from_datetime_inexact": "a date such as 2026-01-01",
    "path_type": "a path",
}


def explain(error: ValidationError, model: type[SpecModel], document: Document) -> Iterator[Fault]:
    """Each finding of ``error`` as a fault of ``document``, which was read as ``model``."""
    findings = error.errors(include_url=False)
    for finding in findings:
        if _is_consequence(finding, findings):
            continue
        loc = tuple(step for step in finding["loc"] if step != "[key]")
        got, expected, hint = _words(finding, loc, model, document)
        yield Fault(document.line_of(loc), loc, got, expected, hint)


def _is_consequence(finding: ErrorDetails, findings: Iterable[ErrorDetails]) -> bool:
    """Whether another finding is the cause: a default that needs it, an entry that was refused."""
    loc = finding["loc"]
    return finding["type"] == "default_factory_not_called" or (
        finding["type"] == "too_short"
        and any(other["loc"][: len(loc)] == loc != other["loc"] for other in findings)
    )


def _words(
    finding: ErrorDetails, loc: Loc, model: type[SpecModel], document: Document
) -> tuple[str, str, str]:
    """What was got, what was expected, and the nearest right name."""
    kind, context = finding["type"], finding.get("ctx", {})
    if kind == BROKEN_RULE:
        return str(context["got"]), str(context["expected"]), str(context["hint"])
    if kind == "missing":
        return "nothing", f"this key: {_description(loc, model)}", ""
    if kind == "extra_forbidden":
        known = _fields(model_at(model, loc[:-1]))
        return "an unknown key", f"one of {', '.join(known)}", nearest(str(loc[-1]), known)
    got = document.at(loc) if loc in document.lines else finding["input"]  # a default
    if kind == "enum":
        values = re.findall(r"'([^']*)'", str(context["expected"]))
        return shown(got), f"one of {', '.join(values)}", nearest(str(got), values)
    if kind == "value_error":
        return shown(got), str(context["error"]), ""
    return shown(got), _EXPECTED.get(kind, finding["msg"]).format(**context), ""


def model_at(model: type[SpecModel], loc: Loc) -> type[SpecModel] | None:
    """The model that describes the field at ``loc``, None where there is none."""
    nested: Any = model
    for step in loc:
        if isinstance(step, int):
            continue
        if not _is_model(nested):
            return None
        field = _fields(nested).get(step)
        annotation = field.annotation if field else None
        inner = [arg for arg in (annotation, *get_args(annotation)) if _is_model(arg)]
        nested = inner[0] if inner else None
    return nested if _is_model(nested) else None


def _is_model(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _fields(model: type[SpecModel] | None) -> Mapping[str, Any]:
    """Key in YAML -> field."""
    if model is None:
        return {}
    return {kebab_case(name): field for name, field in model.model_fields.items()}


def _description(loc: Loc, model: type[SpecModel]) -> str:
    field = _fields(model_at(model, loc[:-1]))[str(loc[-1])]
    return str(field.description)
