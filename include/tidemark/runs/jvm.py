"""The driver's JVM: its arguments, its databases, the jars that it hands out, and its end.

PySpark has no public way to any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from socketserver import BaseServer
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from tidemark.spec.launch import launch_arguments

INSTALLED = "spark.executor.extraClassPath"
"""Where executors have the jars already, if they do."""
DERBY = "org.apache.derby."


def start_jvm(settings: Mapping[str, str]) -> None:
    """Start the JVM, unless it runs, with those of ``settings`` that it cannot do without.

    PySpark would start it with all of them as arguments, the catalog's password among them.
    """
    conf = SparkConf(loadDefaults=False)
    for name, value in launch_arguments(settings).items():
        conf.set(name, value)
    SparkContext._ensure_initialized(conf=conf)  # noqa: SLF001


def is_local(session: SparkSession) -> bool:
    """Whether the driver does the work of executors itself."""
    return bool(session.sparkContext._jsc.isLocal())  # noqa: SLF001


def send_jars(session: SparkSession, jars: Iterable[Path]) -> None:
    """Have executors fetch ``jars`` from the driver, unless they are in it or have them."""
    context = session.sparkContext
    if is_local(session) or context.getConf().contains(INSTALLED):
        return
    java = context._jsc  # noqa: SLF001
    for jar in jars:
        java.addJar(str(jar))


def forget_derby(session: SparkSession) -> None:
    """Have JDBC ask no Derby, which Spark ships for Hive, when another database does not answer.

    From an archive of classes it ends in a SecurityException ("sealing violation"), and that is all
    that anybody would read of a database that is down.
    """
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001
    manager = jvm.java.sql.DriverManager
    drivers = manager.getDrivers()
    registered = []
    while drivers.hasMoreElements():
        registered.append(drivers.nextElement())
    for driver in registered:
        if driver.getClass().getName().startswith(DERBY):
            manager.deregisterDriver(driver)


def stop_session(session: SparkSession) -> None:
    """Stop ``session`` as its process ends.

    PySpark would wait for its server of accumulators, which looks once a second whether it is to
    end.
    """
    context: Any = session.sparkContext
    if ends_with_process(context._accumulatorServer):  # noqa: SLF001
        context._accumulatorServer = None  # noqa: SLF001
    session.stop()


def ends_with_process(server: BaseServer) -> bool:
    """Whether nothing is left of ``server`` then: of one at a Unix socket, its file would be."""
    return not isinstance(server.server_address, str)
