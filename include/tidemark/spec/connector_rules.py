"""Settings of a Debezium connector beside what a pipeline file says: which cost what.

`RULES` is the one list of them: docs/sources.md is made from it, and `tidemark doctor` goes by it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tidemark.model.cut import GateMode
from tidemark.model.finding import Finding, Grade
from tidemark.spec.connector import ALL, BINLOG, POSTGRES, RENAMING, Connector
from tidemark.spec.connector_conditions import (
    DROPPING,
    FLATTENING,
    Applies,
    compacted,
    differs,
    hears_another_topic,
    in_json,
    is_another_prefix,
    is_converter_of_another_form,
    is_deaf,
    is_none_of,
    is_of_the_worker,
    is_one_of,
    is_other_signal_table,
    is_set,
    is_undeclared_signal_table,
    lacks_types,
    modes,
    names_differ,
    of_apicurio,
    time_differs,
    transforms_by,
    transforms_by_unknown,
    with_gate,
    writes_long_ids,
)
from tidemark.spec.source import SourceFormat, SourceSpec
from tidemark.spec.topics import selects

_SKIPPING = ("skip", "warn", "ignore")
_PLACEHOLDER = "__debezium_unavailable_value"
_ROUNDED = "decimals are rounded to what a double holds"


@dataclass(frozen=True, slots=True)
class Rule:
    """A setting that costs something as it is.

    name: of the setting; ``*`` stands for anything. default: Debezium's own. when: of which values
    it is said, in words; applies: the same of one connector. {value} in cost and fix is the value.
    unset: the grade where a version decides what holds without the setting.
    """

    name: str
    default: str
    grade: Grade
    when: str
    cost: str
    fix: str
    applies: Applies
    formats: Collection[SourceFormat] = ALL
    unset: Grade | None = None

    def judge(self, connector: Connector, source: SourceSpec) -> Iterator[Finding]:
        """What it finds of ``connector``."""
        if connector.format not in self.formats:
            return
        named = [name for name in connector.config if fnmatchcase(name, self.name)]
        for name in named or ([] if "*" in self.name else [self.name]):
            value = connector.config.get(name, self.default)
            if self.applies(value, connector, source):
                # The salt of a hash stands in the name of its setting.
                shown = f"{self.name}={value}" if value else f"no {self.name}"
                is_default = "" if name in connector.config or not value else ", its default"
                yield Finding(
                    self.grade if value else self.unset or self.grade,
                    f"connector {connector.name}",
                    shown + is_default,
                    self.cost.format(value=value),
                    self.fix.format(value=value),
                )


def judge_connector(connector: Connector, source: SourceSpec) -> Iterator[Finding]:
    """What the settings of ``connector`` cost a pipeline that reads ``source``."""
    if connector.format is None:
        named = connector.config.get("connector.class", "")
        yield Finding(
            Grade.WARNING,
            f"connector {connector.name}",
            f"connector.class={named}" if named else "no connector.class",
            "it is no connector that is known here: nothing is said of its settings",
            "compare what it writes with docs/sources.md, or name another one: --connector",
        )
        return
    if connector.format is not source.format:
        yield Finding(
            Grade.ERROR,
            f"connector {connector.name}",
            f"connector.class={connector.config.get('connector.class', '')}",
            f"source.format is {source.format}: its records are read as another database's",
            "set source.format to what the connector is, in a new pipeline",
        )
        return
    for rule in RULES:
        yield from rule.judge(connector, source)
    yield from _judge_side_topics(connector, source)


def _judge_side_topics(connector: Connector, source: SourceSpec) -> Iterator[Finding]:
    """Topics whose names the prefix fixes, unless a transformation renames them."""
    if any(kind in RENAMING for kind in connector.transforms.values()):
        return
    ends = connector.config.get("topic.transaction", "transaction")
    transactions = f"{connector.prefix}{connector.delimiter}{ends}"
    wanted = {"transactions": (source.topics.transactions, transactions)}
    if connector.format in BINLOG:
        wanted["schema-changes"] = (source.topics.schema_changes, connector.prefix)
    for role, (names, topic) in wanted.items():
        if names and not any(selects(name, topic) for name in names):
            yield Finding(
                Grade.ERROR,
                f"connector {connector.name}",
                f"topic.prefix={connector.prefix}, so its topic is {topic}",
                f"source.topics.{role} names {', '.join(names)}, which it does not write",
                f"name {topic} in source.topics.{role}",
            )


def _mode_rule(
    name: str, default: str, mode: str, formats: Collection[SourceFormat], applies: Applies
) -> Rule:
    return Rule(
        name,
        default,
        Grade.ERROR,
        f"another one than `source.modes.{mode}`",
        "values are written in one form and read as another: they are quarantined, or wrong",
        f"set source.modes.{mode} to {{value}}, in a new pipeline",
        applies,
        formats,
    )


def _mode(name: str, default: str, mode: str, formats: Collection[SourceFormat]) -> Rule:
    return _mode_rule(name, default, mode, formats, differs(lambda source: modes(source)[mode]))


def _converter_rule(name: str) -> Rule:
    return Rule(
        name,
        "",
        Grade.ERROR,
        "not JSON, or with `source.avro` not Avro",
        "records are in a form that the file does not declare: they are unreadable",
        "use org.apache.kafka.connect.json.JsonConverter, or declare source.avro in a new pipeline",
        is_converter_of_another_form,
    )


def _apicurio_rules(converter: str) -> tuple[Rule, ...]:
    """Apicurio's converter writes ids in four ways, which differ by its version as well."""
    framing = "records name their schema in a way that is not read here: they are unreadable"
    settings = f"{converter}.apicurio.registry"
    return (
        Rule(
            f"{settings}.headers.enabled",
            "false",
            Grade.ERROR,
            "`true`, with Apicurio's converter",
            framing,
            f"set {settings}.headers.enabled=false, and let the connector write new topics",
            of_apicurio(converter, is_one_of("true")),
        ),
        Rule(
            f"{settings}.id-handler",
            "",
            Grade.ERROR,
            "not `Legacy4ByteIdHandler` or, since 3.0, `Default4ByteIdHandler`, with Apicurio's "
            "converter",
            f"by default, 2.x writes eight bytes: {framing}",
            f"set {settings}.id-handler to the one of io.apicurio.registry.serde with four bytes",
            of_apicurio(converter, writes_long_ids(f"{settings}.as-confluent")),
            unset=Grade.WARNING,
        ),
        Rule(
            f"{settings}.use-id",
            "",
            Grade.ERROR,
            "not `contentId`, with Apicurio's converter",
            "by default, 2.x writes global ids, and Confluent's interface knows schemas by the ids "
            "of their content: a record is decoded with the schema of another one, or with none",
            f"set {settings}.use-id=contentId, and let the connector write new topics",
            of_apicurio(converter, is_none_of("contentid")),
            unset=Grade.WARNING,
        ),
    )


