"""Where a pipeline's records come from, and how they have to be read."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field

from tidemark.model.cut import GateMode
from tidemark.model.modes import FieldNameMode, Untyped, ZeroDates
from tidemark.model.names import TableName
from tidemark.spec.base import BrokenRule, SourceTableName, SpecModel, Text
from tidemark.spec.modes import ModesSpec
from tidemark.spec.registry import AvroSpec
from tidemark.spec.shadows import OF_KNOWN_TOOLS, ShadowPattern, shadowed_by
from tidemark.spec.topics import TopicsSpec, selects


class SourceFormat(StrEnum):
    """What wrote the records."""

    DEBEZIUM_MYSQL = "debezium-mysql"
    DEBEZIUM_MARIADB = "debezium-mariadb"
    DEBEZIUM_POSTGRES = "debezium-postgres"
    TICDC_CANAL_JSON = "ticdc-canal-json"
    CANAL_JSON = "canal-json"

    @property
    def is_canal(self) -> bool:
        """Records are Canal-JSON, official or TiCDC's; else they are Debezium's."""
        return self in {SourceFormat.TICDC_CANAL_JSON, SourceFormat.CANAL_JSON}

    @property
    def has_table_states(self) -> bool:
        """Schema changes tell their tables' columns, as they are after the statement (MSG-22)."""
        return self in {SourceFormat.DEBEZIUM_MYSQL, SourceFormat.DEBEZIUM_MARIADB}


class Compacted(StrEnum):
    """What becomes of a data topic that is compacted (KEY-13)."""

    REFUSE = "refuse"
    ALLOW = "allow"


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError("a time zone such as UTC or Europe/Berlin, or null") from error
    return name


