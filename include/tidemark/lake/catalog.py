"""The catalog as pyiceberg opens it, without a JVM; a pipeline's own tables."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import IcebergNamespaceProperties, IcebergTables, SqlCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NamespaceAlreadyExistsError,
    RESTError,
    ServerError,
    ServiceUnavailableError,
)
from pyiceberg.io import FileIO
from pyiceberg.table import StagedTable, Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableRequirement, TableUpdate
from pyiceberg.typedef import Identifier
from requests import PreparedRequest, RequestException, Response, Session
from requests.adapters import HTTPAdapter
from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError, IntegrityError

from tidemark.errors import (
    UNCHANGED,
    CatalogUnreachableError,
    OutcomeUnknownError,
    StorageError,
    SupersededError,
)
from tidemark.lake.files import python_file_io
from tidemark.lake.java_catalog import (
    REST_CONNECT_SECONDS,
    REST_READ_SECONDS,
    SQLITE_TIMEOUT_SECONDS,
    rest_settings,
)
from tidemark.lake.metadata_times import in_time_order
from tidemark.model.names import PipelineName
from tidemark.spec import CatalogSpec, CatalogType

POSTGRES_LOCK_SECONDS = 30
"""How long a commit waits for one that is not finished."""
POSTGRES_IDLE_SECONDS = 60
"""How long a transaction waits for its client; then it is undone, and its locks go."""
FOLDER = "tidemark.warehouse"
"""The property of an opened catalog that says where tables keep their files; ``warehouse`` is, for
a REST server, what it calls a warehouse of its own."""
UNANSWERED = (CommitStateUnknownException, ServerError, ServiceUnavailableError, RequestException)
"""What a commit raises that a REST server may carry out all the same."""


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
    except (RESTError, RequestException) as error:
        raise CatalogUnreachableError(
            f"the catalog's server did not serve {doing}: {type(error).__name__}: {error}",
            state=UNCHANGED,
            next_step="look whether it runs and what it lets these credentials do, then run again",
        ) from error
    except CommitFailedException as error:
        raise SupersededError(
            f"another writer changed the table during {doing}: {error}",
            state=UNCHANGED,
            next_step="nothing to do: the next run starts from what the other writer left",
        ) from error
    except OSError as error:  # of the warehouse's file system, or of its object store
        if error.errno == errno.ENOSPC:
            raise StorageError(
                f"the disk is full, during {doing}",
                state=UNCHANGED,
                next_step="make room, then run again",
            ) from error
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
            raise _unanswered(doing, error.orig) from error
        except UNANSWERED as error:
            raise _unanswered(doing, error) from error


def _unanswered(doing: str, error: BaseException | None) -> OutcomeUnknownError:
    return OutcomeUnknownError(
        f"the catalog did not answer during {doing}: {error}",
        state="it is done or not, now or soon; nothing was deleted",
        next_step="when the catalog is back, run again: what is not published is recreated",
    )


def open_catalog(spec: CatalogSpec) -> Catalog:
    """The catalog for use without a JVM."""
    files = {**python_file_io(spec), FOLDER: spec.warehouse}
    with catalog_errors("the opening of the catalog"):
        if spec.type is CatalogType.REST:
            settings = {**rest_settings(spec), **files}
            return _TimedRestCatalog(spec.name, uri=spec.uri, **settings)
        return _open_sql_catalog(
            spec.name, uri=_sql_uri(spec), warehouse=spec.warehouse, pool_pre_ping="true", **files
        )


def _open_sql_catalog(name: str, **settings: str) -> SqlCatalog:
    """Several may open a new catalog at once: one is refused each table that another creates."""
    for _ in (IcebergTables, IcebergNamespaceProperties):
        try:
            return _OrderedSqlCatalog(name, **settings)
        except DBAPIError as error:
            if "CREATE TABLE" not in (error.statement or ""):
                raise
    return _OrderedSqlCatalog(name, **settings)


class _OrderedSqlCatalog(SqlCatalog):
    """Nobody but its clients stamps what is written here, and their clocks differ."""

    def _update_and_stage_table(
        self,
        current_table: Table | None,
        table_identifier: Identifier,
        requirements: tuple[TableRequirement, ...],
        updates: tuple[TableUpdate, ...],
    ) -> StagedTable:
        staged = super()._update_and_stage_table(
            current_table, table_identifier, requirements, updates
        )
        least_ms = current_table.metadata.last_updated_ms if current_table is not None else 0
        staged.metadata = in_time_order(staged.metadata, least_ms)
        return staged


def mend_times(catalog: Catalog, name: TableId) -> None:
    """Sort the logs of a table by time where an earlier version did not: Java cannot read it.

    A server stamps its tables itself, by one clock.
    """
    if not isinstance(catalog, SqlCatalog):
        return
    with commit_errors(f"the sorting of the logs of {name}"):
        table = catalog.load_table(name.parts)
        if in_time_order(table.metadata) != table.metadata:
            catalog.commit_table(table, (), ())


def folder_of(catalog: Catalog) -> str:
    """Where tables keep their files, without a slash at its end."""
    return str(catalog.properties[FOLDER]).rstrip("/")


class _Timed(HTTPAdapter):
    """Gives up on a server that does not answer; `requests` waits for ever by itself."""

    def send(self, request: PreparedRequest, *args: Any, **options: Any) -> Response:
        options["timeout"] = (REST_CONNECT_SECONDS, REST_READ_SECONDS)
        return super().send(request, *args, **options)


class _TimedRestCatalog(RestCatalog):
    @staticmethod
    def _delete_old_metadata(io: FileIO, base: TableMetadata, metadata: TableMetadata) -> None:
        """Files of metadata are the server's, which removes them itself."""

    def _create_session(self) -> Session:
        session = super()._create_session()
        for scheme in ("http://", "https://"):
            session.mount(scheme, _Timed())
        return session


def _sql_uri(spec: CatalogSpec) -> str:
    url = make_url(spec.uri)
    if url.get_backend_name() == "sqlite":
        url = url.update_query_dict({"timeout": str(SQLITE_TIMEOUT_SECONDS)})
    else:
        password = spec.password.get_secret_value() if spec.password else None
        url = url.set(drivername="postgresql+psycopg2", username=spec.user, password=password)
        url = url.update_query_dict({"options": _postgres_options()})
    return url.render_as_string(hide_password=False)


def _postgres_options() -> str:
    seconds = {
        "lock_timeout": POSTGRES_LOCK_SECONDS,
        "idle_in_transaction_session_timeout": POSTGRES_IDLE_SECONDS,
    }
    return " ".join(f"-c {name}={value}s" for name, value in seconds.items())


def ensure_namespace(catalog: Catalog, namespace: str) -> None:
    """Make ``namespace`` unless it is there; several may do so at once."""
    try:
        catalog.create_namespace_if_not_exists(namespace)
    except (NamespaceAlreadyExistsError, IntegrityError, ServerError):
        if not catalog.namespace_exists(namespace):
            raise
