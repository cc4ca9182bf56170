"""What is installed on this machine, against what is tested together."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from tidemark.errors import TidemarkError
from tidemark.jars.fetch import JarSet, jar_faults
from tidemark.jars.java import java_command
from tidemark.model.finding import Finding, Grade
from tidemark.runs.doctor.trouble import finding_of
from tidemark.spec import InstallationSpec
from tidemark.spec.launch import s3_jars_of

ABOUT = "this machine"
RUNTIME = "iceberg-spark-runtime-"


def version_findings(installation: InstallationSpec) -> Iterator[Finding]:
    """Java, PySpark and the jars."""
    try:
        yield Finding.good(ABOUT, f"Java is {java_command()}")
    except TidemarkError as error:
        yield finding_of(error, ABOUT)
    yield from pyspark_findings(_version("pyspark"), _version("pyspark-client"))
    folder = installation.spark.jars
    sets = {JarSet.SPARK: folder}
    if installation.catalog.is_on_s3:
        sets[JarSet.S3] = s3_jars_of(folder)
    for jar_set, place in sets.items():
        faults = jar_faults(jar_set, place)
        if not faults:
            yield Finding.good(ABOUT, f"the jars in {place} are those that are tested")
            continue
        more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
        yield Finding(
            Grade.WARNING,
            ABOUT,
            f"the jars in {place} are not those that are tested: {faults[0]}{more}",
            "Spark may not start, or write what nobody has tested",
            "fetch them: python -m tidemark.jars fetch FOLDER",
        )
    yield from runtime_findings(_version("pyspark"), [jar.name for jar in folder.glob("*.jar")])


def pyspark_findings(spark: str, client: str) -> Iterator[Finding]:
    """Both packages own the folder pyspark/; client: empty where it is not installed."""
    if client and client != spark:
        yield Finding(
            Grade.ERROR,
            ABOUT,
            f"pyspark is {spark}, and pyspark-client {client}",
            "their files mix in one folder: Spark fails in ways that say nothing",
            f"install both as {spark}",
        )


def runtime_findings(spark: str, jars: list[str]) -> Iterator[Finding]:
    """The jar of Iceberg is made for one minor version of Spark."""
    minor = ".".join(spark.split(".")[:2])
    runtimes = [name for name in jars if name.startswith(RUNTIME)]
    for name in runtimes:
        if name.startswith(f"{RUNTIME}{minor}_"):
            yield Finding.good(ABOUT, f"Spark is {spark}, and Iceberg {name}")
        else:
            yield Finding(
                Grade.ERROR,
                ABOUT,
                f"Spark is {spark}, and Iceberg {name}",
                "Iceberg's classes fail in another version of Spark",
                "install the pyspark that the jar is for, or fetch the jars of this version",
            )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
