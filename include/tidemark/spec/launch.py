"""How the driver's JVM of a Spark application starts: class path, archive of classes, local files.

A JVM maps the archive into memory instead of reading, checking and linking some twenty thousand
classes one by one. It judges by itself whether an archive fits its version and its class path, and
starts without one that does not: an archive changes how long a start takes, and nothing else.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from tidemark.spec.references import is_secret

CLASS_PATH = "spark.driver.extraClassPath"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
SPARK_CONF = Path(__file__).with_name("spark_conf")
"""Settings of logs that are quiet and hold no cell values."""
ARCHIVE_OPTION = "-XX:SharedArchiveFile="
LOCAL_FILES: Mapping[str, str] = {
    "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem"
}
"""By itself Hadoop starts a ``chmod`` for each file and folder that it makes, some seventy in a cut
of ten rows, unless it finds a library that pyspark does not ship. This one sets modes by Java. A
JVM keeps the first file system that it makes, so it has to know before it starts."""
# What a JVM has to know before it starts, or spark-submit to start it.
_BEFORE = ("spark.driver.", *LOCAL_FILES)
# What the JVM would say of an archive that does not fit.
SILENT = "-Xlog:cds=off -Xlog:cds+dynamic=off"


def archive_of(jars: Path) -> Path:
    """The archive that belongs to a folder of jars: beside it, so that it is no jar of the set."""
    return jars.with_name(f"{jars.name}.jsa")


def s3_jars_of(jars: Path) -> Path:
    """The folder of jars that belongs to a folder of jars where the warehouse is on S3."""
    return jars.with_name("s3")


def archived_class_path(jars: Path) -> str:
    """The class path that an archive is made with, and serves.

    Spark puts its own jars behind its folder of settings. An archive may hold no class that comes
    after a folder, so here they come before it.
    """
    return os.pathsep.join(f"{folder}/*" for folder in (jars, spark_home() / "jars"))


def launch_settings(
    jars: Path, conf: Mapping[str, str], *, on_s3: bool = False
) -> Mapping[str, str]:
    """Class path, Java options (the archive among them) and local files of a driver with ``conf``.

    Options that name an archive already are left as they are, and so is a choice of file systems.
    on_s3: with the jars of S3, which come behind Spark's own, as they hold older classes of theirs.
    """
    archive, options = archive_of(jars), conf.get(JAVA_OPTIONS, "")
    class_path = archived_class_path(jars) if on_s3 else f"{jars}/*"
    if archive.exists() and ARCHIVE_OPTION not in options:
        class_path = archived_class_path(jars)
        use = shlex.quote(f"{ARCHIVE_OPTION}{archive}")
        options = f"{options} {use} {SILENT}".lstrip()
    behind = f"{s3_jars_of(jars)}/*" if on_s3 else None
    entries = [class_path, *filter(None, [conf.get(CLASS_PATH), behind])]
    files = {name: conf.get(name, value) for name, value in LOCAL_FILES.items()}
    return {
        **files,
        CLASS_PATH: os.pathsep.join(entries),
        **({JAVA_OPTIONS: options} if options else {}),
    }


def launch_arguments(settings: Mapping[str, str]) -> dict[str, str]:
    """Those of ``settings`` that a JVM is started with; none of them is a secret.

    Arguments are seen by everybody who may list processes. All other settings are made on the
    session, by the process that has read the installation.
    """
    return {
        name: value
        for name, value in settings.items()
        if name.startswith(_BEFORE) and not is_secret(name)
    }


def conf_folder() -> str:
    """The folder of Spark's settings: that of ``SPARK_CONF_DIR``, else the one of the package."""
    return os.environ.get("SPARK_CONF_DIR") or str(SPARK_CONF)


def spark_home() -> Path:
    """The Spark that spark-submit starts: what ``SPARK_HOME`` names, else the one of pyspark."""
    named = os.environ.get("SPARK_HOME")
    if named:
        return Path(named)
    module_spec = find_spec("pyspark")
    if module_spec is None or module_spec.origin is None:
        raise ModuleNotFoundError("pyspark is not installed: make setup")
    return Path(module_spec.origin).parent