class SourceSpec(SpecModel):
    """The change stream of one Debezium connector, TiCDC changefeed or Canal instance."""

    format: SourceFormat = Field(description="what wrote the records")
    gate: GateMode = Field(
        description="how far a cut may go: to TiCDC's watermark, over Debezium's complete "
        "transactions, or (none) to the end of what was landed"
    )
    topics: TopicsSpec = Field(description="topics by role")
    compacted: Compacted = Field(
        default=Compacted.REFUSE,
        description="what becomes of a data topic whose cleanup.policy contains compact: refuse "
        "it, or allow it as a feed of the newest state of each key (Debezium in JSON, gate none, "
        "mirrors alone, one partition, topics named by Debezium after their table)",
    )
    signal_table: SourceTableName | None = Field(
        default=None,
        description="the Debezium connector's signal.data.collection, whose topic is among the "
        "topics.data; it shows when the windows of incremental snapshots open",
    )
    signal_topic: Text | None = Field(
        default=None,
        description="the Debezium connector's signal.kafka.topic, to which runs send the signal "
        "for an incremental snapshot of a table (on-stop: resync, tidemark resync); the only "
        "topic that is written to",
    )
    topic_prefix: Text | None = Field(
        default=None,
        description="the connector's topic.prefix, by which it knows that a signal is for it",
    )
    shadow_tables: tuple[ShadowPattern, ...] = Field(
        default=OF_KNOWN_TOOLS,
        description="names of the tables that gh-ost and pt-online-schema-change make beside a "
        "table, with * for its name: their rows are ignored, and the cut-over counts as an ALTER "
        "of it; an empty list: there are none",
    )
    avro: AvroSpec | None = Field(
        default=None,
        description="where the schemas of a Debezium source are whose keys and values are Avro; "
        "null: they are JSON",
    )
    modes: ModesSpec = Field(
        default=ModesSpec(), description="value modes of the Debezium connector"
    )
    untyped: Untyped = Field(
        default=Untyped.REFUSE,
        description="what becomes of columns of a Debezium source in JSON whose type neither a "
        "record's schema nor columns: declares: refuse the table; infer their types from all "
        "values of the first cut that has any; or take all of them as text (string)",
    )
    zero_dates: ZeroDates | None = Field(
        default=None,
        description="TiCDC and Canal: what becomes of a date whose month or day is zero, such as "
        "0000-00-00: null in the target, or with quarantine its change is quarantined as "
        "TEMPORAL_INVALID; a table without key, or in another mode than mirror, stops instead",
    )
    zone: Annotated[str, AfterValidator(_zone)] | None = Field(
        default=None,
        description="TiCDC and Canal: zone in which TIMESTAMP values are written; null makes "
        "them timestamps without zone",
    )

    @property
    def written_names(self) -> FieldNameMode:
        """What becomes of column names on their way into records (MSG-20)."""
        default = FieldNameMode.NONE if self.avro is None else FieldNameMode.AVRO
        return self.modes.field_names or default

    @property
    def has_table_states(self) -> bool:
        """The schema changes that are read contain all columns of every table."""
        return bool(self.topics.schema_changes) and self.format.has_table_states

    @property
    def is_without_positions(self) -> bool:
        """Canal, and TiCDC without its extension: offsets alone order changes (POS-11)."""
        return self.format.is_canal and self.gate is GateMode.NONE

    @property
    def is_compacted(self) -> bool:
        """Data topics may be compacted: tombstones delete, and offsets alone order (KEY-13)."""
        return self.compacted is Compacted.ALLOW

    def has_rows(self, topic: str) -> bool:
        """Whether ``topic`` is a data topic."""
        return any(selects(selector, topic) for selector in self.topics.data)

    def shadowed(self, table: TableName) -> TableName | None:
        """The table whose shadow ``table`` is by its name; None where it is none (SCHEMA-32).

        the PostgreSQL connector sends no statements, and so of no shadow what it is for.
        """
        return shadowed_by(self.shadow_names, table)

    @property
    def shadow_names(self) -> tuple[ShadowPattern, ...]:
        """The patterns of the names of shadows; none where no table is taken for one."""
        return () if self.format is SourceFormat.DEBEZIUM_POSTGRES else self.shadow_tables

    def broken_rules(self) -> Iterator[BrokenRule]:
        """What one format has and the other has not."""
        if self.format.is_canal:
            yield from self._debezium_only()
        else:
            yield from self._canal_only()
        yield from self._gate_mismatch()
        if self.is_compacted and not self.format.is_canal:
            yield from self._newest_state_only()
        if self.untyped is not Untyped.REFUSE:
            yield from self._has_types_elsewhere()
        if self.format is SourceFormat.DEBEZIUM_POSTGRES:
            yield from self._statements_only()
        if (self.signal_topic is None) != (self.topic_prefix is None):
            missing = "signal-topic" if self.signal_topic is None else "topic-prefix"
            yield BrokenRule((missing,), "nothing", "signal-topic and topic-prefix, or neither")

    def _newest_state_only(self) -> Iterator[BrokenRule]:
        """What needs the history that compaction removes (KEY-13)."""
        if self.gate is not GateMode.NONE:
            yield BrokenRule(
                ("gate",), repr(self.gate.value), "none beside compacted: counts prove nothing"
            )
        if self.topics.schema_changes:
            yield BrokenRule(
                ("topics", "schema-changes"),
                "a list of topics",
                "no schema-change topics beside compacted: rows are ordered by the offsets of "
                "their own topic, which say nothing of the order of statements in another one",
            )
        if self.avro is not None:
            yield BrokenRule(("avro",), "avro", "no avro beside compacted: JSON alone is read so")

    def _has_types_elsewhere(self) -> Iterator[BrokenRule]:
        """A guess must not come before what is sure, and only late (SCHEMA-1)."""
        tellers = {
            "Canal's and TiCDC's records have types": self.format.is_canal,
            "Avro schemas have types": self.avro is not None,
            "schema changes have types": self.has_table_states,
        }
        for why in (why for why, is_so in tellers.items() if is_so):
            yield BrokenRule(("untyped",), repr(self.untyped.value), f"refuse: {why}")

    def _statements_only(self) -> Iterator[BrokenRule]:
        if "shadow_tables" in self.model_fields_set:
            yield BrokenRule(
                ("shadow-tables",),
                "a list of names",
                "no shadow-tables: the PostgreSQL connector sends no statements",
            )

    def _gate_mismatch(self) -> Iterator[BrokenRule]:
        """A gate needs what proves that the stream is complete (GATE-1)."""
        if self.gate is GateMode.WATERMARK and self.format is not SourceFormat.TICDC_CANAL_JSON:
            yield BrokenRule(("gate",), "'watermark'", "another gate: TiCDC alone sends watermarks")
        if self.gate is GateMode.TRANSACTION and self.format.is_canal:
            yield BrokenRule(
                ("gate",), "'transaction'", "another gate: Debezium alone sends BEGIN and END"
            )
        elif self.gate is GateMode.TRANSACTION and not self.topics.transactions:
            yield BrokenRule(
                ("gate",),
                "'transaction'",
                "topics.transactions beside it; the connector writes that topic with "
                "provide.transaction.metadata=true",
            )

    def _canal_only(self) -> Iterator[BrokenRule]:
        if self.zone is not None:
            yield BrokenRule(
                ("zone",), repr(self.zone), "no zone: Debezium writes TIMESTAMP values in UTC"
            )
        if self.zero_dates is not None:
            yield BrokenRule(
                ("zero-dates",),
                repr(self.zero_dates.value),
                "no zero-dates: Debezium writes null or 1970-01-01 for them, as for other values",
            )

    def _debezium_only(self) -> Iterator[BrokenRule]:
        if self.topics.schema_changes:
            yield BrokenRule(
                ("topics", "schema-changes"),
                "a list of topics",
                "no schema-change topics: Canal-JSON has DDL in its data topics",
            )
        if self.topics.transactions:
            yield BrokenRule(
                ("topics", "transactions"),
                "a list of topics",
                "no transaction topics: only Debezium has them",
            )
        if self.signal_table is not None:
            yield BrokenRule(
                ("signal-table",),
                repr(str(self.signal_table)),
                "no signal-table: only Debezium has one",
            )
        if self.signal_topic is not None:
            yield BrokenRule(
                ("signal-topic",), repr(self.signal_topic), "no signal-topic: only Debezium has one"
            )
        if self.avro is not None:
            yield BrokenRule(("avro",), "avro", "no avro: Canal and TiCDC write JSON")
        if self.is_compacted:
            yield BrokenRule(
                ("compacted",), "'allow'", "refuse: only Debezium's topics have a record per row"
            )
        if "modes" in self.model_fields_set:
            yield BrokenRule(
                ("modes",), "modes", "no modes: they are settings of a Debezium connector"
            )
