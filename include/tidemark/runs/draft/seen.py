"""What records of several topics show together: a source, its topics by role, its tables. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from tidemark.errors import UNCHANGED, ActionRefusedError
from tidemark.model.cut import GateMode
from tidemark.model.names import TableName, TopicName, few
from tidemark.runs.draft.recognize import Encoding, Role, SchemaText, Shown, recognize
from tidemark.spec import SourceFormat
from tidemark.topics.client import TopicFacts
from tidemark.topics.sample import Sample


@dataclass(slots=True)
class SeenTopic:
    """What the records of one topic show. unread: records in no form that is known."""

    roles: set[Role] = field(default_factory=set)
    tables: set[TableName] = field(default_factory=set)
    watermarked: set[int] = field(default_factory=set)
    records: int = 0
    unread: int = 0


@dataclass(slots=True)
class SeenSource:
    """What is known of a source.

    tables: with the columns of their keys, none where records have no key. signals: tables of
    signals. prefixes: the connectors' topic.prefix. newest_ms: when a connector read the newest
    change that is no snapshot's; in_transaction: whether that names its transaction.
    """

    topics: dict[TopicName, SeenTopic] = field(default_factory=dict)
    formats: set[SourceFormat] = field(default_factory=set)
    encodings: set[Encoding] = field(default_factory=set)
    prefixes: set[str] = field(default_factory=set)
    tables: dict[TableName, tuple[str, ...]] = field(default_factory=dict)
    signals: set[TableName] = field(default_factory=set)
    has_tidb: bool = False
    has_zoned: bool = False
    newest_ms: int | None = None
    in_transaction: bool = False

    @property
    def format(self) -> SourceFormat:
        """Of all records; `ActionRefusedError` where it is not one."""
        if len(self.formats) == 1:
            return next(iter(self.formats))
        seen = ", ".join(sorted(self.formats)) or "none that is read"
        raise ActionRefusedError(
            f"the records of these topics are of {len(self.formats)} formats: {seen}",
            state=UNCHANGED,
            next_step="name the topics of one source that has sent rows, with --topics or "
            "--topic-prefix; rows that ExtractNewRecordState has flattened cannot be read, and "
            "Avro needs --registry",
        )

    def with_role(self, role: Role) -> list[TopicName]:
        """The topics whose records have it, by their names."""
        return sorted(name for name, topic in self.topics.items() if role in topic.roles)

    def gate(self, facts: Mapping[TopicName, TopicFacts]) -> GateMode:
        """The gate that gives most of what the records allow; facts: of the topics."""
        if self.format is SourceFormat.TICDC_CANAL_JSON and self.has_tidb:
            return GateMode.WATERMARK
        ends = self.with_role(Role.TRANSACTIONS)
        if len(ends) == 1 and facts[ends[0]].partitions == 1 and self.in_transaction:
            return GateMode.TRANSACTION
        return GateMode.NONE


def see(
    topics: Collection[TopicName], records: Iterable[Sample], schemas: SchemaText | None
) -> SeenSource:
    """What ``records`` of ``topics`` show; schemas: as `recognize` takes it."""
    seen = SeenSource({topic: SeenTopic() for topic in topics})
    for record in records:
        topic = seen.topics[record.at.topic]
        topic.records += 1
        shown = recognize(record.key, record.value, schemas)
        if shown is None:
            topic.unread += 1
        else:
            _add(seen, topic, shown, record.at.partition)
    for table in seen.signals:  # A signal that was deleted again looks like any row.
        seen.tables.pop(table, None)
    return seen


def _add(seen: SeenSource, topic: SeenTopic, shown: Shown, partition: int) -> None:
    topic.roles.add(shown.role)
    if shown.format is not None:
        seen.formats.add(shown.format)
    if shown.role in (Role.ROWS, Role.STATEMENTS):
        seen.encodings.add(shown.encoding)
    if shown.prefix:
        seen.prefixes.add(shown.prefix)
    _compare(seen, shown)
    if shown.is_watermark:
        topic.watermarked.add(partition)
    if shown.table is not None:
        topic.tables.add(shown.table)
        if shown.is_signal:
            seen.signals.add(shown.table)
        else:
            seen.tables[shown.table] = shown.key or seen.tables.get(shown.table, ())
    seen.has_tidb = seen.has_tidb or shown.has_tidb
    seen.has_zoned = seen.has_zoned or shown.has_zoned


def _compare(seen: SeenSource, shown: Shown) -> None:
    """Keep what the newest change shows; of those of one moment, each has to name a transaction."""
    if shown.streamed_ms is None:
        return
    if seen.newest_ms is None or shown.streamed_ms > seen.newest_ms:
        seen.newest_ms, seen.in_transaction = shown.streamed_ms, shown.in_transaction
    elif shown.streamed_ms == seen.newest_ms:
        seen.in_transaction = seen.in_transaction and shown.in_transaction


def refuse_unusable(seen: SeenSource, facts: Mapping[TopicName, TopicFacts]) -> None:
    """Raise `ActionRefusedError` where no pipeline could read what was seen."""
    written_as = seen.format
    if len(seen.prefixes) > 1:
        raise ActionRefusedError(
            f"the records of these topics are of {len(seen.prefixes)} connectors, by their "
            f"topic.prefix: {few(sorted(seen.prefixes))}",
            state=UNCHANGED,
            next_step="name the topics of one of them with --topics",
        )
    if not seen.tables:
        raise ActionRefusedError(
            f"no row of a table is among the records of {few(sorted(seen.topics))}",
            state=UNCHANGED,
            next_step="let the connector send some rows, then try again",
        )
    rows = [facts[name] for name in seen.with_role(Role.ROWS)]
    wide = [topic for topic in rows if topic.partitions > 1]
    if wide and written_as.is_canal and not seen.has_tidb:
        raise ActionRefusedError(
            f"topic {wide[0].name} has {wide[0].partitions} partitions, and its records have no "
            "positions: nothing tells their order (POS-11)",
            state=UNCHANGED,
            next_step="TiCDC: set enable-tidb-extension=true on the changefeed; Canal: write to a "
            "topic of one partition",
        )
