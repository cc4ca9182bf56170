"""What Spark, Iceberg and the disk raise inside the JVM, translated once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from tidemark.errors import (
    UNCHANGED,
    BrokerUnreachableError,
    CatalogUnreachableError,
    DataLossError,
    OutcomeUnknownError,
    StorageError,
    SupersededError,
    TidemarkError,
    WorkerLostError,
)

AGAIN = "run again; nothing is lost"
KNOWN: Mapping[str, tuple[type[TidemarkError], str, str]] = {
    "No space left on device": (StorageError, "the disk is full", "make room, then run again"),
    "iceberg.exceptions.NotFoundException": (
        StorageError,
        "a file that a table names is not there, or not where every executor reaches it",
        "look who deletes files of the warehouse, then run again",
    ),
    "CommitStateUnknownException": (
        OutcomeUnknownError,
        "the catalog did not say whether a commit happened",
        "run again: the next run looks at what main holds before it does anything",
    ),
    "CommitFailedException": (SupersededError, "another writer changed the table first", AGAIN),
    "SQLITE_BUSY": (
        CatalogUnreachableError,
        "the catalog's database stayed locked",
        "find who holds the lock, then run again",
    ),
    "UncheckedSQLException": (
        CatalogUnreachableError,
        "the catalog's database did not answer",
        "look whether it runs, then run again",
    ),
    **dict.fromkeys(
        (
            "iceberg.exceptions.RESTException",
            "iceberg.exceptions.ServiceFailureException",
            "iceberg.exceptions.ServiceUnavailableException",
            "iceberg.exceptions.NotAuthorizedException",
            "iceberg.exceptions.ForbiddenException",
        ),
        (
            CatalogUnreachableError,
            "the catalog's server did not serve",
            "look whether it runs and what it lets these credentials do, then run again",
        ),
    ),
    "OffsetOutOfRangeException": (
        DataLossError,
        "records were deleted from the topic while they were read",
        "the tables of this topic need a new snapshot at the source",
    ),
    "Cannot fetch offset": (
        DataLossError,
        "records were deleted from the topic while they were read",
        "the tables of this topic need a new snapshot at the source",
    ),
    "RecordsGoneError": (
        DataLossError,
        "records were deleted from the topic while they were read",
        "the tables of this topic need a new snapshot at the source",
    ),
    **dict.fromkeys(
        (
            "org.apache.kafka.common.errors.TimeoutException",
            "Cannot fetch record for offset",
            "SilentBrokerError",
            "cimpl.KafkaException",
        ),
        (
            BrokerUnreachableError,
            "the broker did not answer",
            "look whether it runs, then run again",
        ),
    ),
    **dict.fromkeys(
        (
            "Python worker exited unexpectedly",
            "Python worker failed to connect back",
            "PythonWorkerFactory",  # where a worker ends before it has told that it is there
            "java.net.SocketException: Connection reset",
        ),
        (
            WorkerLostError,
            "a Python worker of Spark ended before its task did",
            "run again; if this repeats, look whether the machine ran out of memory",
        ),
    ),
}

_REASONS = re.compile(r"(?:RecordsGoneError|SilentBrokerError|cimpl\.KafkaException): (?P<why>.+)")
"""What says more than that it happened, and of which place."""


@contextmanager
def spark_errors(doing: str, *others: type[Exception]) -> Iterator[None]:
    """Translate what is known; what is not is a defect and passes as it is.

    others: what a task raises where no Spark stands between, as the driver does its work.
    """
    try:
        yield
    except (PySparkException, Py4JError, *others) as error:
        text = f"{type(error).__module__}.{type(error).__qualname__}: {error}"
        for mark, (kind, what, next_step) in KNOWN.items():
            if mark in text:
                reason = _REASONS.search(text)
                why = f": {reason['why']}" if reason else ""
                raise kind(
                    f"{what}, during {doing}{why}", state=UNCHANGED, next_step=next_step
                ) from error
        raise
