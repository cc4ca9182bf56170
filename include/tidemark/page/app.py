"""The page as a web application: who may see what, and how old it may be.

It has no state of its own, writes nothing and runs no script. A pipeline is shown to whoever may
read its DAG.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import FastAPI, HTTPException
from fastapi.responses import HTMLResponse

from tidemark.page.render import CUT_DAG, render
from tidemark.page.statuses import Statuses

if TYPE_CHECKING:
    from tidemark.runs.status import PipelineStatus
    from tidemark.spec import PipelineSpec

SIDE_BY_SIDE = 8
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "frame-ancestors 'self'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
}

app = FastAPI(title="Tidemark", docs_url=None, redoc_url=None, openapi_url=None)


@app.get("/", response_class=HTMLResponse)
def pipelines(user: GetUserDep) -> HTMLResponse:
    """All pipelines that ``user`` may see, one sentence each."""
    from tidemark.page.views import overview
    from tidemark.spec import sound_pipelines

    allowed = [spec for spec in sound_pipelines() if _may_read(spec.name, user)]
    return _page("pipelines.html", pipelines=overview(_statuses(allowed)))


@app.get("/pipelines/{name}", response_class=HTMLResponse)
def pipeline(name: str, user: GetUserDep) -> HTMLResponse:
    """One pipeline; one that ``user`` may not see is as one that is not there."""
    from tidemark.page.views import detail
    from tidemark.spec import sound_pipelines

    spec = next((candidate for candidate in sound_pipelines() if candidate.name == name), None)
    if spec is None or not _may_read(spec.name, user):
        raise HTTPException(404, "there is no such pipeline, or you may not read its DAG")
    (status,) = _statuses([spec])
    return _page("pipeline.html", pipeline=detail(status))


def _may_read(name: str, user: GetUserDep) -> bool:
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.models.resource_details import DagDetails

    details = DagDetails(id=f"{CUT_DAG}{name}")
    return get_auth_manager().is_authorized_dag(method="GET", details=details, user=user)


def _page(template: str, **content: object) -> HTMLResponse:
    return HTMLResponse(render(template, **content), headers=HEADERS)


_STATUSES = Statuses()


def _statuses(specs: Sequence[PipelineSpec]) -> list[PipelineStatus]:
    """A broker that does not answer costs one time-out, however many pipelines read from it."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        return list(threads.map(_STATUSES.read, specs))
