"""What is refused before anything is opened, and how an error reads at a terminal."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner, Result

from tidemark.cli.app import app, in_letters
from tidemark.errors import SupersededError, TidemarkError, TopicMissingError

LETTER = ": topic shop is gone\n  state: nothing was written\n  next:  make the topic\n"


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
        pytest.param("cut shop --attempt A-1", "not 1 to 40 of a-z, 0-9 and _", id="attempt"),
    ],
)
def test_wrong_words_are_refused(words: str, said: str) -> None:
    ended = CliRunner().invoke(app, words.split())

    assert ended.exit_code == 2
    assert said in " ".join(ended.stderr.split())
    assert "─" not in ended.stderr


@pytest.mark.parametrize("verb", ["plan", "cut"])
@pytest.mark.parametrize("cap", ["noon", "binlog.000003:1547"])
def test_a_cap_that_the_source_does_not_show_is_a_letter(verb: str, cap: str) -> None:
    ended = CliRunner().invoke(app, [verb, "shop", "--until", cap])

    assert ended.exit_code == 1
    assert ended.stdout == ""
    assert ended.stderr == (
        f"OrderRefusedError: '{cap}' cannot cap a run of pipeline shop: a source with format "
        "ticdc-canal-json and gate watermark takes an ISO time such as 2026-01-31T12:00:00Z, or a "
        "commitTs such as 458911423758336001\n"
        "  state: nothing was written; every table is as it was\n"
        "  next:  give one of these as until, or leave it out to go as far as the gate allows\n"
    )


@pytest.mark.parametrize(
    ("kind", "code"), [(TopicMissingError, 1), (SupersededError, 4)], ids=["failed", "superseded"]
)
def test_an_error_is_a_letter(kind: type[TidemarkError], code: int) -> None:
    error = kind("topic shop is gone", state="nothing was written", next_step="make the topic")

    ended = _run_failing(error)

    assert ended.exit_code == code
    assert ended.stderr == kind.__name__ + LETTER
    assert ended.stdout == ""


def test_a_defect_keeps_its_traceback() -> None:
    ended = _run_failing(KeyError("offset"))

    assert isinstance(ended.exception, KeyError)
    assert ended.stderr == ""


def _run_failing(error: Exception) -> Result:
    app = typer.Typer()

    def fail() -> None:
        raise error

    app.command()(in_letters(fail))
    return CliRunner().invoke(app)
