"""The bill of materials names every jar that is locked, as the file that it is."""

from __future__ import annotations

from reference.sbom import with_jars
from tidemark.jars.fetch import JarSet, read_lock


def test_every_locked_jar_is_a_component() -> None:
    package = {"type": "library", "name": "requests", "version": "1"}
    bill = with_jars({"bomFormat": "CycloneDX", "components": [package]})
    first, *jars = bill["components"]
    assert (bill["bomFormat"], first) == ("CycloneDX", package)
    locked = {f"{of}/{file}": digest for of in JarSet for file, digest in read_lock(of).items()}
    assert {jar["bom-ref"]: jar["hashes"][0]["content"] for jar in jars} == locked
    assert all(jar["version"] and jar["name"] for jar in jars)


def test_jars_that_are_declared_have_their_coordinates() -> None:
    coordinates = {jar.get("purl") for jar in with_jars({})["components"]}
    assert "pkg:maven/org.xerial/sqlite-jdbc@3.50.3.0?type=jar" in coordinates
    assert "pkg:maven/org.apache.kafka/kafka_2.13@4.1.0?type=jar" in coordinates
