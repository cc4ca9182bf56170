"""The wheel in an environment of its own: beside Airflow, and without the repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from embedded.home import REPOSITORY, embedded_environment
from tests.support.records import ticdc_row, ticdc_watermark
from tests.support.stack import Stream
from tidemark.runs.world import open_world
from tidemark.spec import load_installation

UV = Path(sys.executable).with_name("uv")
WHEEL_IS_MADE_OF = ("pyproject.toml", "README.md", "LICENSE", "include")
DAGS = '''\
"""Airflow: a DAG for each Tidemark pipeline."""
from tidemark.scheduling import dags
dags.build_cut_dags()
dags.build_maintain_dags()
dags.build_refold_dags()
dags.build_resync_dags()
dags.build_action_dags()
'''
PAGE = """\
import json
from airflow import plugins_manager
from tidemark.page.render import render
apps, _ = plugins_manager.get_fastapi_plugins()
page = render("pipelines.html", pipelines=[])
print(json.dumps([[one["url_prefix"] for one in apps], "Pipelines" in page]))
"""
FOUND = """\
import json, sys, tidemark
from airflow.dag_processing.dagbag import DagBag
bag = DagBag(sys.argv[1])
print(json.dumps([tidemark.__file__, bag.import_errors, sorted(bag.dags)]))
"""
INSTALLED = """\
from importlib.metadata import files
print(*sorted({file.parts[0] for file in files("tidemark")}))
"""


@dataclass(frozen=True)
class Installed:
    """A folder as a user has it: environment, pipelines, suites, installation file and DAGs."""

    folder: Path
    environment: dict[str, str]

    @property
    def programs(self) -> Path:
        return self.folder / "venv" / "bin"

    def run(self, program: str, *words: str) -> str:
        """What a program of the environment prints on stdout; its failure is that of the test."""
        outcome = subprocess.run(
            [self.programs / program, *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert outcome.returncode == 0, outcome.stdout + outcome.stderr
        return outcome.stdout


def install(wheel_of: Path, into: Path) -> None:
    """Build the wheel of ``wheel_of`` and install it with the versions that are tested together."""
    subprocess.run([UV, "build", "--quiet", "--wheel", "--out-dir", into, wheel_of], check=True)
    (wheel,) = into.glob("*.whl")
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, into / "venv"], check=True)
    target = ["--quiet", "--python", str(into / "venv")]
    pins = ["--constraint", str(REPOSITORY / "requirements.txt")]
    wanted = f"tidemark[all] @ {wheel.as_uri()}"
    subprocess.run([UV, "pip", "install", *target, *pins, wanted], check=True)
    subprocess.run([UV, "pip", "check", *target], check=True)


@pytest.fixture(scope="module")
def installed(broker: str, jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    sources, folder = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("site")
    for name in WHEEL_IS_MADE_OF:
        copy = shutil.copytree if (REPOSITORY / name).is_dir() else shutil.copyfile
        (sources / name).parent.mkdir(exist_ok=True)
        copy(REPOSITORY / name, sources / name)
    install(sources, folder)
    shutil.rmtree(sources)
    include = REPOSITORY / "include"
    for name in ("pipelines", "expectations"):
        shutil.copytree(include / name, folder / name)
    shutil.copyfile(include / "deploy" / "installation.embedded.yaml", folder / "installation.yaml")
    for name in ("dags", "state"):
        (folder / name).mkdir()
    (folder / "dags" / "tidemark_pipelines.py").write_text(DAGS)
    settings = embedded_environment(folder / "state", broker, jars)
    environment = {
        "PATH": f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        **{name: os.environ[name] for name in ("HOME", "JAVA_HOME") if name in os.environ},
        **{name: value for name, value in settings.items() if name != "SPARK_CONF_DIR"},
        "TIDEMARK_INSTALLATION": str(folder / "installation.yaml"),
        "TIDEMARK_PIPELINES": str(folder / "pipelines"),
        "TIDEMARK_EXPECTATIONS": str(folder / "expectations"),
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(
            {"conn_type": "spark", "host": "local[2]", "extra": {"deploy-mode": "client"}}
        ),
    }
    return Installed(folder, environment)


def test_the_embedded_stack_is_not_in_the_wheel(installed: Installed) -> None:
    programs, package, metadata = installed.run("python", "-c", INSTALLED).split()
    assert (programs, package) == ("..", "tidemark")
    assert metadata.endswith(".dist-info")


def test_pipelines_are_dags(installed: Installed) -> None:
    found = installed.run("python", "-c", FOUND, str(installed.folder / "dags"))
    package, errors, dags = json.loads(found.splitlines()[-1])
    assert Path(package).is_relative_to(installed.programs.parent)
    assert errors == {}
    families = ("cut", "maintain", "refold", "action")
    wanted = {f"{family}__{name}" for family in families for name in ("inventory", "shop")}
    assert wanted | {"resync__inventory"} <= set(dags)


def test_the_page_comes_with_the_wheel(installed: Installed) -> None:
    """Airflow finds the plugin by its entry point, and the page its templates."""
    found = installed.run("python", "-c", PAGE)
    assert json.loads(found.splitlines()[-1]) == [["/tidemark"], True]


def test_pipeline_files_are_validated(installed: Installed) -> None:
    installed.run("tidemark", "validate")


def test_sources_get_what_they_can_be_given(installed: Installed) -> None:
    assert "CREATE EVENT TRIGGER" in installed.run("tidemark", "sources", "postgres-ddl")


def test_jars_are_those_of_the_lock(installed: Installed, jars: Path) -> None:
    """None is fetched, because the ones of `make setup` are here."""
    before = (jars / "spark").stat().st_ino
    installed.run("python", "-m", "tidemark.jars", "fetch", str(jars), "spark")
    assert (jars / "spark").stat().st_ino == before


def test_airflow_folds_and_publishes_a_cut(
    installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in installed.environment.items():
        monkeypatch.setenv(name, value)
    stream = Stream(open_world(load_installation())).create()
    stream.send([ticdc_row("INSERT", 1, 100, name="a"), ticdc_row("INSERT", 2, 110, name="b")])
    stream.send([ticdc_watermark(200)])
    pipeline = stream.pipeline.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    file = installed.folder / "pipelines" / f"{stream.name}.yaml"
    file.write_text(yaml.safe_dump(pipeline))
    installed.run("airflow", "db", "migrate")
    log = installed.run("airflow", "dags", "test", f"cut__{stream.name}")
    assert "cut_folded" in log
    assert "INFO SparkContext" not in log, "Spark's settings are not those of the package"
    assert stream.rows() == {1: "a", 2: "b"}
