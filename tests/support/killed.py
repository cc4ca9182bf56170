"""The job of a cut as a process of its own, and its sudden end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import yaml

from embedded.home import REPOSITORY, embedded_environment
from tidemark.model.names import AttemptId
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec


@dataclass(frozen=True, slots=True)
class Ended:
    """What a job logged; was_killed: it did not end by itself before."""

    lines: list[str]
    was_killed: bool


def run_killed(  # noqa: PLR0913  a job, and where it ends
    pipeline: PipelineSpec,
    world: World,
    folder: Path,
    attempt: AttemptId,
    is_last: Callable[[str], bool],
    seconds: float = 0,
) -> Ended:
    """SIGKILL to driver and JVM, ``seconds`` after a line of their log is the last one.

    One that ends by itself before must have come to a result. ``folder`` is for its files.
    """
    document = pipeline.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    (folder / f"{pipeline.name}.yaml").write_text(yaml.safe_dump(document))
    environment = {
        **os.environ,
        **embedded_environment(world.installation.state, world.broker.servers),
        "TIDEMARK_PIPELINES": str(folder),
    }
    result = folder / f"{attempt}.json"
    command = [
        sys.executable,
        str(REPOSITORY / "jobs" / "cut.py"),
        f"--pipeline={pipeline.name}",
        f"--attempt={attempt}",
        f"--result={result}",
    ]
    lines = []
    with subprocess.Popen(
        command,
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            lines.append(line)
            if is_last(line):
                time.sleep(seconds)
                break
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    was_killed = process.returncode == -signal.SIGKILL
    assert was_killed or result.exists(), "".join(lines)
    return Ended(lines, was_killed)
