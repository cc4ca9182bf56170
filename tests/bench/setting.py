"""On what figures were taken: the machine, how busy it was, and every version that matters."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import psutil

from embedded.home import JARS, REPOSITORY
from tests.bench.jvm import java_version
from tests.bench.lab import SPARK_CONF, Lab

PACKAGES = ("pyspark", "pyiceberg", "pyarrow", "confluent-kafka", "apache-airflow")


@dataclass(frozen=True, slots=True)
class Setting:
    """load: runnable processes over the last 1, 5 and 15 minutes, before anything was measured.

    heaps: what is measured in each application, by its heap.
    """

    commit: str
    scale: float
    rounds: int
    processor: str
    cores: int
    memory_bytes: int
    system: str
    load: tuple[float, float, float]
    versions: Mapping[str, str]
    jars: tuple[str, ...]
    spark_conf: Mapping[str, str]
    heaps: Mapping[str, Sequence[str]]


def setting_of(lab: Lab, heaps: Mapping[str, Sequence[str]]) -> Setting:
    """As it is now."""
    return Setting(
        commit=_commit(),
        scale=lab.scale,
        rounds=lab.rounds,
        processor=_processor(),
        cores=psutil.cpu_count() or 0,
        memory_bytes=psutil.virtual_memory().total,
        system=f"{platform.system()} {platform.release()}",
        load=psutil.getloadavg(),
        versions={
            "python": platform.python_version(),
            "java": java_version(lab.world.spark),
            **{package: version(package) for package in PACKAGES},
        },
        jars=tuple(sorted(jar.stem for jar in (JARS / "spark").glob("*.jar"))),
        spark_conf=SPARK_CONF,
        heaps=heaps,
    )


def _processor() -> str:
    """The model's name where Linux tells it."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(iter(names), platform.machine())


def _commit() -> str:
    """What of the product was measured; ``-dirty`` when it was changed since."""
    command = ["git", "describe", "--always", "--dirty"]  # noqa: S607
    told = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return told.stdout.strip()
