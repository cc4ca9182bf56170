"""The page as a web application: who may see what, and how old it may be.

It has no state of its own, writes nothing and runs no script. A pipeline is shown to whoever may
read its DAG.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import FastAPI, HTTPException
from fastapi.responses import HTMLResponse

from tidemark.page.render import CUT_DAG, render
from tidemark.page.statuses import Statuses

if TYPE_CHECKING:
    from tidemark.model.verdict import Verdict
    from tidemark.runs.status import PipelineStatus
    from tidemark.spec import PipelineSpec

SIDE_BY_SIDE = 8
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "frame-ancestors 'self'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
}
NO_DATA_DOCS = (
    "there is no such page of Data Docs here: the newest 50 audits are kept, in the folder `state` "
    "of the installation, which Airflow's API server has to be able to read"
)

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

    spec = _allowed(name, user)
    (status,) = _statuses([spec])
    verdicts = [table.verdict for table in status.tables]
    return _page("pipeline.html", pipeline=detail(status, _data_docs(spec, verdicts)))


@app.get("/pipelines/{name}/docs/{path:path}", response_class=HTMLResponse)
def data_docs(name: str, path: str, user: GetUserDep) -> HTMLResponse:
    """A page of the Data Docs of a pipeline that ``user`` may see."""
    from tidemark.page.data_docs import INDEX, find_page

    folder = _STATUSES.data_docs(_allowed(name, user))
    file = find_page(folder, path or INDEX) if folder else None
    if file is None:
        raise HTTPException(404, NO_DATA_DOCS)
    return HTMLResponse(file.read_text("utf-8"), headers=HEADERS)


def _allowed(name: str, user: GetUserDep) -> PipelineSpec:
    """The pipeline of that name, if ``user`` may see it; else it is as one that is not there."""
    from tidemark.spec import sound_pipelines

    spec = next((candidate for candidate in sound_pipelines() if candidate.name == name), None)
    if spec is None or not _may_read(spec.name, user):
        raise HTTPException(404, "there is no such pipeline, or you may not read its DAG")
    return spec


def _data_docs(spec: PipelineSpec, verdicts: Iterable[Verdict | None]) -> frozenset[str]:
    """The pages of Data Docs that are here: those of ``verdicts``, and the index."""
    from tidemark.page.data_docs import INDEX, find_page, pages_of

    folder = _STATUSES.data_docs(spec)
    if folder is None or not find_page(folder, INDEX):
        return frozenset()
    return pages_of(folder, verdicts) | {INDEX}


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