RULES: tuple[Rule, ...] = (
    Rule(
        "skipped.operations",
        "t",
        Grade.ERROR,
        "anything but `none`",
        "the operations {value} never arrive (t is TRUNCATE): targets keep rows that are gone, and "
        "nothing shows it",
        "set skipped.operations=none, then re-snapshot tables that were truncated",
        is_none_of("none"),
    ),
    Rule(
        "event.processing.failure.handling.mode",
        "fail",
        Grade.ERROR,
        "`skip`, `warn` or `ignore`",
        "changes that the connector cannot read never arrive, and nothing but its log shows it",
        "set event.processing.failure.handling.mode=fail, then re-snapshot",
        is_one_of(*_SKIPPING),
    ),
    Rule(
        "inconsistent.schema.handling.mode",
        "fail",
        Grade.ERROR,
        "`skip`, `warn` or `ignore`",
        "changes of tables whose columns the connector does not know never arrive, and nothing but "
        "its log shows it",
        "set inconsistent.schema.handling.mode=fail, then re-snapshot",
        is_one_of(*_SKIPPING),
        BINLOG,
    ),
    Rule(
        "schema.history.internal.skip.unparseable.ddl",
        "false",
        Grade.ERROR,
        "`true`",
        "statements that the connector cannot parse change no columns: the rows after them are "
        "read by the columns before",
        "set schema.history.internal.skip.unparseable.ddl=false, then re-snapshot",
        is_one_of("true"),
        BINLOG,
    ),
    Rule(
        "errors.tolerance",
        "none",
        Grade.ERROR,
        "`all`",
        "records that a transformation, a converter or the broker refuses never arrive, and "
        "nothing shows it",
        "set errors.tolerance=none, then re-snapshot",
        is_one_of("all"),
    ),
    Rule(
        "event.converting.failure.handling.mode",
        "warn",
        Grade.NOTE,
        "`warn` or `skip`",
        "a value that the connector cannot convert arrives as null, and nothing but its log shows "
        "it",
        "set event.converting.failure.handling.mode=fail",
        is_one_of(*_SKIPPING),
    ),
    Rule(
        "converters",
        "",
        Grade.WARNING,
        "set",
        "they write values in forms of their own, which may be read as another type, or wrong",
        "take them out, then re-snapshot; have the target's columns changed in their stead: "
        "target-columns",
        is_set,
    ),
    Rule(
        "provide.transaction.metadata",
        "false",
        Grade.ERROR,
        "`false` beside gate `transaction`",
        "no END ever comes, so cuts go no further",
        "set provide.transaction.metadata=true",
        with_gate(GateMode.TRANSACTION, is_none_of("true")),
    ),
    Rule(
        "provide.transaction.metadata",
        "false",
        Grade.NOTE,
        "`false` beside gate `none`",
        "only gate none is possible: tables are consistent each by itself, and half transactions "
        "can be seen",
        "set provide.transaction.metadata=true before you start a pipeline with gate transaction",
        with_gate(GateMode.NONE, is_none_of("true")),
    ),
    Rule(
        "include.schema.changes",
        "true",
        Grade.ERROR,
        "`false`",
        "columns that are dropped or renamed, defaults of new columns, and, without record "
        "schemas, all types are unknown",
        "set include.schema.changes=true, and name its topic in source.topics.schema-changes",
        is_none_of("true"),
        BINLOG,
    ),
    Rule(
        "decimal.handling.mode",
        "precise",
        Grade.ERROR,
        "`double`",
        _ROUNDED,
        "set decimal.handling.mode=precise, then re-snapshot",
        is_one_of("double"),
    ),
    _mode("decimal.handling.mode", "precise", "decimal", ALL),
    _mode_rule("time.precision.mode", "adaptive_time_microseconds", "time", BINLOG, time_differs),
    _mode_rule("time.precision.mode", "adaptive", "time", POSTGRES, time_differs),
    _mode("bigint.unsigned.handling.mode", "long", "bigint-unsigned", BINLOG),
    _mode("binary.handling.mode", "bytes", "binary", ALL),
    _mode("interval.handling.mode", "numeric", "interval", POSTGRES),
    _mode("hstore.handling.mode", "json", "hstore", POSTGRES),
    _mode_rule("field.name.adjustment.mode", "none", "field-names", ALL, names_differ),
    _converter_rule("key.converter"),
    _converter_rule("value.converter"),
    *_apicurio_rules("key.converter"),
    *_apicurio_rules("value.converter"),
    Rule(
        "value.converter",
        "",
        Grade.WARNING,
        "not set, without `source.avro`: the worker's own, whose settings are not told here",
        "unless the worker sets replace.null.with.default=false, a null in a nullable column with "
        "a default arrives as the default, and nothing shows it",
        "set value.converter=org.apache.kafka.connect.json.JsonConverter and "
        "value.converter.replace.null.with.default=false",
        is_of_the_worker,
    ),
    Rule(
        "value.converter.schemas.enable",
        "true",
        Grade.WARNING,
        "`false`, no schema-change topic tells columns, and `source.untyped` is `refuse`",
        "types are unknown",
        "set value.converter.schemas.enable=true, or declare every column under columns",
        lacks_types,
    ),
    Rule(
        "value.converter.replace.null.with.default",
        "true",
        Grade.ERROR,
        "`true`, with the JSON converter",
        "a null in a nullable column with a default arrives as the default: the target is wrong, "
        "and nothing shows it",
        "set value.converter.replace.null.with.default=false, then re-snapshot such tables",
        in_json(is_one_of("true")),
    ),
    Rule(
        "signal.data.collection",
        "",
        Grade.ERROR,
        "another one than `source.signal-table`",
        "windows of incremental snapshots are not seen to open, and no row of the file's table is "
        "a signal",
        "make the two equal",
        is_other_signal_table,
    ),
    Rule(
        "signal.data.collection",
        "",
        Grade.WARNING,
        "set, and no `source.signal-table`",
        "windows of incremental snapshots are not seen to open",
        "set source.signal-table to {value}, and name its topic in source.topics.data",
        is_undeclared_signal_table,
    ),
    Rule(
        "signal.enabled.channels",
        "source",
        Grade.ERROR,
        "without `kafka` beside `source.signal-topic`",
        "the connector does not hear the signals that are sent: no table is read again",
        "set signal.enabled.channels=source,kafka",
        is_deaf,
    ),
    Rule(
        "signal.kafka.topic",
        "",
        Grade.ERROR,
        "another one than `source.signal-topic`; where it is not set, `<topic.prefix>-signal`",
        "the connector does not hear the signals that are sent: no table is read again",
        "make the two equal",
        hears_another_topic,
    ),
    Rule(
        "topic.prefix",
        "",
        Grade.ERROR,
        "another one than `source.topic-prefix`",
        "the connector takes no signal for its own: no table is read again",
        "set source.topic-prefix to {value}",
        is_another_prefix,
    ),
    Rule(
        "snapshot.mode",
        "initial",
        Grade.ERROR,
        "`initial_only`",
        "the connector ends once it has read the tables: no change arrives",
        "set snapshot.mode=initial",
        is_one_of("initial_only"),
    ),
    Rule(
        "snapshot.mode",
        "initial",
        Grade.WARNING,
        "`no_data`, `never`, `recovery` and their former names",
        "rows that are older than the connector arrive only once they are changed",
        "have the tables read: tidemark resync",
        is_one_of("no_data", "never", "recovery", "schema_only", "schema_only_recovery"),
    ),
    Rule(
        "snapshot.select.statement.overrides",
        "",
        Grade.WARNING,
        "set",
        "a later snapshot lacks the rows that it leaves out, and they look deleted",
        "set snapshots.reconcile: ask, and do not confirm such a snapshot",
        is_set,
    ),
    Rule(
        "heartbeat.interval.ms",
        "0",
        Grade.WARNING,
        "`0`",
        "while the captured tables are quiet the slot keeps the whole log of the server, until its "
        "disk is full",
        "set heartbeat.interval.ms=10000, and heartbeat.action.query where others write much",
        is_one_of("0"),
        POSTGRES,
    ),
    Rule(
        "heartbeat.interval.ms",
        "0",
        Grade.NOTE,
        "`0`",
        "while the captured tables are quiet the connector's place in the binlog stays, and may be "
        "purged: it then has to read all tables again",
        "set heartbeat.interval.ms=10000",
        is_one_of("0"),
        BINLOG,
    ),
    Rule(
        "tombstones.on.delete",
        "true",
        Grade.ERROR,
        "`false` beside `source.compacted: allow`",
        "a delete that compaction cleaned leaves no trace: the row stays",
        "set tombstones.on.delete=true",
        compacted(is_none_of("true")),
    ),
    Rule(
        "unavailable.value.placeholder",
        _PLACEHOLDER,
        Grade.ERROR,
        "not Debezium's own",
        "values that an update did not carry are stored as the text of the placeholder",
        f"set unavailable.value.placeholder={_PLACEHOLDER}, then re-snapshot",
        is_none_of(_PLACEHOLDER),
        POSTGRES,
    ),
    Rule(
        "publish.via.partition.root",
        "false",
        Grade.NOTE,
        "`false`",
        "rows of a partitioned table come under the names of its partitions, each a table",
        "set publish.via.partition.root=true in the publication if they are to be one table",
        is_none_of("true"),
        POSTGRES,
    ),
    Rule(
        "message.key.columns",
        "",
        Grade.NOTE,
        "set",
        "these columns tell rows apart: they have to be unique and not null, and a table stops "
        "when they change",
        "with PostgreSQL set REPLICA IDENTITY FULL, or to a unique index on them",
        is_set,
    ),
    Rule(
        "column.include.list",
        "",
        Grade.NOTE,
        "set",
        "schema changes may describe the other columns: the target then has them too, with null",
        "leave them out of the target as well: target-columns with exclude",
        is_set,
    ),
    Rule(
        "column.exclude.list",
        "",
        Grade.NOTE,
        "set",
        "schema changes may describe these columns: the target then has them too, with null",
        "leave them out of the target as well: target-columns with exclude",
        is_set,
    ),
    Rule(
        "column.truncate.to.*",
        "",
        Grade.WARNING,
        "set",
        "longer texts are cut off, and placeholders of large values look like values where records "
        "have no schemas",
        "set REPLICA IDENTITY FULL on tables with such columns",
        is_set,
        POSTGRES,
    ),
    Rule(
        "column.mask.*",
        "",
        Grade.WARNING,
        "set",
        "placeholders of large values are masked as well, and are stored as values",
        "set REPLICA IDENTITY FULL on tables with such columns; or hash in target-columns",
        is_set,
        POSTGRES,
    ),
    Rule(
        "transforms",
        "",
        Grade.ERROR,
        "with `ExtractNewRecordState` or `EventRouter`",
        "records are flattened, and cannot be read",
        "take the transformation out",
        transforms_by(*FLATTENING),
    ),
    Rule(
        "transforms",
        "",
        Grade.WARNING,
        "with `Filter`",
        "what it drops is in no target; with gate transaction counts never add up, and cuts go no "
        "further",
        "leave tables out by table.include.list, columns by target-columns",
        transforms_by(*DROPPING),
    ),
    Rule(
        "transforms",
        "",
        Grade.WARNING,
        "with another one that is not known to keep records as they are",
        "records are changed on their way, which nothing here knows of",
        "have the target's columns changed in its stead: target-columns",
        transforms_by_unknown,
    ),
)
"""A setting may have several, for several values."""
