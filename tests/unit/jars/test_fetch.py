"""Nothing runs on a jar that is not the locked one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tidemark.errors import JarsError
from tidemark.jars.fetch import DECLARATION, JarSet, fetch_jars, read_lock, verify_jars


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """Lock of a jars folder beside it that holds two good jars of the spark set."""
    folder = tmp_path / "jars" / "spark"
    folder.mkdir(parents=True)
    lines = []
    for name in ("a-1.0.jar", "b-2.0.jar"):
        (folder / name).write_bytes(name.encode())
        lines.append(f"{hashlib.sha256(name.encode()).hexdigest()}  spark/{name}\n")
    path = tmp_path / "jars.lock"
    path.write_text("".join(lines))
    return path


def test_verified_jars_are_a_class_path(lock: Path) -> None:
    jars = lock.parent / "jars"
    expected = [jars / "spark" / "a-1.0.jar", jars / "spark" / "b-2.0.jar"]
    assert verify_jars(JarSet.SPARK, jars, lock=lock) == expected


def test_fetched_jars_are_not_fetched_again(lock: Path) -> None:
    jars = lock.parent / "jars"
    before = (jars / "spark").stat().st_ino
    assert fetch_jars(JarSet.SPARK, jars, lock=lock) == jars / "spark"
    assert (jars / "spark").stat().st_ino == before


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        pytest.param(
            lambda spark: (spark / "b-2.0.jar").write_bytes(b"other"),
            "b-2.0.jar has SHA-256 d9298a10",
            id="another file under a locked name",
        ),
        pytest.param(
            lambda spark: (spark / "a-1.0.jar").unlink(), "a-1.0.jar is missing", id="missing"
        ),
        pytest.param(
            lambda spark: (spark / "c-1.0.jar").touch(), "c-1.0.jar is not locked", id="stranger"
        ),
    ],
)
def test_damage_is_refused(lock: Path, damage: Callable[[Path], object], complaint: str) -> None:
    jars = lock.parent / "jars"
    damage(jars / "spark")
    with pytest.raises(JarsError) as refusal:
        verify_jars(JarSet.SPARK, jars, lock=lock)
    assert complaint in refusal.value.what
    assert "make setup" in refusal.value.next_step


@pytest.mark.parametrize("jar_set", list(JarSet))
def test_lock_holds_every_declared_jar(jar_set: JarSet) -> None:
    declared = {
        f"{dependency.attrib['name']}-{dependency.attrib['rev']}.jar"
        for dependency in ElementTree.parse(DECLARATION).iter("dependency")  # noqa: S314  our file
        if dependency.attrib["conf"].startswith(jar_set)
    }
    assert declared <= read_lock(jar_set).keys()
