"""The Java that Spark and the embedded services run on: 17 or 21, or one clear sentence.

Imports the standard library alone, so that `make` can ask before anything is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

from tidemark.errors import ServiceError

SUPPORTED = ("17", "21")


def java_command() -> str:
    """Path of the java that Spark's own scripts would take, once its version is known to do.

    Raises ServiceError when there is none or its version is not supported.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin") if home else None)
    where = f"JAVA_HOME={home}" if home else "the PATH"
    if java is None:
        raise _refused(f"no Java was found by {where}")
    version = major_version(_ask_version(java))
    if version not in SUPPORTED:
        raise _refused(f"{java} (found by {where}) is Java {version}")
    return java


def major_version(answer: str) -> str:
    """What people call the version in an answer of ``java -version``.

    >>> major_version('openjdk version "21.0.4" 2024-07-16')
    '21'
    >>> major_version('java version "1.8.0_392"')
    '8'
    """
    version = re.search(r'version "(?:1\.)?(\d+)', answer)
    return version[1] if version else "of unknown version"


def _ask_version(java: str) -> str:
    answer = subprocess.run(  # noqa: S603  the java of this machine, no input of others
        [java, "-version"], capture_output=True, text=True, check=False
    )
    return answer.stderr + answer.stdout


def _refused(what: str) -> ServiceError:
    return ServiceError(
        what,
        state="nothing was started",
        next_step=f"install Java {' or '.join(SUPPORTED)}, or set JAVA_HOME to one",
    )


if __name__ == "__main__":
    try:
        java_command()
    except ServiceError as error:
        sys.exit(f"tidemark needs Java: {error.what}; {error.next_step}")
