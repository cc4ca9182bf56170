"""The form of Airflow's UI for a DAG's parameters, by the rules of its page (3.3.2).

They stand in the page's JavaScript alone (``FlexibleForm``, ``FieldRow``, ``useParamStore``), and
they are not those by which the API checks what it gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Params = Mapping[str, Mapping[str, Any]]


def red_fields(params: Params) -> list[str]:
    """Fields that are red before anybody touches them; one is enough to lock the button.

    params: of a DAG's details, as the API gives them: name -> ``value`` and ``schema``.
    """
    return [name for name, param in params.items() if is_required(param) and is_empty(param)]


def starred_fields(params: Params) -> list[str]:
    """Fields with the star that says: fill me in."""
    return [name for name, param in params.items() if is_required(param)]


def is_required(param: Mapping[str, Any]) -> bool:
    """Whether a field has a type, and null is none that it takes."""
    taken = param["schema"].get("type")
    return bool(taken) and not (isinstance(taken, list) and "null" in taken)


def is_empty(param: Mapping[str, Any]) -> bool:
    """Whether a field holds nothing."""
    return param["value"] is None or param["value"] == ""


def untouched(params: Params) -> dict[str, Any]:
    """What the form sends as ``conf`` when nobody touched it: every parameter with its value."""
    return {name: param["value"] for name, param in params.items()}


def emptied(params: Params) -> dict[str, Any]:
    """What it sends when every field was filled in and emptied again: null, whatever its type."""
    return dict.fromkeys(params)
