"""What every JVM that decodes records is started with."""

from __future__ import annotations

from collections.abc import Mapping

_LONGEST = 16 * 1024 * 1024
AVRO_LIMITS = " ".join(
    f"-Dorg.apache.avro.limits.{what}.maxLength={_LONGEST}"
    for what in ("bytes", "string", "collectionItems")
)
"""Avro takes lengths in a body at their word: one garbled length would fill the heap (POISON-6)."""
OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")


def with_limits(conf: Mapping[str, str]) -> dict[str, str]:
    """``conf``, Spark settings, with the limits in front of the options that it has for its JVMs.

    >>> with_limits({"spark.driver.extraJavaOptions": "-Xss4m"})[OPTIONS[0]].split()[-2:]
    ['-Dorg.apache.avro.limits.collectionItems.maxLength=16777216', '-Xss4m']
    """
    limited = {name: f"{AVRO_LIMITS} {conf.get(name, '')}".rstrip() for name in OPTIONS}
    return {**conf, **limited}
