"""The catalog as Spark opens it, by the settings of a session."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import make_url

from tidemark.lake.files import java_file_io
from tidemark.spec import CatalogSpec, CatalogType

SQLITE_TIMEOUT_SECONDS = 30
REST_CONNECT_SECONDS, REST_READ_SECONDS = 10, 60
"""How long a server may take to be there, and to answer."""


def spark_catalog_conf(spec: CatalogSpec) -> Mapping[str, str]:
    """Session settings that give Spark the same catalog under the same name."""
    prefix = f"spark.sql.catalog.{spec.name}"
    settings = _rest_in_java(spec) if spec.type is CatalogType.REST else _jdbc(spec)
    settings = {"cache-enabled": "false", **settings, **java_file_io(spec)}
    return {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        **{f"{prefix}.{name}": value for name, value in settings.items()},
    }


def _rest_in_java(spec: CatalogSpec) -> dict[str, str]:
    return {
        "type": "rest",
        "uri": spec.uri,
        **rest_settings(spec),
        "rest.client.connection-timeout-ms": str(REST_CONNECT_SECONDS * 1000),
        "rest.client.socket-timeout-ms": str(REST_READ_SECONDS * 1000),
        # Else each scan and each commit is one more request.
        "rest-metrics-reporting-enabled": "false",
    }


def _jdbc(spec: CatalogSpec) -> dict[str, str]:
    url = make_url(spec.uri)
    settings = {
        "type": "jdbc",
        "jdbc.schema-version": "V1",
        "warehouse": spec.warehouse,
    }
    if url.get_backend_name() == "sqlite":
        return settings | {
            "uri": f"jdbc:sqlite:{url.database}",
            "jdbc.busy_timeout": str(SQLITE_TIMEOUT_SECONDS * 1000),
        }
    return settings | {
        "uri": f"jdbc:postgresql://{url.host}:{url.port or 5432}/{url.database}",
        "jdbc.user": spec.user or "",
        "jdbc.password": spec.password.get_secret_value() if spec.password else "",
    }


def rest_settings(spec: CatalogSpec) -> dict[str, str]:
    """What pyiceberg and Iceberg in Java call alike.

    Tokens come from the server itself, unless the properties name another one.
    """
    settings = {}
    if spec.server_warehouse is not None:
        settings["warehouse"] = spec.server_warehouse
    if spec.token is not None:
        settings["token"] = spec.token.get_secret_value()
    if spec.credential is not None:
        settings["credential"] = spec.credential.get_secret_value()
        settings["oauth2-server-uri"] = f"{spec.uri.rstrip('/')}/v1/oauth/tokens"
    return settings
