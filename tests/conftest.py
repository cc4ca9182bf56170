"""What tests of every kind share: the fetched jars and one running broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded.broker import running_broker

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def jars() -> Path:
    """Folder of all jar sets, as `make setup` fills it."""
    return REPOSITORY / ".state" / "jars"


@pytest.fixture(scope="session")
def broker(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a broker that lives as long as the test session; topics are the tests' own."""
    with running_broker(tmp_path_factory.mktemp("broker"), jars) as address:
        yield address
