"""What pages tell readers to copy is valid: YAML, JSON, Python, SQL, and commands."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest
import sqlglot
import typer
import yaml
from typer.core import TyperGroup
from typer.main import get_command

from tidemark.cli.app import app
from tidemark.spec import load_pipeline

REPOSITORY = Path(__file__).parents[2]
PAGES = (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md")))
VERBS = set(re.findall(r"^([a-z0-9-]+):", (REPOSITORY / "Makefile").read_text(), re.M))
ENGINE = re.compile(r"^(?:## )?(Spark|Trino|DuckDB)(?: SQL|:)?$", re.M)
EXTENSION = ("INSTALL iceberg", "LOAD iceberg")
COMMAND = re.compile(r"^(?:    )?((?:tidemark|make) .+)$|`((?:tidemark|make) [^`]+)`", re.M)


class Block(NamedTuple):
    """A fenced block: where it stands, its language and its text."""

    page: str
    language: str
    text: str


def blocks(*languages: str) -> list[Block]:
    fence = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
    return [
        Block(page.name, language, text)
        for page in PAGES
        for language, text in fence.findall(page.read_text("utf-8"))
        if language in languages
    ]


def commands(program: str) -> list[tuple[str, list[str]]]:
    """Page, and words behind ``program``, of each line and of code inside sentences."""
    lines = (
        (page.name, shlex.split(line or inline, comments=True))
        for page in PAGES
        for line, inline in COMMAND.findall(page.read_text("utf-8"))
    )
    return [(page, words[1:]) for page, words in lines if words[0] == program]


def named(block: Block) -> str:
    return f"{block.page}-{block.language}"


@pytest.mark.parametrize("block", blocks("yaml"), ids=named)
def test_yaml_can_be_copied(block: Block, tmp_path: Path) -> None:
    """A whole pipeline is loaded as one; a part of a file is YAML."""
    content = yaml.safe_load(block.text)
    assert content
    if isinstance(content, dict) and {"name", "source"} <= content.keys():
        file = tmp_path / f"{content['name']}.yaml"
        file.write_text(block.text, "utf-8")
        assert load_pipeline(file).name == content["name"]


@pytest.mark.parametrize("block", blocks("json"), ids=named)
def test_settings_of_connectors_can_be_copied(block: Block) -> None:
    settings = json.loads(block.text)
    if "connector.class" in settings:
        assert settings["skipped.operations"] == "none"
    assert all(isinstance(value, str) for value in settings.values())


@pytest.mark.parametrize("block", blocks("python"), ids=named)
def test_python_can_be_copied(block: Block) -> None:
    compile(block.text, block.page, "exec")


@pytest.mark.parametrize("block", blocks("sql"), ids=named)
def test_sql_can_be_copied(block: Block) -> None:
    """In the language of the engine that the page named last before it."""
    page = next(page for page in PAGES if page.name == block.page)
    above = page.read_text("utf-8").partition(block.text)[0]
    engine = ENGINE.findall(above)[-1].lower()
    for statement in sqlglot.parse(block.text, dialect=engine):
        assert statement is not None
        # What sqlglot cannot parse it takes over as a command; DuckDB's extensions are such.
        is_command = isinstance(statement, sqlglot.exp.Command)
        assert not is_command or statement.sql(engine) in EXTENSION, statement


@pytest.mark.parametrize(("page", "words"), commands("tidemark"), ids=str)
def test_commands_are_those_of_the_command_line(page: str, words: list[str]) -> None:
    """Verbs and options by the parser itself."""
    command = get_command(app)
    context = typer.Context(command, info_name="tidemark")
    while isinstance(command, TyperGroup) and words and not words[0].startswith("-"):
        verb = command.get_command(context, words[0])
        assert verb is not None, f"{page}: tidemark {shlex.join(words)}"
        command, words = verb, words[1:]
        context = typer.Context(command, parent=context, info_name=verb.name)
    command.make_parser(context).parse_args(list(words))


@pytest.mark.parametrize(("page", "words"), commands("make"), ids=str)
def test_verbs_are_those_of_the_makefile(page: str, words: list[str]) -> None:
    assert words[0] in VERBS, page


def test_pages_have_what_is_looked_for() -> None:
    found = {block.language for block in blocks("yaml", "json", "python", "sql")}
    assert found == {"yaml", "json", "python", "sql"}
    assert len(commands("tidemark")) > 60
    assert len(commands("make")) > 20
