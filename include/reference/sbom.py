"""Add the jars to a bill of materials of the Python packages: ``python -m reference.sbom FILE``.

FILE is CycloneDX as JSON, which cyclonedx-py wrote; it is rewritten. Each jar has the SHA-256 of
the lock, and those that are declared themselves their Maven coordinates.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tidemark.jars.fetch import DECLARATION, LOCK, JarSet, read_lock

_FILE = re.compile(r"(?P<name>.+?)-(?P<version>\d[^/]*)\.jar")


def with_jars(bill: Mapping[str, Any]) -> dict[str, Any]:
    """``bill`` with every locked jar as a component."""
    return {**bill, "components": [*bill.get("components", ()), *_jars()]}


def _jars() -> Iterator[dict[str, Any]]:
    declared = _coordinates()
    for jar_set in JarSet:
        for file, digest in read_lock(jar_set, LOCK).items():
            parts = _FILE.fullmatch(file)
            name, version = (file, "") if parts is None else parts.group("name", "version")
            jar: dict[str, Any] = {
                "type": "library",
                "bom-ref": f"{jar_set}/{file}",
                "name": name,
                "version": version,
                "hashes": [{"alg": "SHA-256", "content": digest}],
                "properties": [{"name": "tidemark:jars", "value": str(jar_set)}],
            }
            group = declared.get((name, version))
            if group is not None:
                jar |= {"group": group, "purl": f"pkg:maven/{group}/{name}@{version}?type=jar"}
            yield jar


def _coordinates() -> dict[tuple[str, str], str]:
    """Name and version of each declared jar -> its group."""
    declared = ElementTree.parse(DECLARATION).iter("dependency")  # noqa: S314  our own file
    return {(one.attrib["name"], one.attrib["rev"]): one.attrib["org"] for one in declared}


if __name__ == "__main__":
    file = Path(sys.argv[1])
    bill = with_jars(json.loads(file.read_text("utf-8")))
    file.write_text(json.dumps(bill, indent=2) + "\n", "utf-8")
