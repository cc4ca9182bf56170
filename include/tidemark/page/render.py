"""The page's templates, filled in; whatever comes from sources is escaped."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

CUT_DAG, MAINTAIN_DAG, ACTION_DAG = "cut__", "maintain__", "action__"


def render(template: str, **content: object) -> str:
    """The document that ``template`` makes of ``content``."""
    dags = CUT_DAG, MAINTAIN_DAG, ACTION_DAG
    return _templates().get_template(template).render(**content, dags=dags)


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("tidemark.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
