"""The page as a web application: who may see what, and how old it may be.

It has no state of its own and writes nothing. A pipeline is shown to whoever may read its DAG. What
is done is a run that Airflow's own API starts, asked by the script of a form with the session of
whoever looks at it; no other page has a script.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import HTMLResponse

from tidemark.page.render import read_template, render
from tidemark.page.statuses import Statuses
from tidemark.scheduling.xcom import CUT

if TYPE_CHECKING:
    from tidemark.model.verdict import Verdict
    from tidemark.page.forms import Forms
    from tidemark.runs.status import PipelineStatus
    from tidemark.spec import PipelineSpec

SIDE_BY_SIDE = 8
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'; base-uri 'none'; "
    "form-action 'none'"
)
SANDBOX = "sandbox allow-same-origin allow-top-navigation-by-user-activation"
"""For HTML of others: no script, form or window, whatever it holds; links are followed."""
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
}
NO_DATA_DOCS = (
    "there is no such page of Data Docs here: the newest 50 audits are kept, in the folder `state` "
    "of the installation, which Airflow's API server has to be able to read"
)
NO_FORM = "there is no such DAG, its form does not take this, or you may not start runs of it"

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
    shown = detail(status, _data_docs(spec, verdicts), _runs(spec, user))
    return _page("pipeline.html", pipeline=shown)


@app.get("/pipelines/{pipeline}/table", response_class=HTMLResponse)
def table(pipeline: str, name: str, user: GetUserDep) -> HTMLResponse:
    """One table of a pipeline that ``user`` may see."""
    from tidemark.errors import TidemarkError
    from tidemark.page.table_views import table_page

    spec = _allowed(pipeline, user)
    (status,) = _statuses([spec])
    shown = next((one for one in status.tables if str(one.table) == name), None)
    if shown is None:
        raise HTTPException(404, f"pipeline {spec.name} shows no such table now")
    history = _STATUSES.history(spec, shown.table)
    changes = () if isinstance(history, TidemarkError) else history.changes
    docs = _data_docs(spec, [shown.verdict, *(change.verdict for change in changes)])
    return _page("table.html", page=table_page(status, shown, history, docs, _runs(spec, user)))


@app.get("/pipelines/{name}/run", response_class=HTMLResponse)
def run(name: str, dag: str, request: Request, user: GetUserDep) -> HTMLResponse:
    """The form of a DAG of a pipeline, filled in as the query says; it changes nothing by itself.

    Its script asks Airflow's API, which decides whether ``user`` may start a run.
    """
    from tidemark.page.forms import form_of

    spec = _allowed(name, user)
    given = {field: text for field, text in request.query_params.items() if field != "dag"}
    form = form_of(dag, spec, given)
    if form is None or not _may_run(form.dag_id, user):
        raise HTTPException(404, NO_FORM)
    policy = {"Content-Security-Policy": f"{POLICY}; script-src 'self'; connect-src 'self'"}
    page = render("run.html", form=form, name=spec.name)
    return HTMLResponse(page, headers={**HEADERS, **policy})


@app.get("/run.js")
def script(_: GetUserDep) -> Response:
    """The script of that form."""
    return Response(read_template("run.js"), headers=HEADERS, media_type="text/javascript")


@app.get("/pipelines/{name}/docs/{path:path}", response_class=HTMLResponse)
def data_docs(name: str, path: str, user: GetUserDep) -> HTMLResponse:
    """A page of the Data Docs of a pipeline that ``user`` may see."""
    from tidemark.page.data_docs import INDEX, find_page

    folder = _STATUSES.data_docs(_allowed(name, user))
    file = find_page(folder, path or INDEX) if folder else None
    try:
        text = file.read_text("utf-8") if file else None
    except OSError:  # an audit has just removed it
        text = None
    if text is None:
        raise HTTPException(404, NO_DATA_DOCS)
    policy = {"Content-Security-Policy": f"{POLICY}; {SANDBOX}"}
    return HTMLResponse(text, headers={**HEADERS, **policy})


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

    details = DagDetails(id=f"{CUT}__{name}")
    return get_auth_manager().is_authorized_dag(method="GET", details=details, user=user)


def _may_run(dag_id: str, user: GetUserDep) -> bool:
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.models.resource_details import (
        DagAccessEntity,
        DagDetails,
    )

    return get_auth_manager().is_authorized_dag(
        method="POST", access_entity=DagAccessEntity.RUN, details=DagDetails(id=dag_id), user=user
    )


def _runs(spec: PipelineSpec, user: GetUserDep) -> Forms:
    """The forms of the DAGs of which ``user`` may start runs."""
    from tidemark.page.forms import dag_of
    from tidemark.scheduling.forms import forms_of

    return {
        family: form
        for family, form in forms_of(spec).items()
        if _may_run(dag_of(family, spec), user)
    }


def _page(template: str, **content: object) -> HTMLResponse:
    return HTMLResponse(render(template, **content), headers=HEADERS)


_STATUSES = Statuses()


def _statuses(specs: Sequence[PipelineSpec]) -> list[PipelineStatus]:
    """A broker that does not answer costs one time-out, however many pipelines read from it."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        return list(threads.map(_STATUSES.read, specs))
