"""What `tidemark init` refuses before it asks anybody."""

from __future__ import annotations

from pathlib import Path

import pytest
import structlog
from typer.testing import CliRunner

from tidemark.cli.app import app


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["books"], "name the topics"),
        (["books", "--topics", "a", "--topic-prefix", "b"], "name the topics"),
        (["Books", "--topics", "a"], "is not 1 to 40 of"),
        (["books", "--topics", "a", "--registry", "registry"], "--registry takes http://host:port"),
        (["books", "--topics", "a", "--registry", "${env}"], "--registry takes a reference"),
        (["books", "--topics", "a", "--registry-user", "u"], "go together"),
        (
            [
                *("books", "--topics", "a", "--registry", "http://r"),
                *("--registry-user", "u", "--registry-password", "hunter2"),
            ],
            "takes a reference alone",
        ),
    ],
)
def test_wrong_usage(words: list[str], why: str) -> None:
    ended = CliRunner().invoke(app, ["init", *words], env={"COLUMNS": "300"})
    assert ended.exit_code == 2
    assert why in " ".join(ended.output.replace("│", " ").split())
    assert "hunter2" not in ended.output


def test_a_pipeline_that_is_there_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No broker is asked: there is none."""
    (tmp_path / "installation.yaml").write_text(
        "kafka: {bootstrap-servers: '127.0.0.1:1'}\n"
        f"catalog: {{name: lake, uri: 'sqlite:///{tmp_path}/c.db', warehouse: {tmp_path}}}\n"
        f"spark: {{jars: {tmp_path}}}\nstate: {tmp_path}\n"
    )
    monkeypatch.setenv("TIDEMARK_INSTALLATION", str(tmp_path / "installation.yaml"))
    monkeypatch.setenv("TIDEMARK_PIPELINES", str(tmp_path))
    monkeypatch.setenv("TIDEMARK_EXPECTATIONS", str(tmp_path))
    (tmp_path / "books.yaml").write_text("mine")
    ended = CliRunner().invoke(app, ["init", "books", "--topics", "books"])
    structlog.reset_defaults()  # The log of a command is that of its terminal.
    assert ended.exit_code == 1
    assert "is there already, and nothing is overwritten" in " ".join(ended.output.split())
    assert (tmp_path / "books.yaml").read_text() == "mine"
