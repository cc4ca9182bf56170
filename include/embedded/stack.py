"""`make up` and `make down`: the embedded stack stays up, and sample sources feed it.

up starts what is not running yet: the broker, Airflow's servers, and a producer that sends one
stage of each recorded stream after the other. down stops all of it and keeps what it wrote.
"""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from embedded.airflow import USER, Airflow, prepare_airflow
from embedded.airflow_servers import SERVERS, start_airflow, stop_airflow
from embedded.broker import start_broker, stop_broker
from embedded.home import JARS, STATE, embedded_environment
from embedded.process import Program, find_recorded, start_detached, stop_recorded
from embedded.sample import (
    Stream,
    count_sent,
    create_topics,
    inventory_stream,
    send,
    shop_stream,
)
from tidemark.errors import TidemarkError
from tidemark.log import configure, get_logger

HOME = STATE / "up"
STAGE_SECONDS = 60
PRODUCER_PID = HOME / "producer.pid"
ENVIRONMENT = HOME / "env.sh"

log = get_logger()


def up() -> None:
    """Start what is not running, and say where it is."""
    HOME.mkdir(parents=True, exist_ok=True)
    servers = start_broker(HOME, JARS)
    for stream in _streams():
        create_topics(servers, stream)
    settings = embedded_environment(HOME, servers)
    airflow = prepare_airflow(HOME, settings)
    exports = _exports(airflow, settings)
    if not ENVIRONMENT.exists() or ENVIRONMENT.read_text() != exports:
        stop_airflow(HOME)  # what still runs knows another broker
        stop_recorded(PRODUCER_PID)
        ENVIRONMENT.write_text(exports)
    url = start_airflow(airflow)
    if find_recorded(PRODUCER_PID) is None:
        start_detached(_producer(servers))
    _tell(f"""\
Airflow      {url}   user {USER}, its password is in {airflow.passwords_file}
Kafka        {servers}
sample       a producer sends one stage of each source every {STAGE_SECONDS} s: {HOME}/producer.log
runs         every 10 minutes, or now: Trigger on cut__shop and cut__inventory in the UI

In a shell:  . {os.path.relpath(ENVIRONMENT)}
             tidemark status
             tidemark status shop
             tidemark plan shop
Stop it:     make down   (what it wrote stays in {os.path.relpath(HOME)}; make clean removes it)""")


def down() -> None:
    """Stop what runs; what it wrote stays."""
    stopped = {
        "producer": stop_recorded(PRODUCER_PID),
        "airflow": stop_airflow(HOME),
        "broker": stop_broker(HOME),
    }
    names = [name for name, was_running in stopped.items() if was_running]
    _tell(f"stopped: {', '.join(names)}" if names else "nothing was running")


def status() -> None:
    """Say what runs."""
    pid_files = {
        "broker": HOME / "kafka" / "broker.pid",
        **{server: HOME / "airflow" / f"{server}.pid" for server in SERVERS},
        "producer": PRODUCER_PID,
    }
    for name, file in pid_files.items():
        process = find_recorded(file)
        _tell(f"{name:<14}{f'runs as process {process.pid}' if process else 'does not run'}")


def produce(servers: str) -> None:
    """Send the next stage of every stream, wait, and so on until all is sent."""
    while True:
        ahead = False
        for stream in _streams():
            start = count_sent(servers, stream)
            following = [stage for stage in stream.stages if stage.end > start]
            if following:
                send(servers, stream.records[start : following[0].end])
                log.info("stage_sent", pipeline=stream.pipeline, stage=following[0].name)
            ahead = ahead or len(following) > 1
        if not ahead:
            log.info("all_sent")
            return
        time.sleep(STAGE_SECONDS)


def main() -> None:
    """Run the verb of the command line."""
    parser = argparse.ArgumentParser(prog="python -m embedded.stack")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("up", help="start what is not running")
    verbs.add_parser("down", help="stop everything; what was written stays")
    verbs.add_parser("status", help="say what runs")
    producer = verbs.add_parser("produce", help="send the sample streams; up starts this")
    producer.add_argument("servers", help="address of the broker")
    asked = parser.parse_args()
    if asked.verb == "produce":
        configure()
        produce(asked.servers)
    else:
        configure(level=logging.WARNING)
        {"up": up, "down": down, "status": status}[asked.verb]()


def _streams() -> tuple[Stream, ...]:
    return inventory_stream(), shop_stream()


def _producer(servers: str) -> Program:
    command = [sys.executable, "-m", "embedded.stack", "produce", servers]
    return Program(command, HOME / "producer.log", PRODUCER_PID)


def _exports(airflow: Airflow, settings: Mapping[str, str]) -> str:
    """What a shell has to source for `tidemark` and `airflow` to work with this installation."""
    variables = {
        **{name: text for name, text in airflow.environment.items() if name.startswith("AIRFLOW")},
        **settings,
    }
    lines = [f"export {name}={shlex.quote(text)}\n" for name, text in sorted(variables.items())]
    programs = shlex.quote(str(Path(sys.executable).parent))
    return f'{"".join(lines)}export PATH={programs}:"$PATH"\n'


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    try:
        main()
    except TidemarkError as error:
        sys.exit(str(error))
