"""What pyproject.toml asks for is what requirements.txt installs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def locked(file: Path) -> dict[str, str]:
    """Package -> version."""
    return dict(
        line.split(" ")[0].split("==")
        for line in file.read_text().splitlines()
        if "==" in line and not line.startswith((" ", "#"))
    )


LOCKED = locked(ROOT / "requirements.txt")


def test_every_direct_pin_is_locked() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())
    pins = declared["project"]["dependencies"] + declared["dependency-groups"]["dev"]
    assert dict(pin.split("==") for pin in pins).items() <= LOCKED.items()


def test_every_pin_of_the_s3_server_is_locked() -> None:
    pins = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["s3"]
    bare = dict(re.sub(r"\[.*\]", "", pin).split("==") for pin in pins)
    assert bare.items() <= locked(ROOT / "tests" / "cluster" / "requirements.txt").items()


def test_both_owners_of_the_pyspark_folder_have_one_version() -> None:
    assert LOCKED["pyspark"] == LOCKED["pyspark-client"]
