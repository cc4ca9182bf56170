"""The deployment that pipelines run in: broker, catalog, Spark and the folder for state."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from tidemark.spec.base import BrokenRule, Setting, SpecModel, Text
from tidemark.spec.kafka import KafkaSpec
from tidemark.spec.maintenance import PolicySpec
from tidemark.spec.s3 import SCHEME, S3Spec, empty_is_none

_URIS = "sqlite:////absolute/path.db, postgresql://host:port/database or https://host/path"
_POSTGRES = "postgresql"
_HTTP = ("http", "https")


def _catalog_name(text: str) -> str:
    if re.fullmatch(r"[a-z][a-z0-9_]*", text) is None:
        raise ValueError("a name of a-z, 0-9 and _, the first a letter")
    return text


def _catalog_uri(text: str) -> str:
    uri = urlsplit(text)
    if "@" in uri.netloc:
        raise ValueError("a URI without credentials: they have keys of their own")
    on_disk = uri.scheme == "sqlite" and text.startswith("sqlite:////")
    in_database = uri.scheme == _POSTGRES and uri.hostname and uri.path.strip("/")
    at_server = uri.scheme in _HTTP and uri.hostname and not uri.query
    if not (on_disk or in_database or at_server):
        raise ValueError(_URIS)
    return text


def _warehouse(text: str) -> str:
    if not text.startswith("/") and "://" not in text:
        raise ValueError("an absolute path, or a URI such as s3://bucket/prefix")
    return text


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise ValueError("an absolute path")
    return path


Folder = Annotated[Path, AfterValidator(_absolute)]


class CatalogType(StrEnum):
    """Who keeps the catalog."""

    SQL = "sql"
    REST = "rest"


class CatalogSpec(SpecModel):
    """The Iceberg catalog, shared by Spark and pyiceberg."""

    name: Annotated[str, AfterValidator(_catalog_name)] = Field(
        description="the catalog's name in Spark and in an SQL database"
    )
    type: CatalogType = Field(
        default=CatalogType.SQL, description="an SQL database, or a server of Iceberg's REST API"
    )
    uri: Annotated[str, AfterValidator(_catalog_uri)] = Field(description=_URIS)
    user: Annotated[str | None, BeforeValidator(empty_is_none)] = Field(
        default=None, description="user of the database"
    )
    password: Annotated[SecretStr | None, BeforeValidator(empty_is_none)] = Field(
        default=None, description="password of the database, by reference"
    )
    credential: Annotated[SecretStr | None, BeforeValidator(empty_is_none)] = Field(
        default=None,
        description="client-id:secret for OAuth2 at a REST server, by reference",
    )
    token: Annotated[SecretStr | None, BeforeValidator(empty_is_none)] = Field(
        default=None, description="bearer token for a REST server, by reference"
    )
    server_warehouse: Text | None = Field(
        default=None, description="what a REST server calls the warehouse, if it has several"
    )
    warehouse: Annotated[str, AfterValidator(_warehouse)] = Field(
        description="where tables keep their files: absolute path or s3://bucket/prefix"
    )
    s3: S3Spec | None = Field(
        default=None, description="the store of an s3:// warehouse; without it, Amazon's"
    )
    properties: Mapping[str, Setting] = Field(
        default={}, repr=False, description="further catalog and FileIO properties of Iceberg"
    )

    def broken_rules(self) -> tuple[BrokenRule, ...]:
        """A database server wants to know who asks; a store belongs to a warehouse on it."""
        broken = []
        if self.uri.startswith(_POSTGRES) and self.user is None:
            who = "the database user for a PostgreSQL catalog"
            broken.append(BrokenRule(("user",), "nothing", who))
        is_rest, is_http = self.type is CatalogType.REST, self.uri.startswith(_HTTP)
        if is_rest != is_http:
            wanted = "https://host/path" if is_rest else "the URI of a database, or type: rest"
            broken.append(BrokenRule(("uri",), repr(self.uri), wanted))
        of_others = ("user", "password") if is_rest else ("credential", "token", "server_warehouse")
        broken += [
            BrokenRule((name.replace("_", "-"),), "a value", f"nothing for type: {self.type}")
            for name in of_others
            if getattr(self, name) is not None
        ]
        if self.credential is not None and self.token is not None:
            broken.append(BrokenRule(("token",), "a token", "a credential or a token, not both"))
        if self.s3 is not None and not self.is_on_s3:
            broken.append(BrokenRule(("s3",), "a store", f"a warehouse that begins with {SCHEME}"))
        return tuple(broken)

    @property
    def is_on_s3(self) -> bool:
        """Whether the files of tables are in a store that speaks S3."""
        return self.warehouse.startswith(SCHEME)


class SparkSpec(SpecModel):
    """Spark settings of the deployment."""

    jars: Folder = Field(description="folder with the locked jars")
    conf: Mapping[str, Setting] = Field(default={}, repr=False, description="spark.* settings")

    def broken_rules(self) -> tuple[BrokenRule, ...]:
        """Only Spark's own settings reach a session."""
        return tuple(
            BrokenRule(("conf", name), repr(name), "a setting that begins with spark.")
            for name in self.conf
            if not name.startswith("spark.")
        )


class InstallationSpec(SpecModel):
    """One deployment; pipelines say what is folded, this says with which services."""

    kafka: KafkaSpec = Field(description="the broker")
    catalog: CatalogSpec = Field(description="the Iceberg catalog")
    spark: SparkSpec = Field(description="Spark")
    maintenance: PolicySpec = Field(
        default=PolicySpec(),
        description="how tables are maintained where a pipeline does not say otherwise",
    )
    state: Folder = Field(
        description="folder for Data Docs and result files, for driver and Airflow"
    )
