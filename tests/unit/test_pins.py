"""What pyproject.toml asks for is what requirements.txt installs, and leaves room for others."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def locked(file: Path) -> dict[str, str]:
    """Package -> version."""
    return dict(
        line.split(" ")[0].split("==")
        for line in file.read_text().splitlines()
        if "==" in line and not line.startswith((" ", "#"))
    )


LOCKED = locked(ROOT / "requirements.txt")


DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = DECLARED["project"]["optional-dependencies"]


def test_every_pin_of_the_tools_is_locked() -> None:
    pins = DECLARED["dependency-groups"]["dev"]
    assert dict(pin.split("==") for pin in pins).items() <= LOCKED.items()


def test_what_is_locked_is_what_a_user_may_have() -> None:
    wanted = DECLARED["project"]["dependencies"] + [
        each for name, extra in EXTRAS.items() if name != "all" for each in extra
    ]
    for each in map(Requirement, wanted):
        assert each.specifier.contains(LOCKED[each.name]), f"{each}, locked is {LOCKED[each.name]}"


def test_all_is_every_extra() -> None:
    (everything,) = map(Requirement, EXTRAS["all"])
    assert everything.extras == EXTRAS.keys() - {"all"}


def test_a_user_is_bound_to_no_exact_version() -> None:
    """An Airflow that is there already has versions of its own."""
    assert "==" not in "".join(DECLARED["project"]["dependencies"] + sum(EXTRAS.values(), []))


def test_every_pin_of_the_s3_server_is_locked() -> None:
    pins = DECLARED["dependency-groups"]["s3"]
    bare = dict(re.sub(r"\[.*\]", "", pin).split("==") for pin in pins)
    assert bare.items() <= locked(ROOT / "tests" / "cluster" / "requirements.txt").items()


@pytest.mark.parametrize("group", ["docs", "audit"])
def test_pins_of_environments_apart_are_locked(group: str) -> None:
    pins = DECLARED["dependency-groups"][group]
    folder = ROOT / "include" / "reference" / ("" if group == "docs" else group)
    assert (
        dict(pin.split("==") for pin in pins).items() <= locked(folder / "requirements.txt").items()
    )


def test_both_owners_of_the_pyspark_folder_have_one_version() -> None:
    assert LOCKED["pyspark"] == LOCKED["pyspark-client"]
