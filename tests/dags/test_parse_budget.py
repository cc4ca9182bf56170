"""Reading all DAGs is cheap and touches nothing: all of 100 pipelines in 2 s, without a socket.

The seconds are those of the processor, the fewest of three times: what else a machine does makes
them more, and never fewer. The package is compiled before, as Airflow's parser finds it: where
Python may not write bytecode, each process compiles all modules itself.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from compileall import compile_dir
from pathlib import Path

import pytest

PIPELINE = """\
name: {name}
description: One of many.
owner: data-platform
schedule: "*/10 * * * *"
source: {{format: ticdc-canal-json, gate: watermark, topics: {{data: [{name}]}}}}
tables:
"""
TABLE = "  - {{source: {name}.t{number}, expectations: none}}\n"
# Airflow itself opens sockets between its processes, and imports what it likes: it comes first.
PARSE = """
import json, socket, sys, time
from airflow.dag_processing.dagbag import DagBag
import airflow.providers.standard.operators.python
import airflow.providers.apache.spark.operators.spark_submit

def refuse(*_):
    raise OSError("a DAG file opened a socket")

socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
before, began = set(sys.modules), time.process_time()
bag = DagBag(sys.argv[1])
cpu_seconds = time.process_time() - began
modules = sorted({name.partition(".")[0] for name in set(sys.modules) - before})
print(json.dumps([len(bag.dags), bag.import_errors, cpu_seconds, modules]), file=sys.stderr)
"""
HEAVY = {
    "confluent_kafka",
    "great_expectations",
    "pandas",
    "py4j",
    "pyarrow",
    "pyiceberg",
    "pyspark",
}


def test_hundred_pipelines(tmp_path: Path) -> None:
    assert compile_dir(Path(__file__).parents[2] / "include" / "tidemark", quiet=1)
    for number in range(100):
        name = f"p{number}"
        tables = "".join(TABLE.format(name=name, number=table) for table in range(10))
        (tmp_path / f"{name}.yaml").write_text(PIPELINE.format(name=name) + tables)
    taken = []
    for _ in range(3):
        outcome = subprocess.run(
            [sys.executable, "-c", PARSE, str(Path(__file__).parents[2] / "dags")],
            env={**os.environ, "TIDEMARK_PIPELINES": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert outcome.returncode == 0, outcome.stderr
        dags, errors, cpu_seconds, modules = json.loads(outcome.stderr.splitlines()[-1])
        assert (dags, errors) == (400, {})
        assert HEAVY.isdisjoint(modules)
        taken.append(cpu_seconds)
    assert min(taken) < 2, taken


@pytest.mark.parametrize("file", sorted((Path(__file__).parents[2] / "dags").glob("*.py")))
def test_file_is_found_by_the_parser(file: Path) -> None:
    """Airflow passes over files that lack one of these words."""
    text = file.read_text().lower()
    assert "airflow" in text
    assert "dag" in text
