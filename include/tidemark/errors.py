"""Every error that Tidemark raises on purpose.

One root, two branches: a `RetryableError` may go away by itself, so a scheduler tries again; a
`TerminalError` needs a person. A message says what happened with the values, how the tables
stand now (``state:``) and what to do (``next:``). No message holds a payload or a secret.
"""

from __future__ import annotations

UNCHANGED = "nothing was written; every table is as it was"
WAITING = "the table stays as it was last published; its records wait in the changelog"
NOT_LANDED = "nothing of this run is landed; every table is as it was"
REFOLD = "fold the table again from the changelog: tidemark refold"
NOT_FOLDED = "the table is not folded; its records wait in the changelog"


class TidemarkError(Exception):
    """Root of all errors raised on purpose."""

    def __init__(self, what: str, *, state: str, next_step: str) -> None:
        super().__init__(what, state, next_step)
        self.what, self.state, self.next_step = what, state, next_step

    def __str__(self) -> str:
        return f"{self.what}\n  state: {self.state}\n  next:  {self.next_step}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.what, self.state, self.next_step)


def _rebuild(kind: type[TidemarkError], what: str, state: str, next_step: str) -> TidemarkError:
    error = kind.__new__(kind)
    TidemarkError.__init__(error, what, state=state, next_step=next_step)
    return error


class RetryableError(TidemarkError):
    """The next attempt may succeed without anybody's help."""


class TerminalError(TidemarkError):
    """Trying again changes nothing until somebody acts."""


class SpecError(TerminalError):
    """A pipeline, installation or suite file is wrong; ``what`` lists every fault of the file."""

    def __init__(self, what: str) -> None:
        super().__init__(
            what, state=UNCHANGED, next_step="fix the file, then check it: tidemark validate"
        )


class NameRefusedError(TerminalError):
    """A name from outside is invalid for a table, column or topic (rule POISON-6, NAME_INVALID)."""

    def __init__(self, kind: str, name: str, reason: str) -> None:
        super().__init__(
            f"{kind} name {name!r} is refused: {reason}",
            state="the table it belongs to is not touched",
            next_step="give the table or column another name in the pipeline file",
        )


class JarsError(TerminalError):
    """A jar is missing or is not the locked one."""


class ServiceError(TerminalError):
    """An embedded service did not start or stop as it should."""


class BrokerUnreachableError(RetryableError):
    """No broker answered."""


class BrokerRefusedError(TerminalError):
    """The broker does not let this client in, or not do what it asks for."""


class RegistryUnreachableError(RetryableError):
    """The schema registry did not answer, so Avro records cannot be read (rule MSG-19)."""


class RegistryRefusedError(TerminalError):
    """The schema registry, or the folder in its place, cannot be asked as the file says."""


class ConnectUnreachableError(RetryableError):
    """Kafka Connect did not answer."""


class ConnectRefusedError(TerminalError):
    """Kafka Connect cannot be asked as the command says."""


class TopicMissingError(TerminalError):
    """A declared topic does not exist."""


class PreflightError(TerminalError):
    """A topic contradicts what the pipeline file declares, so it is refused before reading."""


class DataLossError(TerminalError):
    """Records are gone that were not landed yet, or were replaced since (TOP-2, TOP-5)."""


class TopicRecreatedError(TerminalError):
    """The topic is not the one that was landed before (rules TOP-1 and TOP-4)."""


class CatalogUnreachableError(RetryableError):
    """The catalog did not answer, or stayed locked by somebody else."""


class BranchLostError(TerminalError):
    """The catalog did not keep a branch that it had accepted, so nothing can be staged (PUB-7)."""


class StorageError(RetryableError):
    """Files could not be written or read, for example because the disk is full."""


class WorkerLostError(RetryableError):
    """A Python process of Spark ended amid its task, as when memory runs out."""


class SupersededError(RetryableError):
    """Another run advanced the same state first; this one changed nothing (rule PUB-8)."""


class StoredStateError(TerminalError):
    """What is stored was written by a newer version of Tidemark."""


class ForeignChangeError(TerminalError):
    """Somebody else changed the pipeline's own tables, or erased what they say (PUB-10, PUB-11)."""


class OutcomeUnknownError(RetryableError):
    """The catalog was asked to commit and never answered (rule PUB-5)."""


class AuditBlockedError(TerminalError):
    """Expectations or engine checks failed, so main stays as it was (rule PUB-7)."""


class TableStoppedError(TerminalError):
    """A table cannot be folded further; the message names the statement, column or record."""


class RowsUnknownError(TableStoppedError):
    """Rows of a table may have changed without events, by a statement or with their types.

    The table goes on by itself once each of them was changed or read again (SCHEMA-37).
    """


class SchemaUnknownError(TableStoppedError):
    """Nothing tells the columns of a table: no declaration, DDL or record schema (SCHEMA-1)."""


class UnreadableRecordsError(TerminalError):
    """More unreadable records than the pipeline allows (rule POISON-2)."""


class StatementUnreadableError(TerminalError):
    """A record of a schema-change topic cannot be read, and may concern any table (POISON-3)."""


class AccountingError(TerminalError):
    """The records of a cut do not add up, so it must not be published (rule ACC-4)."""


class SuiteError(TerminalError):
    """An expectation suite cannot be run as written, for example an unknown column."""


class NoAttemptError(TerminalError):
    """The attempt that was to be published is not staged."""


class ActionRefusedError(TerminalError):
    """What a person ordered cannot be done as things stand."""


class EpochSuspectError(TerminalError):
    """Newer changes stand at lower positions: the source's log has started over (rule POS-16)."""


class GateStalledError(TerminalError):
    """Cuts go no further for longer than the pipeline file allows (rule GATE-O1)."""
