"""A lake as on a cluster: Iceberg's catalog in PostgreSQL, the warehouse in a store (S3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.postgres import make_catalog_user
from tests.support.s3 import ACCESS_KEY, REGION, SECRET_KEY, Store
from tidemark.spec import InstallationSpec

PASSWORD = "secret-of-the-catalog"  # noqa: S105  the server lets everybody in, and says nothing
SECRETS = (PASSWORD, SECRET_KEY)


@dataclass(frozen=True)
class SharedLake:
    """A catalog that is new, its user, and the store; uri: ``postgresql://host:port/database``."""

    uri: str
    user: str
    store: Store

    @classmethod
    def make(cls, uri: str, store: Store) -> SharedLake:
        """Iceberg's tables in the database ``uri``, and a user who may write to them."""
        return cls(uri, make_catalog_user(uri), store)

    @property
    def warehouse(self) -> str:
        """Where the tables of the catalog are."""
        return f"s3://{self.store.bucket}/warehouse"

    def installation(
        self, servers: str, jars: Path, state: Path, conf: Mapping[str, str]
    ) -> InstallationSpec:
        """An installation on this lake; conf: of its Spark session."""
        return InstallationSpec.model_validate(
            {
                "kafka": {"bootstrap-servers": servers},
                "catalog": {
                    "name": "lake",
                    "uri": self.uri,
                    "user": self.user,
                    "password": PASSWORD,
                    "warehouse": self.warehouse,
                    "s3": {
                        "endpoint": self.store.endpoint,
                        "region": REGION,
                        "path-style": True,
                        "access-key-id": ACCESS_KEY,
                        "secret-access-key": SECRET_KEY,
                    },
                },
                "spark": {"jars": str(jars / "spark"), "conf": dict(conf)},
                "state": str(state),
            }
        )
