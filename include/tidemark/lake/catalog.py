"""One catalog block, rendered for pyiceberg (no JVM) and for Spark; a pipeline's own tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, NamespaceAlreadyExistsError
from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError, IntegrityError

from tidemark.errors import (
    UNCHANGED,
    CatalogUnreachableError,
    OutcomeUnknownError,
    StorageError,
    SupersededError,
)
from tidemark.lake.files import java_file_io, python_file_io
from tidemark.model.names import PipelineName
from tidemark.spec import CatalogSpec

SQLITE_TIMEOUT_SECONDS = 30
POSTGRES_LOCK_SECONDS = 30
"""How long a commit waits for one that is not finished."""
POSTGRES_IDLE_SECONDS = 60
"""How long a transaction waits for its client; then it is undone, and its locks go."""


@dataclass(frozen=True, order=True, slots=True)
class TableId:
    """An Iceberg table: namespace and table."""

    namespace: str
    table: str

    @property
    def parts(self) -> tuple[str, str]:
        """As pyiceberg takes it."""
        return self.namespace, self.table

    def __str__(self) -> str:
        return f"{self.namespace}.{self.table}"


@dataclass(frozen=True, slots=True)
class SystemTables:
    """The tables in which a pipeline keeps its records, its cuts and its verdicts.

    quarantine: what was quarantined of the records. schemas: of an Avro source, those that its
    records were written with.
    """

    changelog: TableId
    ledger: TableId
    verdicts: TableId
    quarantine: TableId
    schemas: TableId

    @classmethod
    def of(cls, pipeline: PipelineName) -> SystemTables:
        """Those of ``pipeline``; the namespace is its own."""
        namespace = f"tidemark_{pipeline}"
        return cls(
            TableId(namespace, "changelog"),
            TableId(namespace, "ledger"),
            TableId(namespace, "verdicts"),
            TableId(namespace, "quarantine"),
            TableId(namespace, "schemas"),
        )

    @property
    def all(self) -> tuple[TableId, ...]:
        """Each of them; it need not be there."""
        return self.changelog, self.ledger, self.verdicts, self.quarantine, self.schemas


@contextmanager
def catalog_errors(doing: str) -> Iterator[None]:
    """Translate what the catalog, its database and the warehouse raise, once, at the edge."""
    try:
        yield
    except DBAPIError as error:
        raise CatalogUnreachableError(
            f"the catalog's database did not serve {doing}: {type(error.orig).__name__}: "
            f"{error.orig}",
            state=UNCHANGED,
            next_step="look whether the database runs and who holds its lock, then run again",
        ) from error
    except CommitFailedException as error:
        raise SupersededError(
            f"another writer changed the table during {doing}: {error}",
            state=UNCHANGED,
            next_step="nothing to do: the next run starts from what the other writer left",
        ) from error
    except OSError as error:  # of the warehouse's file system, or of its object store
        raise StorageError(
            f"a file of the warehouse could not be read or written during {doing}: {error}",
            state=UNCHANGED,
            next_step="look whether the warehouse can be reached and who deletes its files, then "
            "run again",
        ) from error


@contextmanager
def commit_errors(doing: str) -> Iterator[None]:
    """As `catalog_errors`, for a commit of pyiceberg, which keeps its files unless it was refused.

    `OutcomeUnknownError` when the connection broke: the database may finish what it was asked.
    """
    with catalog_errors(doing):
        try:
            yield
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            raise OutcomeUnknownError(
                f"the catalog did not answer during {doing}: {error.orig}",
                state="it is done or not, now or soon; nothing was deleted",
                next_step="when the catalog is back, run again: what is not published is recreated",
            ) from error


def open_catalog(spec: CatalogSpec) -> SqlCatalog:
    """The catalog for use without a JVM."""
    url = make_url(spec.uri)
    if url.get_backend_name() == "sqlite":
        url = url.update_query_dict({"timeout": str(SQLITE_TIMEOUT_SECONDS)})
    else:
        password = spec.password.get_secret_value() if spec.password else None
        url = url.set(drivername="postgresql+psycopg2", username=spec.user, password=password)
        url = url.update_query_dict({"options": _postgres_options()})
    with catalog_errors("the opening of the catalog"):
        return SqlCatalog(
            spec.name,
            uri=url.render_as_string(hide_password=False),
            warehouse=spec.warehouse,
            pool_pre_ping="true",
            **python_file_io(spec),
        )


def _postgres_options() -> str:
    seconds = {
        "lock_timeout": POSTGRES_LOCK_SECONDS,
        "idle_in_transaction_session_timeout": POSTGRES_IDLE_SECONDS,
    }
    return " ".join(f"-c {name}={value}s" for name, value in seconds.items())


def ensure_namespace(catalog: SqlCatalog, namespace: str) -> None:
    """Make ``namespace`` unless it is there; several may do so at once."""
    try:
        catalog.create_namespace_if_not_exists(namespace)
    except (NamespaceAlreadyExistsError, IntegrityError):
        return


def spark_catalog_conf(spec: CatalogSpec) -> Mapping[str, str]:
    """Session settings that give Spark the same catalog under the same name."""
    url = make_url(spec.uri)
    prefix = f"spark.sql.catalog.{spec.name}"
    conf = {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.type": "jdbc",
        f"{prefix}.jdbc.schema-version": "V1",
        f"{prefix}.warehouse": spec.warehouse,
        f"{prefix}.cache-enabled": "false",
        **{f"{prefix}.{name}": value for name, value in java_file_io(spec).items()},
    }
    if url.get_backend_name() == "sqlite":
        conf[f"{prefix}.uri"] = f"jdbc:sqlite:{url.database}"
        conf[f"{prefix}.jdbc.busy_timeout"] = str(SQLITE_TIMEOUT_SECONDS * 1000)
    else:
        conf[f"{prefix}.uri"] = f"jdbc:postgresql://{url.host}:{url.port or 5432}/{url.database}"
        conf[f"{prefix}.jdbc.user"] = spec.user or ""
        password = spec.password.get_secret_value() if spec.password else ""
        conf[f"{prefix}.jdbc.password"] = password
    return conf
