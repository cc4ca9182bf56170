"""Settings of a REST catalog for pyiceberg and Spark, and the time-out of its requests."""

from __future__ import annotations

import socket
from typing import Any

import pytest

import tidemark.lake.catalog
from tidemark.errors import CatalogUnreachableError
from tidemark.lake.catalog import open_catalog
from tidemark.lake.java_catalog import spark_catalog_conf
from tidemark.spec import CatalogSpec

TOKENS = "oauth2-server-uri"
TOKEN = {"token": "hunter2"}


def catalog(uri: str = "https://catalog/api/", **options: Any) -> CatalogSpec:
    given = {"name": "lake", "type": "rest", "uri": uri, "warehouse": "/lake", **options}
    return CatalogSpec.model_validate(given)


def told(spec: CatalogSpec) -> dict[str, str]:
    """Settings of the catalog in Spark, without its name."""
    prefix = "spark.sql.catalog.lake."
    return {
        name.removeprefix(prefix): value
        for name, value in spark_catalog_conf(spec).items()
        if name.startswith(prefix)
    }


def test_who_has_a_credential_asks_the_server_for_tokens() -> None:
    settings = told(catalog(credential="me:hunter2", **{"server-warehouse": "w"}))
    assert (settings["type"], settings["uri"]) == ("rest", "https://catalog/api/")
    assert (settings["credential"], settings["warehouse"]) == ("me:hunter2", "w")
    assert settings[TOKENS] == "https://catalog/api/v1/oauth/tokens"


def test_properties_name_another_server_of_tokens() -> None:
    spec = catalog(credential="me:hunter2", properties={TOKENS: "https://login", "scope": "all"})
    assert (told(spec)[TOKENS], told(spec)["scope"]) == ("https://login", "all")


def test_a_token_is_all_that_it_takes() -> None:
    settings = told(catalog(**TOKEN))
    assert settings.items() >= TOKEN.items()
    assert not {"credential", TOKENS, "warehouse"} & settings.keys()


def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidemark.lake.catalog, "REST_READ_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(CatalogUnreachableError, match="Read timed out"):
            open_catalog(catalog(uri, **TOKEN))
