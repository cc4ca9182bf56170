"""Several processes open a catalog that nobody opened before; each is let in."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy import create_engine, make_url, text

from tests.support.postgres import USER
from tidemark.lake.catalog import ensure_namespace, open_catalog
from tidemark.spec import CatalogSpec

OPENERS = 6
NEW_CATALOGS = 20


def new_databases(server: str) -> list[str]:
    """URIs of empty databases of a PostgreSQL server."""
    uri = make_url(server)
    engine = create_engine(uri.set(drivername="postgresql+psycopg2", username=USER))
    names = [f"new_{number}" for number in range(NEW_CATALOGS)]
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for name in names:
            connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return [uri.set(database=name).render_as_string() for name in names]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_new_catalog_is_opened_by_all(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    uris = [f"sqlite:///{tmp_path}/{number}.db" for number in range(NEW_CATALOGS)]
    if kind == "postgres":
        uris = new_databases(request.getfixturevalue("postgres"))
    for uri in uris:
        spec = CatalogSpec(name="lake", uri=uri, warehouse=str(tmp_path), user=USER)
        start = Barrier(OPENERS)

        def opened(number: int, spec: CatalogSpec = spec, start: Barrier = start) -> None:
            start.wait(timeout=30)
            ensure_namespace(open_catalog(spec), f"shop_{number}")

        with ThreadPoolExecutor(OPENERS) as pool:
            list(pool.map(opened, range(OPENERS)))
        found = {name for (name,) in open_catalog(spec).list_namespaces()}
        assert found == {f"shop_{number}" for number in range(OPENERS)}
