"""A pipeline, whole: what is folded from where to where, how often, and who answers for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from tidemark.log import get_logger
from tidemark.model.modes import Untyped
from tidemark.model.names import PipelineName, TableName
from tidemark.model.renames import Rename
from tidemark.model.target_mode import TargetMode
from tidemark.spec.base import BrokenRule, IcebergName, Setting, SpecModel, Text
from tidemark.spec.changelog import ChangelogSpec
from tidemark.spec.duration import Duration, milliseconds
from tidemark.spec.maintenance import MaintenanceSpec
from tidemark.spec.references import is_secret
from tidemark.spec.schedule import Cron
from tidemark.spec.source import SourceSpec
from tidemark.spec.table import TableSpec

log = get_logger()

RESERVED_NAMESPACE = "tidemark_"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


class OtherTables(StrEnum):
    """What becomes of tables of the stream that the file does not declare."""

    IGNORE = "ignore"
    FOLLOW = "follow"


class OnDrop(StrEnum):
    """What becomes of the rows of a target whose table the source drops."""

    KEEP = "keep"
    EMPTY = "empty"


class OnStop(StrEnum):
    """What becomes of a table that goes on once all its rows were read again (SCHEMA-37)."""

    ASK = "ask"
    RESYNC = "resync"


class Consistency(StrEnum):
    """What is published together."""

    PIPELINE = "pipeline"
    TABLE = "table"


class Approval(StrEnum):
    """Who decides about a cut whose expectations failed."""

    NEVER = "never"
    ASK = "ask"


class PublishSpec(SpecModel):
    """How a cut becomes visible."""

    consistency: Consistency = Field(
        default=Consistency.PIPELINE,
        description="pipeline: a table that cannot be folded stops all; table: the others go on. "
        "A blocking audit holds the whole cut in both",
    )
    approval: Approval = Field(
        default=Approval.NEVER,
        description="a cut that critical expectations block: never fails its run, ask has the run "
        "wait in Airflow until somebody publishes or discards the cut",
    )


class Reconciling(StrEnum):
    """Who says that what a new snapshot did not contain is gone."""

    AUTO = "auto"
    ASK = "ask"


class SnapshotsSpec(SpecModel):
    """What becomes of rows that a new snapshot of the whole source does not contain."""

    reconcile: Reconciling = Field(
        default=Reconciling.AUTO,
        description="auto: they are removed once the snapshot is complete; ask: only when an "
        "operator confirms it with tidemark resync",
    )
    max_removed: float = Field(
        default=0.2,
        ge=0,
        le=1,
        description="share of a table's rows above which an operator has to confirm in any case, "
        "if it is more than 100 rows",
    )


class WhenStalled(StrEnum):
    """What a run does when cuts go no further for too long."""

    WARN = "warn"
    FAIL = "fail"


class LimitsSpec(SpecModel):
    """Bounds of one run."""

    max_records: int = Field(
        default=1_000_000,
        gt=0,
        strict=True,
        description="records that one run lands at most; with gate transaction all schema changes, "
        "too",
    )
    max_unreadable: int = Field(
        default=100,
        ge=0,
        strict=True,
        description="unreadable records above which a run stops instead of quarantining them",
    )
    max_quarantined: int = Field(
        default=1000,
        ge=0,
        strict=True,
        description="changes of one table that may wait in quarantine, and of one run at most the "
        "larger of 10 and 0.1 % of its changes; above it the table stops",
    )
    max_rewrite_rows: int = Field(
        default=50_000_000,
        ge=0,
        strict=True,
        description="rows of one table that a cut rewrites at most, where a column takes a type "
        "that Iceberg does not promote it to; above it the table stops",
    )
    task_timeout: int = Field(
        default=720,
        gt=0,
        strict=True,
        description="minutes after which Airflow ends a task of the pipeline's DAGs, with all "
        "processes that it started; it is tried again like any that failed",
    )
    stalled_after: int = Field(
        default=30,
        gt=0,
        strict=True,
        description="minutes for which cuts may go no further for one reason",
    )
    when_stalled: WhenStalled = Field(
        default=WhenStalled.WARN,
        description="what happens after that: warn says it in log and status, fail also fails the "
        "run once it has published what it could; nothing is ever given up",
    )

    @model_validator(mode="before")
    @classmethod
    def _former_keys(cls, declared: Any) -> Any:
        """``max-set-aside`` is what earlier versions called ``max-quarantined``."""
        old, new = "max-set-aside", "max-quarantined"
        if not isinstance(declared, dict) or old not in declared or new in declared:
            return declared
        log.warning("deprecated_key", key=f"limits.{old}", next=f"rename it to limits.{new}")
        return {new if key == old else key: value for key, value in declared.items()}


class SparkConfSpec(SpecModel):
    """Spark settings of one pipeline."""

    conf: Mapping[str, Setting] = Field(
        default={}, description="spark.* settings, over those of the installation"
    )

    def broken_rules(self) -> Iterator[BrokenRule]:
        """A pipeline file holds no secrets."""
        for name in self.conf:
            if not name.startswith("spark."):
                yield BrokenRule(("conf", name), repr(name), "a setting that begins with spark.")
            elif is_secret(name):
                yield BrokenRule(
                    ("conf", name), "a secret", "secrets in the installation file, by reference"
                )


def _name(text: str) -> str:
    if _NAME.fullmatch(text) is None:
        raise ValueError("1 to 40 of a-z, 0-9 and _, the first a letter")
    return text


def _namespace(text: str) -> str:
    if text.startswith(RESERVED_NAMESPACE):
        raise ValueError(f"another namespace: {RESERVED_NAMESPACE}* holds Tidemark's own tables")
    return text


def _pipeline_name(fields: dict[str, Any]) -> str:
    return str(fields["name"])


class PipelineSpec(SpecModel):
    """One source's change stream and the tables that follow it."""

    name: Annotated[
        PipelineName,
        AfterValidator(_name),
        Field(json_schema_extra={"pattern": f"^{_NAME.pattern}$"}),
    ] = Field(description="name of the pipeline: that of its file")
    description: Text = Field(description="what the pipeline is for; shown in Airflow")
    owner: Text = Field(description="who is asked when it stops")
    schedule: Cron | None = Field(
        description="cron schedule of the cuts, such as '*/10 * * * *'; null: only by hand"
    )
    start_date: date | None = Field(
        default=None, description="first day of the schedule, such as 2026-01-01"
    )
    freshness: Duration | None = Field(
        default=None,
        description="how old the tables may be, such as 30 min, 2 h or 1 d; tidemark status and "
        "the page name those that are older while records wait",
    )
    source: SourceSpec = Field(description="where the records come from")
    target_namespace: Annotated[IcebergName, AfterValidator(_namespace)] = Field(
        default_factory=_pipeline_name,
        validate_default=True,
        description="Iceberg namespace of the targets; default: the name of the pipeline",
    )
    other_tables: OtherTables = Field(
        default=OtherTables.IGNORE,
        description="tables of the stream that are not declared below: ignore counts and leaves "
        "them, follow gives each a target without expectations, called like the table (a dot in "
        "its name is written _x002E_), or "
        "database__table where the table of another database has that target",
    )
    on_drop: OnDrop = Field(
        default=OnDrop.KEEP,
        description="rows of a table that the source drops: keep leaves them in its target, empty "
        "ends them as a truncate would",
    )
    on_stop: OnStop = Field(
        default=OnStop.ASK,
        description="a table that stops, and would go on once all its rows were read again: ask "
        "waits until somebody has them read, resync sends the signal for an incremental snapshot "
        "of it to source.signal-topic, once",
    )
    tables: tuple[TableSpec, ...] = Field(
        default=(), description="the tables that are folded; each source and target once"
    )
    publish: PublishSpec = Field(default=PublishSpec(), description="how a cut becomes visible")
    snapshots: SnapshotsSpec = Field(
        default=SnapshotsSpec(), description="rows that a new snapshot does not contain"
    )
    limits: LimitsSpec = Field(default=LimitsSpec(), description="bounds of one run")
    changelog: ChangelogSpec = Field(
        default=ChangelogSpec(), description="what becomes of records that are folded"
    )
    maintenance: MaintenanceSpec = Field(
        default=MaintenanceSpec(),
        description="when files are rewritten and snapshots expire; what is left out is as in the "
        "installation",
    )
    spark: SparkConfSpec = Field(default=SparkConfSpec(), description="Spark settings")

    @property
    def freshness_ms(self) -> int:
        """How old the tables may be, in milliseconds; 0 where the file sets no limit."""
        return milliseconds(self.freshness) if self.freshness else 0

    @property
    def declared(self) -> frozenset[TableName]:
        """The source tables that the file names."""
        return frozenset(table.source for table in self.tables)

    @property
    def renames(self) -> tuple[Rename, ...]:
        """The former names of tables."""
        return tuple(
            Rename(table.was, table.source, target=table.target)
            for table in self.tables
            if table.was is not None
        )

    def broken_rules(self) -> Iterator[BrokenRule]:
        """Something is folded; each source table once, and each into a target of its own."""
        if not self.tables and self.other_tables is OtherTables.IGNORE:
            yield BrokenRule(
                ("tables",), "no tables", "at least one table, or other-tables: follow"
            )
        if self.on_stop is OnStop.RESYNC and self.source.signal_topic is None:
            yield BrokenRule(
                ("on-stop",), "'resync'", "source.signal-topic and source.topic-prefix beside it"
            )
        yield from self._unmaskable()
        yield from self._shared_names()
        targets: dict[str, TableSpec] = {}
        sources: set[str] = set()
        for index, table in enumerate(self.tables):
            source, target = str(table.source), table.target.casefold()
            if table.source == self.source.signal_table:
                yield BrokenRule(
                    ("tables", index, "source"), repr(source), "a table other than the signal-table"
                )
            elif self.source.shadowed(table.source) is not None:
                yield BrokenRule(
                    ("tables", index, "source"),
                    repr(source),
                    "a table whose name source.shadow-tables does not mean",
                )
            elif source in sources:
                yield BrokenRule(
                    ("tables", index, "source"), repr(source), "each source table once"
                )
            elif target in targets:
                yield BrokenRule(
                    ("tables", index, "target"),
                    repr(table.target),
                    f"a target of its own: {targets[target].source} is folded into it",
                )
            if self.source.is_compacted and table.mode is not TargetMode.MIRROR:
                yield BrokenRule(
                    ("tables", index, "mode"),
                    repr(table.mode.value),
                    "mirror: a compacted topic does not show when rows changed or ended",
                )
            sources.add(source)
            targets.setdefault(target, table)

    def _unmaskable(self) -> Iterator[BrokenRule]:
        """Values are masked in JSON of records whose keys are kept."""
        if not self.changelog.is_masked:
            return
        at = ("changelog", "payload")
        if self.source.avro is not None:
            yield BrokenRule(at, "'masked'", "raw: Avro records are kept as they came")
        if self.source.is_compacted:
            yield BrokenRule(at, "'masked'", "raw: of a compacted topic keys alone tell deletes")
        if self.source.untyped is not Untyped.REFUSE:
            yield from self._untyped_masks()
        hidden = {table.source: table.target_columns.rules.hiding for table in self.tables}
        for index, table in enumerate(self.tables):
            for at_key, name in enumerate(table.key):
                if not table.target_columns.rules.keeps_readable(name):
                    yield BrokenRule(
                        ("tables", index, "key", at_key), repr(name), "a column that the target has"
                    )
            own = hidden[table.source]
            if table.was is not None and hidden.get(table.was, own) != own:
                yield BrokenRule(
                    ("tables", index, "was"),
                    repr(str(table.was)),
                    "rules in target-columns that hide the same columns in both: of tables that "
                    "exchange names a record is masked before anybody knows which one it is of",
                )

    def _untyped_masks(self) -> Iterator[BrokenRule]:
        """Of a masked value nobody can tell of what type it was."""
        for index, table in enumerate(self.tables):
            rules = table.target_columns.rules
            for rule, names in (("hash", rules.hashed), ("redact", rules.redacted)):
                for at, name in enumerate(names):
                    if name not in table.columns:
                        yield BrokenRule(
                            ("tables", index, "target-columns", rule, at),
                            repr(str(name)),
                            "a column whose type columns: declares, as changelog.payload is masked "
                            "and source.untyped goes by values",
                        )

    def _shared_names(self) -> Iterator[BrokenRule]:
        """A former name tells one table; only one that has another former name may bear it now."""
        former = [table.was for table in self.tables]
        sources = {table.source for table in self.tables if table.was is None}
        for index, name in enumerate(former):
            if name is not None and (name in sources or name in former[:index]):
                yield BrokenRule(
                    ("tables", index, "was"),
                    repr(str(name)),
                    "a name that no other table has here, but for one with a was: of its own",
                )
