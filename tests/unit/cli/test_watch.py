"""`tidemark status --watch`: the same place again and again, at a terminal alone."""

from __future__ import annotations

import io
import itertools

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tests.unit.cli.test_status import pipelines
from tidemark.cli.app import app
from tidemark.cli.watch import watch

__all__ = ["pipelines"]


def test_it_goes_on_until_somebody_ends_it() -> None:
    times, page = itertools.count(1), io.StringIO()

    def show(console: Console) -> None:
        number = next(times)
        if number == 3:
            raise KeyboardInterrupt
        console.print(f"cut {number}", style="bold")

    watch(Console(file=page, force_terminal=True, width=80), show, seconds=0)
    printed = page.getvalue()
    assert printed.index("cut 1") < printed.index("cut 2")
    assert "\x1b[1A" in printed  # The second stands where the first stood.
    assert printed.count("Ctrl-C ends") >= 2


def test_what_is_no_terminal_is_refused() -> None:
    ended = CliRunner().invoke(app, ["status", "--watch"])
    assert ended.exit_code == 2
    assert "needs a terminal" in ended.output


@pytest.mark.parametrize("pipeline", [[], ["zoo"]])
def test_programs_do_not_watch(pipeline: list[str]) -> None:
    ended = CliRunner().invoke(app, ["status", *pipeline, "--watch", "--json"])
    assert ended.exit_code == 2
