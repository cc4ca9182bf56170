"""The page's templates, filled in; whatever comes from sources is escaped."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined


def render(template: str, **content: object) -> str:
    """The document that ``template`` makes of ``content``."""
    return _templates().get_template(template).render(**content)


def read_template(name: str) -> str:
    """A file beside the templates, as it is."""
    return files("tidemark.page").joinpath("templates", name).read_text("utf-8")


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("tidemark.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
