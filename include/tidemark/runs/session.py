"""The Spark session of a run: its settings, and how large its shuffles are.

It starts for seconds, so that what needs pyiceberg is loaded meanwhile and not from here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil
from pyspark.sql import SparkSession

from tidemark.errors import ServiceError
from tidemark.lake.java_catalog import spark_catalog_conf
from tidemark.runs.jvm import forget_derby, send_jars, start_jvm
from tidemark.spec import InstallationSpec
from tidemark.spec.jvm import with_limits
from tidemark.spec.launch import conf_folder, launch_settings, s3_jars_of

RECORDS_PER_SHUFFLE = 50_000
SHUFFLES_PER_CORE = 8
KEYS_PER_RECORD = 2  # a change of a key ends one row and makes another
BITS_PER_KEY = 8
FEW_ROWS = 100_000
"""Up to so many rows of a cut and of its largest target, compiling takes longer than it saves."""
INTERPRETED: Mapping[str, str] = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
COMPILED: Mapping[str, str] = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}
LEAST_KEYS = 1_000
CLASSES_OF_FUNCTIONS = (
    "functions",
    "org.apache.spark.sql.functions",
    "PythonSQLUtils",
    "PythonUtils",
)
SHUFFLES = "spark.sql.shuffle.partitions"
BLOOM = "spark.sql.optimizer.runtime.bloomFilter"
SESSION_CONF: Mapping[str, str] = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    # Else a name or a comment of the source with ${env:...} in it reads what this process knows.
    "spark.sql.variable.substitute": "false",
    # Shuffles are sized by the batch (`size_for`). Adaptive execution re-plans a MERGE on the
    # way, and Spark 4.1 then may run MergeRowsExec with metrics that were never made: its tasks
    # end in a NullPointerException when several merges run side by side.
    "spark.sql.adaptive.enabled": "false",
    # Ranks are sought over whole records: to rank them before the shuffle sorts them once more.
    "spark.sql.optimizer.windowGroupLimitThreshold": "-1",
    # What follows from conditions is of no use to a cut, and to find it out takes longer than all
    # else of a large plan: of a replay of Avro half of the CPU time.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # A cut has about a hundred generated classes; a smaller cache makes a session that runs several
    # compile all of them again in each.
    "spark.sql.codegen.cache.maxEntries": "500",
    # Else each call that builds a column asks the JVM where it was made.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # What makes a merge cost its batch and not its table: docs/adr/0002-one-guarded-merge.md
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    f"{BLOOM}.enabled": "true",
    f"{BLOOM}.applicationSideScanSizeThreshold": "1b",
    f"{BLOOM}.creationSideThreshold": "1GB",
    "spark.scheduler.mode": "FAIR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # What the page would show is kept all the same, up to a thousand of each.
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.sql.ui.retainedExecutions": "20",
}


def size_for(session: SparkSession, records: int, stored: int = 0) -> None:
    """Have shuffles, runtime filters and code of this session be what ``records`` are worth.

    A filter is written, sent and read once per task: of the size that Spark gives all of them, that
    was a tenth of what a cut of ten rows costs. Spark has its own bounds for large ones. Over few
    rows expressions are interpreted. stored: rows of the largest table that is read beside them.
    """
    partitions = min(_most_shuffles(session), max(1, -(-records // RECORDS_PER_SHUFFLE)))
    session.conf.set(SHUFFLES, str(partitions))
    keys = max(LEAST_KEYS, KEYS_PER_RECORD * records)
    session.conf.set(f"{BLOOM}.expectedNumItems", str(keys))
    session.conf.set(f"{BLOOM}.numBits", str(BITS_PER_KEY * keys))
    evaluated = INTERPRETED if max(records, stored) <= FEW_ROWS else COMPILED
    for name, value in evaluated.items():
        session.conf.set(name, value)


def _most_shuffles(session: SparkSession) -> int:
    return SHUFFLES_PER_CORE * session.sparkContext.defaultParallelism


def start_session(
    installation: InstallationSpec, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """A session that finds the catalog; conf: settings of a pipeline, over the installation's.

    Under spark-submit the jars are on the driver's class path already; else they are put there
    before the JVM starts. Executors of a cluster fetch them from the driver.
    """
    folder, on_s3 = installation.spark.jars, installation.catalog.is_on_s3
    folders = [folder, s3_jars_of(folder)] if on_s3 else [folder]
    jars = [jar for each in folders for jar in _jars_in(each)]
    builder = SparkSession.builder.appName("tidemark")
    settings = with_limits(
        {
            **SESSION_CONF,
            **spark_catalog_conf(installation.catalog),
            **installation.spark.conf,
            **(conf or {}),
        }
    )
    settings |= launch_settings(folder, settings, on_s3=on_s3)
    for name, value in settings.items():
        builder = builder.config(name, value)
    os.environ["SPARK_CONF_DIR"] = conf_folder()
    os.environ["PYSPARK_PYTHON"] = sys.executable  # of local workers; those of a cluster have none
    session = _started(builder, settings)
    session.sparkContext.setLogLevel("ERROR")
    send_jars(session, jars)
    forget_derby(session)
    _keep_classes(session)
    if SHUFFLES not in settings:  # Spark's 200 suit no machine of a few cores.
        session.conf.set(SHUFFLES, str(_most_shuffles(session)))
    return session


def _jars_in(folder: Path) -> list[Path]:
    jars = sorted(folder.glob("*.jar"))
    if not jars:
        raise ServiceError(
            f"no jars are in {folder}",
            state="Spark was not started",
            next_step="fetch them: make setup",
        )
    return jars


def _started(builder: SparkSession.Builder, settings: Mapping[str, str]) -> SparkSession:
    """Start a session, and have no JVM left running where an interrupt ends that.

    A JVM ends with us once it has told PySpark where it listens. PySpark ignores interrupts on its
    behalf, and when it is interrupted before that, removes the folder in which it would be told:
    the JVM then waits for a caller forever.
    """
    others = psutil.Process().children()
    try:
        start_jvm(settings)
        return builder.getOrCreate()
    except KeyboardInterrupt:
        for child in psutil.Process().children():
            if child not in others:
                with suppress(psutil.NoSuchProcess):
                    child.kill()
        raise


def _keep_classes(session: SparkSession) -> None:
    """Have PySpark find the classes of its functions once, and not in each call of one.

    It asks for them by names that the JVM seeks in every jar before it looks where they are.
    """
    jvm = session.sparkContext._jvm  # noqa: SLF001  PySpark keeps them nowhere else
    for name in CLASSES_OF_FUNCTIONS:
        setattr(jvm, name, getattr(jvm, name))
