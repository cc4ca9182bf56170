"""`tidemark sources`: what a source database can be given, so that its connector tells more."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import typer


def postgres_ddl() -> None:
    """Print SQL that has PostgreSQL tell of DDL.

    Run it once in each database, as a superuser: tidemark sources postgres-ddl | psql shop
    """
    from tidemark.schema.postgres_statements import TRIGGERS

    typer.echo(TRIGGERS.read_text(), nl=False)


VERBS: Mapping[str, Callable[..., None]] = {"postgres-ddl": postgres_ddl}
