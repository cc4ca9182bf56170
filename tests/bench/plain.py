"""The MERGE of every guide: merge-on-read, in a session with Spark's own join settings."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from tidemark.model.columns import STAGED_OP
from tidemark.model.event import Op
from tidemark.model.names import quote
from tidemark.runs.session import SESSION_CONF

TUNED = ("spark.sql.optimizer.", "spark.sql.adaptive.", "spark.sql.autoBroadcastJoinThreshold")
VIEW = "changes"


def plain_session(session: SparkSession) -> SparkSession:
    """A session of the same application with Spark's own settings for joins and shuffles."""
    plain = session.newSession()
    for name in SESSION_CONF:
        if name.startswith(TUNED):
            plain.conf.unset(name)
    return plain


def merge_changes(
    session: SparkSession, target: Sequence[str], key: str, columns: Sequence[str]
) -> None:
    """Fold the temporary view `VIEW`, one row per key; nothing guards against older changes."""
    updates = ", ".join(f"{quote(name)} = s.{quote(name)}" for name in columns)
    names = ", ".join(quote(name) for name in columns)
    values = ", ".join(f"s.{quote(name)}" for name in columns)
    session.sql(
        f"MERGE INTO {quote(*target)} t USING {VIEW} s ON t.{quote(key)} = s.{quote(key)} "  # noqa: S608  names pass quote()
        f"WHEN MATCHED AND s.{STAGED_OP} = '{Op.DELETE.value}' THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {updates} "
        f"WHEN NOT MATCHED AND s.{STAGED_OP} = '{Op.UPSERT.value}' "
        f"THEN INSERT ({names}) VALUES ({values})"
    )
