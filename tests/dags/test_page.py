"""What the page serves, and to whom; and that a pipeline that cannot be read hides no other."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from airflow.api_fastapi.core_api.security import get_user
from fastapi.testclient import TestClient

from tests.unit.cli.test_lag import STATUS
from tidemark.errors import ForeignChangeError
from tidemark.page.views import Light, overview
from tidemark.runs.status import PipelineStatus
from tidemark.spec import InstallationSpec, PipelineSpec


def pipeline(name: str) -> PipelineSpec:
    return PipelineSpec.model_validate(
        {
            "name": name,
            "description": "a test",
            "owner": "tests",
            "schedule": "0 * * * *",
            "source": {"format": "debezium-mysql", "gate": "none", "topics": {"data": ["t"]}},
            "other-tables": "follow",
        }
    )


@pytest.fixture(scope="module")
def app() -> ModuleType:
    """The page; Airflow's server, which it imports, warns of its own packages."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module("tidemark.page.app")


@pytest.fixture
def served(
    app: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[TestClient, Path]]:
    """The page for somebody who may read all DAGs but that of ``zoo``, and the folder of state."""
    installation = SimpleNamespace(state=tmp_path)
    monkeypatch.setattr(app, "_STATUSES", app.Statuses())
    monkeypatch.setattr(app, "_may_read", lambda name, _: name != "zoo")
    monkeypatch.setattr(app, "_may_run", lambda dag, _: dag != "refold__shop")
    monkeypatch.setattr(
        "tidemark.spec.sound_pipelines", lambda: [pipeline("shop"), pipeline("zoo")]
    )
    monkeypatch.setattr(
        "tidemark.scheduling.connections.load_installation_for", lambda _: installation
    )
    monkeypatch.setattr(
        "tidemark.runs.world.open_world", lambda opened: SimpleNamespace(installation=opened)
    )
    monkeypatch.setitem(app.app.dependency_overrides, get_user, lambda: None)
    with TestClient(app.app) as client:
        yield client, tmp_path


def test_data_docs_are_served_to_whoever_may_read_the_dag(
    served: tuple[TestClient, Path],
) -> None:
    """And no other file of the machine, however it is asked for."""
    client, state = served
    for name in ("shop", "zoo"):
        folder = state / "data_docs" / name
        (folder / "cuts" / "tidemark_3_a").mkdir(parents=True)
        (folder / "index.html").write_text(f"audits of {name}")
        (folder / "cuts" / "tidemark_3_a" / "shop.orders.html").write_text("orders")
    (state / "secret.html").write_text("secret")
    docs = "/pipelines/shop/docs"
    for path, text in (
        *((f"{docs}/", "audits of shop"), (f"{docs}/index.html", "audits of shop")),
        (f"{docs}/cuts/tidemark_3_a/shop.orders.html", "orders"),
    ):
        answer = client.get(path)
        assert (answer.status_code, answer.text) == (200, text)
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert "sandbox" in answer.headers["Content-Security-Policy"]
        assert "allow-scripts" not in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    for path in (
        *(f"{docs}/../../zoo/docs/index.html", f"{docs}/%2e%2e/zoo/index.html"),
        *(f"{docs}/..%2fzoo%2findex.html", f"{docs}/..%2f..%2fsecret.html"),
        *(f"{docs}/%2fetc%2fpasswd", f"{docs}//etc/passwd", f"{docs}/index.html%00"),
        *(f"{docs}/%252e%252e/zoo/index.html", "/pipelines/zoo/docs/", "/pipelines/none/docs/"),
        *("/pipelines/..%2f..%2fzoo/docs/index.html", "/pipelines/%2e%2e/docs/index.html"),
    ):
        assert client.get(path).status_code == 404, path


def test_a_page_that_is_removed_meanwhile_is_not_there(
    served: tuple[TestClient, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, state = served
    gone = state / "data_docs" / "shop" / "index.html"
    monkeypatch.setattr("tidemark.page.data_docs.find_page", lambda *_: gone)
    answer = client.get("/pipelines/shop/docs/")
    assert answer.status_code == 404
    assert "newest 50 audits" in answer.json()["detail"]


def test_a_form_is_for_whoever_may_start_runs(served: tuple[TestClient, Path]) -> None:
    """It sends nothing by itself: its script, which is Tidemark's own file, asks Airflow's API."""
    client, _ = served
    query = {"dag": "action", "action": "quarantine drop", "code": "KEY_NULL", "reason": '"><b>'}
    answer = client.get("/pipelines/shop/run", params=query)
    assert answer.status_code == 200
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "form-action 'none'; script-src 'self'; connect-src 'self'" in policy
    assert answer.text.count("<script") == 1
    assert '<script src="../../run.js" defer>' in answer.text
    assert 'data-dag="../../../api/v2/dags/action__shop"' in answer.text
    assert '<option value="KEY_NULL" selected>' in answer.text
    assert "&#34;&gt;&lt;b&gt;" in answer.text
    assert "<b>" not in answer.text
    assert "refresh" not in answer.text, "what somebody fills in would go"
    script = client.get("/run.js")
    assert script.headers["Content-Type"].startswith("text/javascript")
    order = [script.text.index(method) for method in ('"POST"', '"PATCH"')]
    assert order == sorted(order), "a run that is refused would leave the DAG unpaused"
    for family, ticked in (("cut", False), ("maintain", False), ("action", True)):
        page = client.get("/pipelines/shop/run", params={"dag": family}).text
        assert ('<input type="checkbox" checked>' in page) == ticked, family
    for name, dag in (("shop", "refold"), ("shop", "erase"), ("zoo", "cut"), ("none", "cut")):
        assert client.get(f"/pipelines/{name}/run", params={"dag": dag}).status_code == 404


def test_a_pipeline_that_cannot_be_read_hides_no_other(
    app: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PUB-11: somebody set back its ledger, or its installation cannot be read."""
    changed = ForeignChangeError("main was set back", state="so it is", next_step="go forward")

    def status(spec: PipelineSpec, _: object) -> PipelineStatus:
        if spec.name == "zoo":
            raise changed
        return STATUS

    def installation(name: str) -> InstallationSpec | None:
        if name == "lost":
            raise changed
        return None

    monkeypatch.setattr(app, "_STATUSES", app.Statuses())
    monkeypatch.setattr("tidemark.runs.world.open_world", lambda _: None)
    monkeypatch.setattr("tidemark.scheduling.connections.load_installation_for", installation)
    monkeypatch.setattr("tidemark.runs.status.pipeline_status", status)
    lines = overview(app._statuses([pipeline("shop"), pipeline("zoo"), pipeline("lost")]))
    assert [(line.name, line.light, line.published) for line in lines] == [
        ("lost", Light.FAILS, "?"),
        ("zoo", Light.FAILS, "?"),
        ("shop", Light.WAITS, "never"),
    ]
    assert lines[0].sentence == "main was set back"
