"""What is refused before anything is opened, and how an error reads at a terminal."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from tidemark.cli.app import app, with_messages
from tidemark.errors import SupersededError, TidemarkError, TopicMissingError
from tidemark.model.result import EXIT_CODES, EXIT_MEANINGS

MESSAGE = ": topic shop is gone\n  state: nothing was written\n  next:  make the topic\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param("plan inventry", "did you mean 'inventory'?", id="near pipeline"),
        pytest.param("status x", "no pipeline 'x'; there is inventory, shop", id="no near one"),
        pytest.param("cut shop --table shop.order", "did you mean 'shop.orders'?", id="near table"),
        pytest.param("cut shop --table orders", "not a table as records name it", id="bare table"),
        pytest.param(
            "quarantine replay shop --record a:b", "not TOPIC:PARTITION:OFFSET", id="record"
        ),
        pytest.param("skip shop", "give a TRANSACTION, or", id="nothing to skip"),
        pytest.param("skip shop --record t:0:1", "with a --reason", id="a record without a reason"),
        pytest.param(
            "skip shop 4:1 --statement 00 --reason x", "give a TRANSACTION, or", id="two to skip"
        ),
        pytest.param("quarantine drop shop", "Missing option '--reason'", id="no reason"),
        pytest.param("accept shop", "Missing option '--reason'", id="no reason to accept"),
        pytest.param("accept shop --reason=", "give a --reason", id="an empty reason"),
        pytest.param("cut shop --attempt A-1", "not 1 to 40 of a-z, 0-9 and _", id="attempt"),
        pytest.param("cut shop --tag a-b", "tag name 'a-b' is refused", id="tag"),
        pytest.param("cut shop --tag month_end", "--tag needs --until with a time", id="no time"),
        pytest.param(
            "cut shop --tag t --until 458911423758336001", "--tag needs --until", id="a position"
        ),
        pytest.param(
            "cut shop --tag t --until 2026-01-01 --table shop.orders",
            "no --table",
            id="some tables",
        ),
    ],
)
def test_wrong_words_are_refused(words: str, said: str) -> None:
    ended = CliRunner().invoke(app, words.split())

    assert ended.exit_code == 2
    assert said in " ".join(ended.stderr.split())
    assert "─" not in ended.stderr


@pytest.mark.parametrize("verb", ["plan", "cut"])
@pytest.mark.parametrize("cap", ["noon", "binlog.000003:1547"])
def test_a_cap_that_the_source_does_not_show_is_a_message(verb: str, cap: str) -> None:
    ended = CliRunner().invoke(app, [verb, "shop", "--until", cap])

    assert ended.exit_code == 1
    assert ended.stdout == ""
    assert ended.stderr == (
        f"ActionRefusedError: '{cap}' cannot cap a run of pipeline shop: a source with format "
        "ticdc-canal-json and gate watermark takes an ISO time such as 2026-01-31T12:00:00Z, or a "
        "commitTs such as 458911423758336001\n"
        "  state: nothing was written; every table is as it was\n"
        "  next:  give one of these as until, or leave it out to go as far as the gate allows\n"
    )


@pytest.mark.parametrize(
    ("kind", "code"), [(TopicMissingError, 1), (SupersededError, 4)], ids=["failed", "superseded"]
)
def test_an_error_is_a_message(kind: type[TidemarkError], code: int) -> None:
    error = kind("topic shop is gone", state="nothing was written", next_step="make the topic")

    ended = _run_failing(error)

    assert ended.exit_code == code
    assert ended.stderr == kind.__name__ + MESSAGE
    assert ended.stdout == ""


def test_everything_is_not_dropped_without_a_terminal_and_without_yes() -> None:
    ended = CliRunner().invoke(app, ["quarantine", "drop", "shop", "--reason", "x"])

    assert ended.exit_code == 1
    assert ended.stdout == ""
    assert ended.stderr == (
        "ActionRefusedError: standard input is no terminal to confirm on, and --yes was not given\n"
        "  state: nothing was written; every table is as it was\n"
        "  next:  name what is meant by a filter, or add --yes\n"
    )


def test_the_version_is_that_of_the_package() -> None:
    ended = CliRunner().invoke(app, ["--version"])

    assert (ended.exit_code, ended.stdout) == (0, f"tidemark {version('tidemark')}\n")


def test_exit_codes_are_in_the_help_and_on_the_page() -> None:
    told = " ".join(CliRunner().invoke(app, ["--help"]).stdout.split())
    page = (Path(__file__).parents[3] / "docs/operate.md").read_text("utf-8")

    assert set(EXIT_CODES.values()) | {2} == EXIT_MEANINGS.keys()
    for code, meaning in EXIT_MEANINGS.items():
        assert f"{code} {meaning}" in told
        assert f"| {code} | {meaning} |" in page


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("validate", ["FILE"]),
        ("plan", ["PIPELINE"]),
        ("resync", ["PIPELINE", "TABLE"]),
        ("skip", ["PIPELINE", "TRANSACTION"]),
        ("quarantine show", ["PIPELINE", "TOPIC", "PARTITION", "OFFSET"]),
    ],
)
def test_help_names_arguments_and_no_types(verb: str, arguments: list[str]) -> None:
    told = CliRunner().invoke(app, [*verb.split(), "--help"]).stdout
    section = told.split("Arguments:\n")[1].split("\n\n")[0]

    assert [line.split()[0] for line in section.splitlines() if line[2] != " "] == arguments
    assert "<" not in told


def test_the_shell_completes_verbs() -> None:
    asked = {"_TIDEMARK_COMPLETE": "complete_bash", "COMP_WORDS": "tidemark qu", "COMP_CWORD": "1"}
    ended = CliRunner().invoke(app, [], prog_name="tidemark", env=asked)

    assert (ended.exit_code, ended.stdout) == (0, "quarantine\n")


def test_a_defect_keeps_its_traceback() -> None:
    ended = _run_failing(KeyError("offset"))

    assert isinstance(ended.exception, KeyError)
    assert ended.stderr == ""


def _run_failing(error: Exception) -> Result:
    app = typer.Typer()

    def fail() -> None:
        raise error

    app.command()(with_messages(fail))
    return CliRunner().invoke(app)
